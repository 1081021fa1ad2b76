"""A few hundred mutated inputs of each reader, the same in every run: each is read, or refused by an error of Tilewright.

`python bench/fuzz.py READER` continues with millions; docs/fuzzing.md has its finds and its coverage.
"""

from __future__ import annotations

import warnings
from random import Random

import pytest
from support.fuzzing.judging import fault_of, judged, minimised
from support.fuzzing.readers import READERS
from support.profile import IS_DEEP

from tilewright import TilewrightError
from tilewright.engine.ir import Refusal, internal_error

FEWER = {"import": 60, "notebook": 150, "pasted": 150}
"""Readers of a whole notebook for each input."""


@pytest.mark.deep
@pytest.mark.parametrize("name", list(READERS))
def test_law_mutated_inputs_are_read_or_refused(name: str) -> None:
    reader, random = READERS[name], Random(f"2026 {name}")
    seeds = tuple(reader.seeds())
    faults: dict[str, object] = {}
    codes: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for _ in range(FEWER.get(name, 300) * 50 if IS_DEEP else FEWER.get(name, 300) // 10):
            data = reader.mutate(random, min(random.choices(seeds, k=2), key=len), seeds)
            outcome = judged(reader.read, data, slow_seconds=20.0)
            codes.add(outcome.code)
            if outcome.fault and outcome.fault not in faults:
                faults[outcome.fault] = minimised(reader.read, data, outcome.fault, most=100)
    assert not faults
    assert len(codes) > 1 or name == "messages", "inputs must be read and refused, in more ways than one"


def test_a_fault_is_reported_and_minimised() -> None:
    def read(data: str | bytes) -> None:
        if "x" in str(data) and "y" in str(data):
            raise KeyError("both")

    outcome = judged(read, "aaaxaaayaaa")
    assert outcome.fault.startswith("KeyError")
    assert minimised(read, "aaaxaaayaaa", outcome.fault) == "xy"


@pytest.mark.parametrize("cause", [KeyError("x"), None])
def test_internal_errors_are_finds_and_refusals_are_not(cause: Exception | None) -> None:
    def caught(_: str | bytes) -> None:
        raise TilewrightError(internal_error(KeyError("x"), "reading")) from cause

    def refused(_: str | bytes) -> None:
        raise TilewrightError(Refusal("syntax", "not Python"))

    assert judged(caught, "").fault and judged(refused, "")[:2] == ("syntax", "")
    assert "KeyError" in fault_of(KeyError("x"))
