"""Options of a command line, `argparse`: a text is read as it runs without arguments, so that options have their defaults."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ..core import Evaluator, ReadCall
from ..scope import Foreign, Unknown, Value
from ..values import Options

_NUMBERS: Mapping[str, type] = {"int": int, "float": float}


class OptionParser(Foreign):
    """An `argparse.ArgumentParser()`: the default of each option by name, Unknown for one that must be given."""

    def __init__(self) -> None:
        self.defaults: dict[str, Value] = {}


def _parser(run: Evaluator, node: ast.Call) -> Value:
    return OptionParser()


def option_call(run: Evaluator, parser: OptionParser, method: str, node: ast.Call) -> Value:
    """Read a method of a parser of options."""
    match method:
        case "add_argument":
            _add(run, parser, node)
            return None
        case "add_argument_group" | "add_mutually_exclusive_group":
            return parser
        case "set_defaults":
            parser.defaults |= {k.arg: run.lenient(k.value) for k in node.keywords if k.arg is not None}
            return None
        case "parse_args":
            return _parsed(run, parser, node)
        case "parse_known_args":
            return run.new((option_call(run, parser, "parse_args", node), run.new([], node)), node)
        case _:
            return run.passed_call(node)


def _parsed(run: Evaluator, parser: OptionParser, node: ast.Call) -> Options:
    found = {name: _given(run, name, value) for name, value in parser.defaults.items()}
    shown = ", ".join(f"{name}={value}" for name, value in found.items() if isinstance(value, bool | int | float | str))
    if shown:
        run.dialect.note(run, f"the options of the command line are read as {shown[:200]}", node)
    options = Options(found)
    run.new(options, node)
    return options


def _given(run: Evaluator, name: str, default: Value) -> Value:
    """Return the value that users give for an option, else its default."""
    for known in (f"args.{name}", name):
        found = run.dialect.supplied(known, Unknown("it is an option of the command line", known))
        if not isinstance(found, Unknown):
            return found
    return default


def _add(run: Evaluator, parser: OptionParser, node: ast.Call) -> None:
    """Read `add_argument("--size", "-s", type=int, default=128)`."""
    flags = [run.lenient(argument) for argument in node.args]
    known = {keyword.arg: keyword.value for keyword in node.keywords}
    words = [flag for flag in flags if isinstance(flag, str)]
    word = next((flag for flag in words if flag.startswith("--")), words[0] if words else "")
    dest = run.lenient(known["dest"]) if "dest" in known else word.lstrip("-").replace("-", "_")
    if not isinstance(dest, str) or len(words) != len(flags) or not dest:
        raise run.error(
            node, "unsupported", "this option is not read", expected='add_argument("--size", type=int, default=128)'
        )
    action = run.lenient(known["action"]) if "action" in known else "store"
    unknown = Unknown(f"line {run.line(node)} takes it from the command line", f"args.{dest}")
    if "default" in known:
        given = run.lenient(known["default"])
        default = unknown if isinstance(given, Unknown) else given
    elif action in ("store_true", "store_false"):
        default = action == "store_false"
    else:
        required = not word.startswith("-") or ("required" in known and run.lenient(known["required"]) is not False)
        default = unknown if required else None
    kind = known.get("type")
    if isinstance(default, str) and kind is not None:
        number = _NUMBERS.get(kind.id) if isinstance(kind, ast.Name) and kind.id not in run.scope else None
        is_word = isinstance(kind, ast.Name) and kind.id == "str"
        default = default if is_word else _number(number, default, unknown)
    parser.defaults.setdefault(dest, default)


def _number(kind: type | None, text: str, unknown: Unknown) -> Value:
    try:
        return unknown if kind is None else kind(text)
    except ValueError:
        return unknown


def count_of_arguments(run: Evaluator) -> int:
    """Return `len(sys.argv)`: the name of the text, and the arguments that users give as `sys.argv[1]`, …"""
    count = 1
    while not isinstance(run.dialect.supplied(f"sys.argv[{count}]", Unknown("")), Unknown):
        count += 1
    return count


FUNCTIONS: Mapping[str, ReadCall] = {"argparse.ArgumentParser": _parser}
"""Functions by dotted name."""

__all__ = ["FUNCTIONS", "OptionParser", "count_of_arguments", "option_call"]
