"""Writes static/components/messages.d.ts and views.d.ts: the messages that components send, and the values that they receive, as TypeScript
types, from the classes in Python; and core/stalls.js. Run it when a test reports that a file is out of date:

PYTHONPATH=tests python -m support.record.messages
"""

from __future__ import annotations

import collections.abc
import json
import re
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from tilewright.app.export import replay  # noqa: F401 - its values
from tilewright.app.page import page  # noqa: F401 - it imports all views
from tilewright.app.protocol.messages import MESSAGES
from tilewright.app.state.intents import kinds_of
from tilewright.app.views.labels.values import Answer, Value
from tilewright.app.views.timeline.causes import CAUSES, HATCHES

COMPONENTS = Path(__file__).parents[3] / "static" / "components"
TYPES = COMPONENTS / "messages.d.ts"
VIEWS = COMPONENTS / "views.d.ts"
STALLS = COMPONENTS / "core" / "stalls.js"

Kind = type[msgspec.Struct]
PLAIN = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
    object: "unknown",
}
LISTS = {list, tuple, collections.abc.Sequence}
MAPS = {dict, collections.abc.Mapping}


def message_types() -> str:
    """The text of messages.d.ts."""
    kinds = list(MESSAGES.values())
    others = sorted(_reached(kinds) - set(kinds), key=lambda kind: kind.__name__)
    head = "// The messages that components send, made of app/protocol by tests/support/record/messages.py.\n"
    return "\n".join(
        [head, _union("Message", kinds), *(_interface(kind, from_page=True) for kind in (*kinds, *others))]
    )


def view_types() -> str:
    """The text of views.d.ts."""
    kinds = _reached(kinds_of(Value))
    names = [kind.__name__ for kind in kinds]
    clashes = {name for name in names if names.count(name) > 1}
    assert not clashes, f"two classes have one name: {clashes}"
    answers = sorted((kind for kind in kinds if issubclass(kind, Answer)), key=lambda kind: kind.__name__)
    head = "// The values that components receive, made of app/views by tests/support/record/messages.py.\n"
    in_order = sorted(kinds, key=lambda kind: kind.__name__)
    return "\n".join([head, _union("Answer", answers), *map(_interface, in_order)])


def stall_tables() -> str:
    """The text of core/stalls.js."""
    head = "// The causes of stalls and the hatchings, made of app/views/timeline/causes.py by tests/support/record/messages.py.\n"
    fields = ("path", "width")
    hatches = {name: {field: getattr(hatch, field) for field in fields} for name, hatch in HATCHES.items()}
    causes = {
        name: {"word": cause.word, "hatch": cause.hatch, "reason": cause.reason("{what}", "{block}")}
        for name, cause in CAUSES.items()
    }
    hatch_type = "/** @type {Record<string, { path: string, width: number }>} */"
    return "\n".join([head, _table("CAUSES", causes), hatch_type, _table("HATCHES", hatches)])


def _table(name: str, rows: dict[Any, dict[str, Any]]) -> str:
    lines = (
        f"  {key}: {{ {', '.join(f'{field}: {json.dumps(value)}' for field, value in row.items())} }},"
        for key, row in rows.items()
    )
    return "\n".join([f"export const {name} = {{", *lines, "};", ""])


def _reached(kinds: Iterable[Kind]) -> set[Kind]:
    """The classes, and all that are in their fields."""
    found: set[Kind] = set()
    waiting = list(kinds)
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found.add(kind)
            waiting += [inner for field in msgspec.structs.fields(kind) for inner in _structs_in(field.type)]
    return found


def _structs_in(of: Any) -> Iterator[Kind]:
    if isinstance(of, type) and issubclass(of, msgspec.Struct):
        yield of
    elif get_origin(of) is not Literal:
        for inner in get_args(of):
            yield from _structs_in(inner)


def _union(name: str, kinds: Iterable[Kind]) -> str:
    return f"export type {name} =\n" + "\n".join(f"  | {kind.__name__}" for kind in kinds) + ";\n"


def _interface(kind: Kind, *, from_page: bool = False) -> str:
    """A field with a default may be missing in what the page sends, and in a value whose class omits defaults."""
    config = kind.__struct_config__
    lines = [f"/** {_flowing(kind.__doc__ or kind.__name__)} */", f"export interface {kind.__name__} {{"]
    if config.tag is not None:
        lines.append(f"  {config.tag_field}: {json.dumps(config.tag)};")
    for field in msgspec.structs.fields(kind):
        may_miss = not field.required and (from_page or config.omit_defaults)
        lines.append(f"  {field.encode_name}{'?' * may_miss}: {_type(field.type)};")
    return "\n".join([*lines, "}", ""])


def _type(of: Any) -> str:
    """A type in TypeScript."""
    if of in PLAIN:
        return PLAIN[of]
    origin, inner = get_origin(of), get_args(of)
    if origin is Annotated:
        return _type(inner[0])
    if origin is Literal:
        return _either(json.dumps, inner)
    if origin in (Union, types.UnionType):
        return _either(_type, inner)
    if origin is tuple and inner[-1:] != (...,):
        return f"[{', '.join(map(_type, inner))}]"
    if origin in LISTS:
        item = _type(inner[0])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if origin in MAPS:
        record = f"Record<{_type(inner[0])}, {_type(inner[1])}>"
        return f"Partial<{record}>" if get_origin(inner[0]) is Literal else record
    assert issubclass(of, msgspec.Struct), f"{of} has no type in TypeScript"
    return of.__name__


def _either(text: Callable[[Any], str], members: Iterable[Any]) -> str:
    return " | ".join(dict.fromkeys(map(text, members)))


def _flowing(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    for path, text in ((TYPES, message_types()), (VIEWS, view_types()), (STALLS, stall_tables())):
        path.write_text(text, encoding="utf-8")
        print(f"{path.name} is written")
