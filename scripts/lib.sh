# What scripts/setup and scripts/test share; sourced from the root of the checkout.

# The bootstrap of the ROS wheels leaks into children: another environment's Python must not see it.
if [[ -n ${_ROS_WHEELS_BOOTSTRAP_COMPLETE:-} ]]; then
    unset _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
fi
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
python=${PYTHON:-python3}

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
    for folder in resource executables launch config worlds; do
        if [[ -d $folder ]]; then folders+=("$folder"); fi
    done
    find setup.py package.xml "${folders[@]}" -type f -exec sha256sum {} + | sort
}

# ensure_venv VENV DESCRIPTION "VENV OPTIONS" PIP_ARGUMENT...
# Makes VENV what DESCRIPTION and the files of `contents` ask for; does nothing where it is.
ensure_venv() {
    local venv=$1 base wanted
    base=$(base "$2 ${*:3}")
    wanted=$base$'\n'$(contents)
    if [[ -x $venv/bin/python && -f $venv/made-from && $(<"$venv/made-from") == "$wanted" ]]; then
        return
    fi
    echo "Setting up $venv with $2 (a minute or two the first time)"
    if [[ ! -f $venv/made-from || $(head -n 1 "$venv/made-from") != "$base" ]]; then
        # shellcheck disable=SC2086 # several options in one word
        "$python" -m venv --clear $3 "$venv" || fail "Creating $venv failed: see above."
    fi
    rm -f "$venv/made-from"
    if ! "$venv/bin/python" -m pip install "${@:4}" >"$venv/pip.log" 2>&1 </dev/null; then
        cat "$venv/pip.log" >&2
        fail "Installing into $venv failed: see above."
    fi
    echo "$wanted" >"$venv/made-from"
}
