"""Studies: a table that somebody measured, and the programs and machine that predict its rows.

`static/validation` has them: `tables` are the measured figures with their source, `kernels` notebooks, and `studies` what connects both.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from math import prod
from typing import Literal

import msgspec
from propcache.api import cached_property

from ... import static
from ...engine.ir import Refusal, TilewrightError

FOLDER = "validation"
_COLUMN = re.compile(r"\{(\w+)\}")

Row = Mapping[str, str]
Figures = dict[str, int | str | bool]
"""Machine parameters by path, as `Machine.replace` takes them."""


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The program of the rows whose columns have the values `rows`.

    `call` is the call of the kernel, with the row's columns in braces; `lines` are schedule calls; `figures` are machine parameters.
    """

    name: str
    rows: dict[str, str]
    call: str
    kernel: str = ""
    lines: tuple[str, ...] = ()
    figures: Figures = {}
    label: str = ""


class Ablation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Two variants that differ in one property; rows with equal values of the other columns are pairs."""

    name: str
    before: str
    after: str


class Experiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All rows once more with other machine parameters or schedule calls: what a law or an unknown figure contributes. `launch_us` is added
    to each time, which the simulator begins with the first block.
    """

    name: str
    figures: Figures = {}
    lines: tuple[str, ...] = ()
    launch_us: float = 0.0


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A measured table with the programs that predict its rows.

    `measured` is the column of the figures. In `unit` "us" or "ms" it is a time; in "TFLOP/s", "GFLOP/s" or "GB/s" it is `work` by time.
    In "speed", and if `relative`, only ratios are known. `clock` says where the clock is from; without it absolute times do not count.
    `unknown` lists what the source does not state, with the value that is taken.
    """

    title: str
    table: str
    device: str
    machine: str
    kernel: str
    measured: str
    unit: Literal["us", "ms", "TFLOP/s", "GFLOP/s", "GB/s", "speed"]
    variants: tuple[Variant, ...]
    work: str = ""
    clock: str = ""
    unknown: tuple[str, ...] = ()
    relative: bool = False
    where: dict[str, str] = {}
    figures: Figures = {}
    ablations: tuple[Ablation, ...] = ()
    experiments: tuple[Experiment, ...] = ()
    notes: str = ""
    name: str = ""

    @cached_property
    def source(self) -> dict[str, str]:
        """The head of the table: its source, device, conditions, units and ablation."""
        return dict(line[2:].split(": ", 1) for line in _lines(self.table) if line.startswith("# ") and ": " in line)

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """The rows of the table that are of the study's device."""
        body = (line for line in _lines(self.table) if not line.startswith("#"))
        return tuple(row for row in csv.DictReader(body) if _has(row, self.where))

    def rows_of(self, variant: Variant) -> Iterator[Row]:
        return (row for row in self.rows if _has(row, variant.rows))

    def microseconds(self, row: Row) -> float:
        """The measured time; in units of an unknown time if only speeds are known."""
        figure = float(row[self.measured])
        match self.unit:
            case "us":
                return figure
            case "ms":
                return figure * 1e3
            case "speed":
                return 1 / figure
            case _:
                per_us = {"TFLOP/s": 1e6, "GFLOP/s": 1e3, "GB/s": 1e3}[self.unit]
                return self.work_of(row) / (figure * per_us)

    def work_of(self, row: Row) -> float:
        """The operations or bytes of a row."""
        return prod(float(factor) for factor in filled(self.work, row).split("*"))

    def kernel_text(self, variant: Variant) -> str:
        return _read(f"kernels/{variant.kernel or self.kernel}.py")


def filled(template: str, row: Row) -> str:
    """The text with the columns of a row in place of their names in braces."""
    return _COLUMN.sub(lambda found: row[found[1]], template)


def columns_of(template: str) -> tuple[str, ...]:
    """The columns that a text names in braces."""
    return tuple(dict.fromkeys(_COLUMN.findall(template)))


def not_predicted() -> dict[str, str]:
    """The measured tables that no study predicts, with the reason."""
    return {str(table): str(reason) for table, reason in tomllib.loads(_read("not_predicted.toml")).items()}


def study_names() -> tuple[str, ...]:
    folder = resources.files(static) / FOLDER / "studies"
    return tuple(sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")))


def load_study(name: str) -> Study:
    """The study of this name. Raises TilewrightError "no-such-study"."""
    if name not in study_names():
        raise TilewrightError(Refusal("no-such-study", "no study has this name", name, ", ".join(study_names())))
    found = tomllib.loads(_read(f"studies/{name}.toml"))
    return msgspec.convert({**found, "name": name}, Study)


def _has(row: Row, wanted: Mapping[str, str]) -> bool:
    return all(row[column] == value for column, value in wanted.items())


def _lines(table: str) -> list[str]:
    return _read(f"tables/{table}").splitlines()


def _read(path: str) -> str:
    return (resources.files(static) / FOLDER / path).read_text("utf-8")


__all__ = [
    "Ablation",
    "Experiment",
    "Study",
    "Variant",
    "columns_of",
    "filled",
    "load_study",
    "not_predicted",
    "study_names",
]
