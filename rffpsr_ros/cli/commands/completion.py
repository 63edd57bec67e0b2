"""Print a completion script for a shell.

bash:  eval "$(rffpsr completion bash)"     in ~/.bashrc
zsh:   eval "$(rffpsr completion zsh)"      in ~/.zshrc
"""

from __future__ import annotations

import argparse

from rffpsr_ros.cli.console import say
from rffpsr_ros.cli.parser import Parser

SHELLS = ("bash", "zsh")

_SCRIPT = """\
_rffpsr() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} choices=
    if ((COMP_CWORD == 1)); then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}} $before" in
{values}
    esac
    if [[ -n $choices ]]; then
        COMPREPLY=($(compgen -W "$choices" -- "$word"))
        return
    fi
    if [[ $word == -* ]]; then
        case ${{COMP_WORDS[1]}} in
{options}
        esac
        COMPREPLY=($(compgen -W "$choices" -- "$word"))
        return
    fi
    COMPREPLY=($(compgen -f -- "$word"))
}}
complete -o filenames -F _rffpsr rffpsr"""


def add_arguments(parser: Parser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("shell", choices=SHELLS, help="the shell that will read the script")


def run(arguments: argparse.Namespace) -> None:
    """Print the script."""
    if arguments.shell == "zsh":
        say("autoload -U +X compinit bashcompinit && compinit -u && bashcompinit")
    say(*completion_script().splitlines())


def completion_script() -> str:
    """Return a bash script that knows every command, option and choice."""
    from rffpsr_ros.cli.main import COMMANDS, command_parser

    values, options = [], []
    for name in COMMANDS:
        parser = command_parser(name)
        options.append(f'            {name}) choices="{" ".join(parser.long_options())}" ;;')
        for action in parser._actions:  # argparse offers no other way to list them
            if action.choices:
                choices = " ".join(map(str, action.choices))
                before = action.option_strings or [name]
                patterns = "|".join(f'"{name} {word}"' for word in before)
                values.append(f'        {patterns}) choices="{choices}" ;;')
    return _SCRIPT.format(
        commands=" ".join(COMMANDS), values="\n".join(values), options="\n".join(options)
    )
