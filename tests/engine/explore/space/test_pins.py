"""Pinned holes: the part of a space with fixed values, searched, resumed, and started from a database."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.profile import IS_DEEP
from support.schedules.spaces import LINES, gemm_space

from tilewright.engine.explore import (
    Database,
    EvaluationRequest,
    Evaluator,
    Outcome,
    Settings,
    SpaceError,
    StoreError,
    Study,
    explore,
    pinned,
    pins_of,
)
from tilewright.engine.explore.search.estimator import Estimator
from tilewright.engine.explore.search.local_search import LocalSearch, estimates_of
from tilewright.engine.explore.space.pins import unpinned
from tilewright.engine.explore.trials.study_store import fingerprint
from tilewright.engine.hwsim import load_machine
from tilewright.engine.ir import structural_equal

GEMMINI = load_machine("gemmini")
SPACE = gemm_space()
PINS = {"ti": 16, "A at": ["ko", "io"]}
PART = pinned(SPACE, PINS)
SAMPLED = Settings(exhaustive=0, trials=12, batch=4)
ORDER = ["jo", "io", "ko"]


def values(study: Study, name: str) -> set[object]:
    """The values of a hole in all trials."""
    return {str(study.space.values_at(trial.point)[name]) for trial in study.trials}


def test_pinned_space_has_the_pins_in_the_order_of_the_holes() -> None:
    assert [h.values for h in PART.holes] == [(16,), (16, 32), (32,), SPACE.holes[3].values, ("ko", "io"), (1, 2)]
    assert PART.size == 16 and PART.whole is SPACE
    assert pins_of(PART) == {"ti": ("16",), "A at": ('"ko"', '"io"')} and pins_of(SPACE) == {}
    text = PART.text_at(PART.default)
    assert "ti = 16\n" in text and "choose" not in text


@pytest.mark.parametrize(
    ("pins", "texts"),
    [
        ({"ti": 8}, ("8",)),
        ({"ti": [16, 32]}, ("32", "16")),
        ({"ti": (8, 8)}, ("8",)),
        ({"ti": "8"}, ("8",)),
        ({"order": ORDER}, ('["jo", "io", "ko"]',)),
        ({"order": [ORDER]}, ('["jo", "io", "ko"]',)),
        ({"A at": "ko"}, ('"ko"',)),
        ({"A at": ['"ko"', '"jo"']}, ('"ko"', '"jo"')),
    ],
)
def test_holes_are_pinned_by_values_or_texts(pins: dict[str, object], texts: tuple[str]) -> None:
    (name,) = pins
    assert pins_of(pinned(SPACE, pins)) == {name: texts}


def test_no_pins_or_all_values_are_the_same_study() -> None:
    assert pinned(SPACE, {}) is SPACE
    everything = pinned(SPACE, {"ti": [32, 8, 16], "tk": 32})
    assert pins_of(everything) == {}
    assert fingerprint(everything, GEMMINI, Settings()) == fingerprint(SPACE, GEMMINI, Settings())


@pytest.mark.parametrize(
    ("pins", "code", "expected"),
    [
        ({"rows": 8}, "no-such-hole", "ti, tj, tk, order, A at, A slots"),
        ({"ti": 48}, "no-such-value", "32, 8, 16"),
        ({"ti": [8, 48]}, "no-such-value", "32, 8, 16"),
        ({"ti": []}, "no-such-value", "32, 8, 16"),
        ({"A at": "nowhere"}, "no-such-value", '"ko", "jo", "io"'),
    ],
)
def test_unknown_pin_is_refused_with_the_choices(pins: dict[str, object], code: str, expected: str) -> None:
    with pytest.raises(SpaceError) as caught:
        pinned(SPACE, pins)
    assert caught.value.code == code and caught.value.refusal.expected == expected


def test_pinned_points_have_the_schedules_of_the_whole() -> None:
    seen = set()
    for point in PART.points():
        space, there = unpinned(PART, point)
        assert space is SPACE and SPACE.texts_at(there) == PART.texts_at(point)
        assert space.text_at(there) == PART.text_at(point)
        seen.add(there)
    assert len(seen) == PART.size
    fit = (0, 0, 0, 0, 0, 0)
    assert structural_equal(
        PART.schedule_at(fit).schedule.func, SPACE.schedule_at(unpinned(PART, fit)[1]).schedule.func
    )


def test_nested_pins_keep_the_whole_space() -> None:
    smaller = pinned(PART, {"tj": 32})
    assert smaller.whole is SPACE and pins_of(smaller) == {**pins_of(PART), "tj": ("32",)}
    with pytest.raises(SpaceError, match="no-such-value"):
        pinned(PART, {"ti": 8})


@pytest.mark.slow
def test_every_search_method_finds_the_best_of_a_pinned_space() -> None:
    bench = Evaluator(SPACE, GEMMINI, ("cycles",))
    outcomes = [bench.tried(EvaluationRequest(n, unpinned(PART, p)[1])) for n, p in enumerate(PART.points())]
    least = min(o.figures.cycles for o in outcomes if o.fits and o.figures)
    for settings, workers in ((Settings(), 0), *([(Settings(), 1)] if IS_DEEP else []), (SAMPLED, 0)):
        study = explore(PART, GEMMINI, settings, workers=workers)
        assert study.best is not None and study.best.outcome.figures is not None
        assert study.best.outcome.figures.cycles == least
        assert values(study, "ti") == {"16"} and values(study, "A at") == {"ko", "io"}
    assert study.method == "tpe" and len({trial.point for trial in study.trials}) == 12


def test_local_search_varies_unpinned_holes_only() -> None:
    estimator = Estimator(PART, GEMMINI)
    assert {PART.holes[n].name for n in estimator.scales} == {"tj", "order", "A at", "A slots"}
    points = [point for point, _ in estimates_of(LocalSearch(PART.default, 64, 0), estimator)]
    assert len(points) == len(set(points)) == PART.size
    alone = pinned(SPACE, {"tj": 16, "order": ORDER, "A at": "ko", "A slots": 1, "ti": 8})
    assert alone.size == 1 and Estimator(alone, GEMMINI).scales == {}
    assert explore(alone, GEMMINI, SAMPLED).total == 1


@pytest.mark.slow
def test_other_pins_are_another_study_and_equal_pins_resume(tmp_path: Path) -> None:
    file = tmp_path / "study.sqlite"
    one = explore(PART, GEMMINI, Settings(exhaustive=0, trials=6, batch=4), store=file)
    other = explore(pinned(gemm_space(), PINS), GEMMINI, SAMPLED, store=file)
    assert other.trials[:6] == one.trials and len(other.trials) == 12
    assert other.trials == explore(PART, GEMMINI, SAMPLED).trials
    for pins in ({}, {"ti": 16}, {"ti": 8, "A at": ["ko", "io"]}):
        with pytest.raises(StoreError, match="other-study"):
            explore(pinned(SPACE, pins), GEMMINI, SAMPLED, store=file)


@pytest.mark.slow
def test_records_outside_the_pins_start_with_the_nearest_values(
    tmp_path: Path,
) -> None:
    space = gemm_space(LINES.replace("[16, 32]", "[16]").replace(', ["jo", "io", "ko"]]', "]"))
    with Database(tmp_path / "found.sqlite3") as database:
        whole = explore(space, GEMMINI, database=database)
        assert whole.best is not None
        best = space.values_at(whole.best.point)
        tile = next(value for value in space.holes[0].values if value != best["ti"])
        part = pinned(space, {"ti": tile})
        study = explore(part, GEMMINI, database=database)
        first = part.values_at(study.trials[0].point)
        assert study.warm_start.exact and first == {**best, "ti": tile}
        assert values(study, "ti") == {str(tile)}
        for record in database.records():
            (line,) = (line for line in record.text.splitlines() if line.startswith("ti ="))
            assert all(text in line for text in ("32", "8", "16"))
        again = explore(space, GEMMINI, database=database)
        assert again.trials[0].point == whole.best.point and again.best is not None
        assert again.best.outcome == whole.best.outcome


@pytest.mark.slow
def test_known_outcomes_are_not_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = Evaluator(PART, GEMMINI, ("cycles",)).tried(EvaluationRequest(0, PART.default))
    assert outcome.fits
    evaluated: list[tuple[int, ...]] = []
    tried = Evaluator.tried

    def counted(self: Evaluator, request: EvaluationRequest) -> Outcome:
        evaluated.append(request.point)
        return tried(self, request)

    monkeypatch.setattr(Evaluator, "tried", counted)
    expected = explore(PART, GEMMINI)
    assert PART.default in evaluated
    evaluated.clear()
    study = explore(PART, GEMMINI, known={PART.default: outcome})
    assert study.trials == expected.trials and [o.trial for o in study.offers] == [o.trial for o in expected.offers]
    assert PART.default not in evaluated and len(evaluated) == PART.size - 1


def test_pin_of_a_multiline_hole_keeps_its_line() -> None:
    text = LINES.replace('choose("ti", [32, 8, 16])', 'choose(\n    "ti",\n    [32, 8, 16],\n)')
    part = pinned(gemm_space(text), {"ti": 8})
    assert [line.place for line in part.lines] == [line.place for line in gemm_space(text).lines]
    assert part.filled_at(part.default)[0] == (2, "ti = 8")
