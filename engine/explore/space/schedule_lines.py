"""The lines of a derived schedule: its calls as text, and as the statements that evaluation reads, with variables for handles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ...adopt import hole_of, is_hole, with_values
from ...export import SEPARATOR, assignment, call_text, value_text
from ...ir import Parameter, ParameterItem, Place, ScheduleCall, Var, called_with
from ...schedule import BLOCK_PARAMETERS, Handle, quoted
from ...script import CallStep, Ref, read_calls

OWNER = "tilewright"


class BuiltCall(msgspec.Struct, frozen=True, eq=False):
    """A call with the variables of its results, or of the only one `at` a position. `unpacks` says that the call returns several.
    `parameters` are those of its arguments, in the order in which they were chosen."""

    call: ScheduleCall
    parameters: tuple[Parameter, ...]
    targets: tuple[str, ...] = ()
    at: int | None = None
    unpacks: bool = False


class BuiltLine(msgspec.Struct, frozen=True, eq=False):
    """A line of text, and its statement; a comment has none."""

    text: str
    statement: CallStep | None = None

    def with_default(self, first: Mapping[str, int]) -> BuiltLine:
        """The line with another value of its hole in front: the one at the position that `first` has for its variable."""
        call = self.statement
        if call is None or not is_hole(call) or not (at := first.get(call.targets[0], 0)):
            return self
        call = with_values(call, [at, *(n for n in range(len(hole_of(call).texts)) if n != at)])
        return BuiltLine(call.text, call)


def built_lines(built: Sequence[BuiltCall | str], receiver: str) -> tuple[BuiltLine, ...]:
    """The lines of calls and comments. `receiver` is the variable of the schedule."""
    found: list[BuiltLine] = []
    names: dict[Handle, str] = {}
    chosen: set[Parameter] = set()
    for one in built:
        if isinstance(one, str):
            found.append(BuiltLine(one))
            continue
        for parameter in one.parameters:
            if parameter not in chosen:
                chosen.add(parameter)
                found.append(_choice(parameter, len(found) + 1))
        found.append(_line(one, receiver, names, len(found) + 1))
        results = one.call.results if one.at is None else (one.call.results[one.at],)
        names |= {handle: name for handle, name in zip(results, one.targets, strict=False) if name != "_"}
    return tuple(found)


def lines_of(text: str) -> tuple[BuiltLine, ...]:
    """The lines of a text with one statement or comment in each. Raises ParseError."""
    found: list[BuiltLine] = []
    for line in text.splitlines():
        if line.startswith("#"):
            found.append(BuiltLine(line))
        else:
            found += [BuiltLine(call.text, call) for call in read_calls(line, first_line=len(found) + 1)]
    return tuple(found)


def _choice(parameter: Parameter, number: int) -> BuiltLine:
    """`tile = tilewright.choose("tile", [32, 64])`, or `tile = 32` if there is one value."""
    values = [_argument(value, {}) for value in parameter.values]
    texts = [value_text(value, str, separator=SEPARATOR) for value in parameter.values]
    targets = (parameter.variable,)
    if len(values) == 1:
        text = f"{parameter.variable} = {texts[0]}"
        return BuiltLine(text, CallStep(targets, "", "", (values[0],), {}, None, _place(text, number), text))
    text = f"{parameter.variable} = {OWNER}.choose({quoted(parameter.name)}, [{', '.join(texts)}])"
    arguments = (parameter.name, values)
    return BuiltLine(text, CallStep(targets, OWNER, "choose", arguments, {}, None, _place(text, number), text))


def _line(one: BuiltCall, receiver: str, names: dict[Handle, str], number: int) -> BuiltLine:
    call, targets = one.call, one.targets

    def handle_text(handle: Handle) -> str:
        return names.get(handle) or quoted(handle if isinstance(handle, str) else handle.name)

    text = call_text(call, handle_text, receiver=receiver) + ("" if one.at is None else f"[{one.at}]")
    text = assignment(targets, text, unpacks=one.unpacks)
    given = {name: _argument(value, names, blocks=name in BLOCK_PARAMETERS) for name, value in call.arguments}
    place = _place(text, number)
    return BuiltLine(
        text, CallStep(targets, receiver, call.method, *called_with(given), one.at, place, text, one.unpacks)
    )


def _argument(value: Any, names: dict[Handle, str], *, blocks: bool = False) -> Any:
    """The argument of a statement for that of a call: a variable for each handle that has one."""

    def visit(item: Any) -> Any:
        match item:
            case Parameter(variable=variable):
                return Ref(variable)
            case ParameterItem(parameter=parameter, position=position):
                return Ref(parameter.variable, position, spread=position is None)
            case Var():
                return Ref(names[item]) if item in names else item.name
            case str():
                return Ref(names[item]) if blocks and item in names else item
            case ("read" | "write", int()):
                return item
            case tuple():
                return [visit(one) for one in cast("tuple[Any, ...]", item)]
            case _:
                return item

    return visit(value)


def _place(text: str, number: int) -> Place:
    return Place(number, 1, number, len(text) + 1)


__all__ = ["BuiltCall", "BuiltLine", "built_lines", "lines_of"]
