"""Reader of machine files: TOML, checked against the schema of `machine`; errors have the line of the wrong parameter.

A parameter can have a source below it: `banks = 2` and `source.banks = "Qualcomm 80-N2040-61"`; "assumed" if no source is public.
"""

from __future__ import annotations

import re
import stat
import tomllib
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from .... import static
from ...ir import Place
from ..errors import MachineError, refuse
from .model import Machine
from .parts import (
    GROUPS,
    Bus,
    Cache,
    DmaEngine,
    Engine,
    Level,
    Link,
    MatrixEngine,
    Memory,
    ScalarEngine,
    SystolicEngine,
    VectorEngine,
    listed_tables,
)
from .validation import find_violation, violation_error

ENGINE_TYPES: dict[str, type[Engine]] = {
    "dma": DmaEngine,
    "matrix": MatrixEngine,
    "systolic": SystolicEngine,
    "vector": VectorEngine,
    "scalar": ScalarEngine,
}
MAX_FILE_BYTES = 1_000_000
MAX_DOTS = 64
Table = dict[str, Any]
S = TypeVar("S", bound=msgspec.Struct)


@lru_cache(maxsize=1)
def preset_names() -> tuple[str, ...]:
    """Returns the names of the machines that Tilewright ships."""
    folder = resources.files(static) / "machines"
    return tuple(sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml")))


def load_machine(name_or_path: str | Path) -> Machine:
    """Returns a preset by name, or a machine from a TOML file by path. Raises MachineError with the line of the error."""
    name = str(name_or_path)
    if name in preset_names():
        return _preset(name)
    path = Path(name_or_path)
    if path.suffix != ".toml":
        raise refuse("unknown-machine", f"there is no machine {name!r}", found=name,
                     expected=f"{', '.join(preset_names())}, or the path of a .toml file")  # fmt: skip
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # reading a pipe would block
            raise refuse("machine-file", f"{name} is not a file", found=name, expected="a readable TOML file")
        if found.st_size > MAX_FILE_BYTES:
            raise refuse(
                "machine-file", f"{name} is not a machine file: larger than {MAX_FILE_BYTES} bytes", found=name
            )
        text = path.read_text("utf-8")
    except OSError as error:
        raise refuse(
            "machine-file", f"cannot read {name}: {error.strerror}", found=name, expected="a readable TOML file"
        ) from None
    except UnicodeDecodeError:
        raise refuse("machine-file", f"{name} is not text", found=name, expected="TOML in UTF-8") from None
    return read_machine(text, name)


@lru_cache(maxsize=32)
def _preset(name: str) -> Machine:
    """Parses a preset once: a text may name its machine in a thousand lines."""
    return read_machine((resources.files(static) / "machines" / f"{name}.toml").read_text("utf-8"), f"{name}.toml")


def read_machine(text: str, filename: str = "") -> Machine:
    """Returns the machine of a TOML text. Raises MachineError whose refusal has the place in the text."""
    try:
        return _Reader(text, filename).machine()
    except RecursionError:
        fault = "is nested too deeply"
    except ValueError:  # Python's error for integers of thousands of digits
        fault = "has a number of thousands of digits"
    raise refuse("machine-file", f"{filename or 'the text'} {fault}", expected="parameters of a machine")


class _Reader:
    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self.filename = filename

    def machine(self) -> Machine:
        table = self._table()
        memories = self._sections(table, "memories")
        engines = self._sections(table, "engines")
        caches = self._sections(table, "caches") if "caches" in table else {}
        buses = self._sections(table, "buses") if "buses" in table else {}
        levels = self._sections(table, "levels") if "levels" in table else {}
        links = self._sections(table, "links") if "links" in table else {}
        head = self._convert(table | {group: [] for group in GROUPS}, Machine, ())
        machine = msgspec.structs.replace(
            head,
            memories=tuple(self._convert(t | {"name": n}, Memory, ("memories", n)) for n, t in memories.items()),
            engines=tuple(self._engine(n, t) for n, t in engines.items()),
            caches=tuple(self._convert(t | {"name": n}, Cache, ("caches", n)) for n, t in caches.items()),
            buses=tuple(self._convert(t | {"name": n}, Bus, ("buses", n)) for n, t in buses.items()),
            levels=tuple(self._convert(t | {"name": n}, Level, ("levels", n)) for n, t in levels.items()),
            links=tuple(self._convert(t | {"name": n}, Link, ("links", n)) for n, t in links.items()),
        )
        violation = find_violation(machine)
        if violation is not None:
            raise self._placed(violation_error(violation), violation.section, violation.key)
        return machine

    def _table(self) -> Table:
        self._require_short_keys()
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            line, column = (int(found[1]), int(found[2])) if found else (1, 1)
            raise refuse("machine-file", f"invalid TOML: {error}", expected="a TOML file",
                         place=Place(line, column, line, column + 1, self.filename)) from None  # fmt: skip

    def _require_short_keys(self) -> None:
        """Rejects lines with more than MAX_DOTS dots: the TOML reader needs quadratic time for a key of many parts, `a.b.c.d`."""
        for number, line in enumerate(self.text.splitlines(), 1):
            dots = line.count(".")
            if dots > MAX_DOTS:
                raise refuse(
                    "machine-file", f"line {number} has too many dots", found=f"{dots} dots",
                    expected=f"at most {MAX_DOTS} dots in a line", place=Place(number, 1, number, len(line) + 1, self.filename),
                )  # fmt: skip

    def _sections(self, table: Table, group: str) -> dict[str, Table]:
        sections = table.get(group)
        if not isinstance(sections, dict) or not sections:
            error = refuse("missing-figure", f"the machine has no {group}", expected=f"sections [{group}.NAME]")
            raise self._placed(error, (group,), "")
        named = cast("dict[str, object]", sections)
        for name, section in named.items():
            if not isinstance(section, dict):
                expected = f"a section [{group}.{name}]"
                error = refuse(
                    "unknown-key", f"{group}.{name} is not a section", found=repr(section), expected=expected
                )
                raise self._placed(error, (group,), name)
        return cast("dict[str, Table]", named)

    def _engine(self, name: str, table: Table) -> Engine:
        kind = table.get("kind")
        engine_type = ENGINE_TYPES.get(kind) if isinstance(kind, str) else None
        if engine_type is None:
            raise self._placed(
                refuse("bad-figure", f"engine {name!r} has an unknown kind", found=repr(kind), expected=", ".join(ENGINE_TYPES)),
                ("engines", name), "kind",
            )  # fmt: skip
        return self._convert(table | {"name": name}, engine_type, ("engines", name))

    def _convert(self, table: Table, target: type[S], section: tuple[str, ...]) -> S:
        """Converts `table` to `target`; an error of msgspec becomes a refusal at its line."""
        sources = table.get("source", {})
        where = ".".join(section) or "the machine"
        if not isinstance(sources, dict) or not all(isinstance(v, str) for v in cast("Table", sources).values()):
            raise self._placed(
                refuse(
                    "bad-figure",
                    f"the sources of {where} are not strings",
                    expected='source.KEY = "the origin of the value"',
                ),
                section,
                "source",
            )
        named = cast("dict[str, str]", sources)
        for key in named:
            if key not in target.__struct_encode_fields__:
                raise self._placed(refuse("unknown-key", f"{where}: a source for {key!r}, which is not a parameter", found=f"source.{key}",
                                          expected=_keys(target)), section, f"source.{key}")  # fmt: skip
        try:
            return msgspec.convert(listed_tables(table | {"source": named}), target)
        except msgspec.ValidationError as error:
            raise self._placed(_schema_error(str(error), where, table, target), section, _key_in(str(error))) from None

    def _placed(self, error: MachineError, section: tuple[str, ...], key: str) -> MachineError:
        line, column, end = self._find(section, key)
        return MachineError(msgspec.structs.replace(error.refusal, place=Place(line, column, line, end, self.filename)))

    def _find(self, section: tuple[str, ...], key: str) -> tuple[int, int, int]:
        """Returns (line, column, end) of `key` in a section; else those of the section's header; else the first line."""
        header = re.compile(r"\s*\[\s*([^\]]+?)\s*\]")
        wanted = re.compile(rf"\s*(?P<key>{re.escape(key)})\s*[=.]") if key else None
        current: tuple[str, ...] = ()
        best = (1, 1, 2)
        for number, line in enumerate(self.text.splitlines(), 1):
            match = header.match(line)
            if match is not None:
                current = tuple(part.strip(" \"'") for part in match[1].split("."))
                if section and current[: len(section)] == section and best == (1, 1, 2):
                    best = (number, match.start(1), len(line) + 1)
            elif wanted is not None and current == section and (hit := wanted.match(line)):
                return number, hit.start("key") + 1, len(line) + 1
        return best


def _schema_error(message: str, where: str, table: Table, target: type[msgspec.Struct]) -> MachineError:
    problem = message.partition(" - at ")[0]
    key = _key_in(message)
    if "unknown field" in problem:
        return refuse("unknown-key", f"{where} has an unknown key {key!r}", found=key, expected=_keys(target))
    if "missing required field" in problem:
        return refuse("missing-figure", f"{where} lacks {key!r}", expected=f"{key} = …", fix=(f"{key} = …",))
    return refuse(
        "bad-figure",
        f"{where}: {key} is invalid",
        found=repr(table.get(key)),
        expected=problem.removeprefix("Expected "),
    )


def _key_in(message: str) -> str:
    """Returns the key in a message of msgspec: "… field `banks`" or "… - at `$.banks`"."""
    match = re.search(r"field `([^`]+)`", message) or re.search(r"at `\$\.([A-Za-z_]+)", message)
    return match[1] if match else ""


def _keys(target: type[msgspec.Struct]) -> str:
    groups = GROUPS if target is Machine else ()
    fields = [f for f in target.__struct_encode_fields__ if f not in ("name", "source", *groups)]
    return ", ".join(fields)
