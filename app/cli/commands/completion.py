"""`tilewright completion`: prints a completion script for bash, zsh and fish: commands, options, kinds, machines and files.

shtab generates the script, which contains all words: a completion does not start Tilewright.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

import shtab

from ....engine.hwsim import preset_names
from ..exit_codes import EXIT_OK
from ..output import print_json, print_text
from ..table import command_line
from ..usage import Parser, takes_json
from .new import templates

SHELLS = ("bash", "zsh", "fish")
FILES = {"FILE", "A", "B", "PATH", "OUT", "DB"}
"""The metavars of arguments that are paths."""


EXAMPLES = (
    "bash > ~/.local/share/bash-completion/completions/tilewright",
    "zsh > ~/.zfunc/_tilewright",
    "fish > ~/.config/fish/completions/tilewright.fish",
)


def add_arguments(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")
    takes_json(parser, "the script")


def run(arguments: argparse.Namespace) -> int:
    script = completion_script(command_line(), arguments.shell)
    if arguments.json:
        print_json({"shell": arguments.shell, "script": script})
    else:
        print_text(script)
    return EXIT_OK


def completion_script(parser: Parser, shell: str) -> str:
    """The script for all commands of a parser."""
    machines, names = _words_or_files("machine", preset_names(), "toml"), _words("template", templates())
    for action in _actions(parser):
        if action.metavar in FILES:
            found = shtab.FILE
        else:
            found = {"machine": machines, "template": names}.get(action.dest)
        if found is not None:
            action.complete = found  # pyright: ignore[reportAttributeAccessIssue] (shtab's attribute)
    return shtab.complete(parser, shell) + "\n"


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage] (argparse has no public list; shtab reads the same)
        yield action
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
            for command in action.choices.values():
                yield from _actions(command)


def _words(name: str, words: Iterable[str]) -> dict[str, Any]:
    """A completion with these words."""
    text, function = " ".join(words), f"_tilewright_{name}"
    return {
        "bash": function,
        "zsh": f"({text})",
        "fish": f"(string split ' ' '{text}')",
        "preamble": {"bash": f'{function}() {{\n  compgen -W "{text}" -- "$1"\n}}'},
    }


def _words_or_files(name: str, words: Iterable[str], suffix: str) -> dict[str, Any]:
    """A completion with these words, files with the suffix, and folders."""
    text, function = " ".join(words), f"_tilewright_{name}_files"  # shtab: completions of a function `_file` are paths
    bash = f'compgen -W "{text}" -- "$1"\n  compgen -f -X "!*.{suffix}" -- "$1"\n  compgen -d -- "$1"'
    zsh = f'local -a words=({text})\n  compadd -a words\n  _files -g "*.{suffix}"'
    return {
        "bash": function,
        "zsh": function,
        "fish": f"(string split ' ' '{text}'; __fish_complete_suffix .{suffix})",
        "preamble": {"bash": f"{function}() {{\n  {bash}\n}}", "zsh": f"{function}() {{\n  {zsh}\n}}"},
    }
