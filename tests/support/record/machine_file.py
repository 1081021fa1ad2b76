"""Writes docs/machine-file.md from the types of `engine/hwsim/machine/parts.py`. Run it when a test reports that the page is out of date:

PYTHONPATH=tests python -m support.record.machine_file
"""

from __future__ import annotations

import json
import re
from inspect import getdoc
from pathlib import Path

import msgspec
from msgspec import inspect

from tilewright.app.actions.machine_parameters import meaning_of
from tilewright.engine.hwsim import Bus, Cache, Level, Link, Machine, Memory, load_machine, preset_names
from tilewright.engine.hwsim.machine.machine_file import ENGINE_TYPES
from tilewright.engine.hwsim.machine.parts import GROUPS, MOST, AnyEngine, meanings

PAGE = Path(__file__).parents[3] / "docs" / "machine-file.md"

SMALLEST = """\
name = "one-of-each"
clock_hz = 1_000_000_000

[memories.dram]
scopes = ["global"]
capacity_bytes = 1_073_741_824
read_bytes_per_cycle = 16
write_bytes_per_cycle = 16
latency_cycles = 100
source.latency_cycles = "assumed: 100 ns"

[memories.sram]
scopes = ["local", "shared"]
capacity_bytes = 131_072
read_bytes_per_cycle = 64
write_bytes_per_cycle = 64

[engines.dma]
kind = "dma"
reads = ["dram", "sram"]
writes = ["dram", "sram"]
bytes_per_cycle = 16

[engines.core]
kind = "scalar"
reads = ["dram", "sram"]
writes = ["dram", "sram"]
cycles_per_operation = 1
"""

HEAD = f"""\
# The machine file

A machine is a TOML file: memories, engines, the caches and buses between them, the levels of a chip of several cores, and the links
to them.
`tilewright.machine("my.toml")` in a notebook, `tilewright run FILE --machine my.toml`, `LoopTree(sch, machine="my.toml")` in Jupyter.
An error names the line, the expected value and, if known, the fix. [The simulator](simulator.md) describes how the figures become cycles,
and [the machine's figures](guide/machine.md) how to change them in the app.

`PYTHONPATH=tests python -m support.record.machine_file` generates this page from the types in `engine/hwsim/machine/parts.py`, and a test
compares both. The smallest machine with on-chip memory:

```toml
{SMALLEST}```

- A section's name is the name of its part. An omitted key has its default; a key outside of the tables below is an error.
- `source.KEY = "…"` beside a figure names its source, or "assumed" if no source is public. The app shows it below the figure.
- Figures are integers, in cycles and bytes, so that a file gives the same cycles on every platform; energies may have fractions.
"""

PRESETS = """
## The files that come with it

The files are in `static/machines`, each figure with its source. To describe a new machine, copy the most similar one.

| machine | |
|---|---|
"""

HEADER = "| key | type | default | unit | meaning |\n|---|---|---|---|---|\n"


_LONG = {"B": "bytes", "B/cycle": "bytes/cycle", "pJ/B": "pJ/byte", "pJ/op": "pJ/operation"}

SECTIONS: tuple[tuple[str, str, type[msgspec.Struct]], ...] = (
    ("##", "Top-level keys", Machine),
    ("##", "`[memories.NAME]`", Memory),
    ("##", "`[engines.NAME]`", AnyEngine),
    *(("###", f'`kind = "{kind}"`', part) for kind, part in ENGINE_TYPES.items()),
    ("##", "`[caches.NAME]`", Cache),
    ("##", "`[buses.NAME]`", Bus),
    ("##", "`[levels.NAME]`", Level),
    ("##", "`[links.NAME]`", Link),
)


def machine_file_page() -> str:
    machines = map(load_machine, preset_names())
    presets = "".join(f"| `{machine.name}` | {machine.description} |\n" for machine in machines)
    return HEAD + "".join(_section(*section) for section in SECTIONS) + PRESETS + presets


def keys_of(part: type[msgspec.Struct]) -> list[msgspec.structs.FieldInfo]:
    """The keys in a section of a part; for an engine, besides those of all engines."""
    others = {"source", *(GROUPS if part is Machine else ("name",))}
    if issubclass(part, AnyEngine) and part is not AnyEngine:
        others |= {field.name for field in msgspec.structs.fields(AnyEngine)}
    return [field for field in msgspec.structs.fields(part) if field.name not in others]


def _section(level: str, title: str, part: type[msgspec.Struct]) -> str:
    rows = [_row(part, field) for field in keys_of(part)]
    if part is AnyEngine:
        kinds = ", ".join(f'"{kind}"' for kind in ENGINE_TYPES)
        rows.insert(0, f"| `kind` | {kinds} | needed | | The kind of work; each kind adds the keys below. |\n")
    text = re.sub(r"\s+", " ", getdoc(part) or "")
    return f"\n{level} {title}\n\n{text}\n\n{HEADER}{''.join(rows)}"


def _row(part: type[msgspec.Struct], field: msgspec.structs.FieldInfo) -> str:
    default = "needed" if field.required else f"`{json.dumps(field.default)}`"
    meaning = meanings(part)[field.name]
    return f"| `{field.encode_name}` | {_kind(field)} | {default} | {_unit(field.name)} | {meaning} |\n"


def _unit(key: str) -> str:
    words = meaning_of(key)
    return {"bytes": "bytes", "hertz": "Hz"}.get(words.scale) or _LONG.get(words.unit, words.unit)


def _kind(field: msgspec.structs.FieldInfo) -> str:
    """A type in words, with its bounds."""
    found = inspect.type_info(field.type)
    match found.type if isinstance(found, inspect.Metadata) else found:
        case inspect.IntType(ge=least, le=most):
            return f"integer, {least} {'or more' if most == MOST else f'to {most:,}'}"
        case inspect.FloatType(ge=least):
            return f"number, {least} or more"
        case inspect.LiteralType(values=values):
            return ", ".join(f'"{value}"' for value in values)
        case inspect.VarTupleType(item_type=inspect.TupleType()):
            return "table of integers, 1 or more"
        case inspect.VarTupleType(item_type=inspect.IntType() | inspect.Metadata(type=inspect.IntType())):
            return "list of integers"
        case inspect.VarTupleType():
            return "list of texts"
        case inspect.BoolType():
            return "true, false"
        case inspect.StrType():
            return "text"
        case other:
            raise TypeError(f"{field.name}: no words for {other}")


if __name__ == "__main__":
    PAGE.write_text(machine_file_page(), encoding="utf-8")
    print(f"{PAGE.name} is written")
