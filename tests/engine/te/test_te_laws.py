"""Laws of translated schedules: they keep the meaning of the text, and a refusal names a line of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.programs.te_programs import te_texts

from tilewright.engine.ir import TilewrightError, structural_equal
from tilewright.engine.te import parse, read_te


@given(te_texts())
def test_law_an_accepted_schedule_keeps_the_meaning(text: str) -> None:
    try:
        found = read_te(text)
    except TilewrightError as error:
        place = error.refusal.place
        assert place is not None
        assert 1 <= place.line <= len(text.splitlines())
        return
    assert structural_equal(parse(text).program, found.program)
    verdict = found.schedule.verify()
    assert verdict.status == "tested", f"{verdict.detail}\n{text}"


@pytest.mark.slow
@given(te_texts())
def test_law_each_step_has_its_source_line(text: str) -> None:
    try:
        found = read_te(text)
    except TilewrightError:
        return
    assert len(found.sources) == len(found.schedule.trace)
