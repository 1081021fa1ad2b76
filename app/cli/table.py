"""The table of commands. A command's module is imported when a command line names it: `--help` and `--version` import none."""

from __future__ import annotations

import argparse
from collections.abc import Container
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module, metadata
from typing import NamedTuple, Protocol, cast

from ..signals import importing
from .exit_codes import AT_UNKNOWN
from .logs import takes_verbosity
from .usage import NOTES, Parser


class CommandModule(Protocol):
    """What a module in `commands` has: examples of arguments, the declaration of the arguments, and the command itself."""

    EXAMPLES: tuple[str, ...]

    def add_arguments(self, parser: Parser) -> None: ...

    def run(self, arguments: argparse.Namespace) -> int:
        """Run the command and return its exit code."""
        ...


class Command(NamedTuple):
    """A command: its name, its line in `tilewright --help`, and its module in `commands` if that has another name."""

    name: str
    help: str
    module_name: str = ""
    aliases: tuple[str, ...] = ()

    def module(self) -> CommandModule:
        with importing():
            found = import_module(f".commands.{self.module_name or self.name}", __package__)
        return cast(CommandModule, found)


COMMANDS = (
    Command("serve", "serve notebooks to the browser"),
    Command("run", "apply, verify and simulate a notebook's schedule, and print the report"),
    Command(
        "measure",
        "build schedules with TVM, run them on this computer, and print their times beside the predicted ones",
        module_name="timing.measure",
    ),
    Command(
        "calibrate",
        "measure this computer's processor, and write a machine file of it",
        module_name="timing.calibrate",
    ),
    Command(
        "validate",
        "predict tables of times that others measured, and print both beside each other",
        module_name="timing.validate",
    ),
    Command("check", "verify schedules and compare them with budgets, for continuous integration"),
    Command("lint", "report errors and inefficiencies of a notebook's schedule, with fixes"),
    Command("next", "list calls that improve a notebook's schedule, with their predicted cycles"),
    Command(
        "diff", "compare the programs and metrics of two notebooks, steps (FILE@3, FILE@start) or branches (FILE@NAME)"
    ),
    Command("explore", "search the parameters of a schedule (`tile = choose(…)`) for the best candidates on a machine"),
    Command("database", "list the schedules that searches found, print one, and merge or remove them"),
    Command("export", "write a schedule as code for another system, a picture, a replay or a link"),
    Command(
        "import",
        "convert TVMScript, TE, TileLang, a forum post, a Python file or a TVM trace to a notebook",
        module_name="import_",
        aliases=("convert",),
    ),
    Command("new", "create a notebook from a template, an example, or existing code"),
    Command("network", "list the kernels of a model with their calls and cycles"),
    Command("lower", "print a notebook's scheduled program as flat loops, or after a lowering pass"),
    Command("machines", "list the machine presets"),
    Command("completion", "print the completion script for a shell"),
)


def _without_limit(_: argparse.Namespace) -> AbstractContextManager[None]:
    return nullcontext()


def command_line(words: Container[str] | None = None) -> Parser:
    """The parser. Only the commands that are among `words` have their arguments (None: all commands)."""
    parser = Parser(
        prog="tilewright",
        description="A visual schedule notebook for tensor programs. `tilewright COMMAND --help` has examples.",
        epilog=NOTES,
    )
    parser.set_defaults(parser=parser)
    parser.add_argument("--version", action="version", version=f"tilewright {metadata.version('tilewright')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in COMMANDS:
        added = commands.add_parser(command.name, help=command.help, aliases=command.aliases)
        if words is None or any(name in words for name in (command.name, *command.aliases)):
            _complete(added, command)
    return parser


def _complete(parser: Parser, command: Command) -> None:
    """Give the command its arguments, its examples and its function."""
    module = command.module()
    shown = "\n".join(f"  tilewright {command.name} {example}".rstrip() for example in module.EXAMPLES)
    parser.description = f"{command.help[0].upper()}{command.help[1:]}."
    unknown = f"{AT_UNKNOWN[command.name].text()}\n\n" if command.name in AT_UNKNOWN else ""
    parser.epilog = f"{unknown}examples:\n{shown}"
    takes_verbosity(parser)
    parser.set_defaults(within=_without_limit)
    module.add_arguments(parser)
    parser.set_defaults(parser=parser, run=module.run)
