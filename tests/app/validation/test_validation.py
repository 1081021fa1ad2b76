"""The studies of measured tables: each reads, predicts all its rows, and the page has these predictions."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import pytest

import tilewright.app.cli as cli
from tilewright.app.validation import (
    Outcome,
    device_names,
    find_device,
    load_study,
    machine_of,
    not_predicted,
    outcome,
    page,
    picture,
    study_names,
    totals,
)
from tilewright.app.validation.score import paired
from tilewright.engine.ir import TilewrightError

DOCS = Path(__file__).parents[3] / "docs"
NAMES = study_names()
pytestmark = pytest.mark.xdist_group("validation")  # one process predicts the rows, once


@cache
def outcomes() -> tuple[Outcome, ...]:
    return tuple(outcome(load_study(name)) for name in NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_each_variant_has_rows_and_each_ablation_two_variants(name: str):
    study = load_study(name)
    variants = {variant.name for variant in study.variants}
    assert len(variants) == len(study.variants)
    assert all(list(study.rows_of(variant)) for variant in study.variants)
    assert all({a.before, a.after} <= variants for a in study.ablations)
    assert study.unknown and study.source["source"] and study.source["conditions"]
    assert study.relative or study.unit in ("us", "ms", "speed") or study.work


def test_the_page_and_its_picture_are_current():
    """`python bench/validate.py` writes both."""
    assert (DOCS / "validation.md").read_text() == page(outcomes(), "pictures/validation.svg")
    assert (DOCS / "pictures" / "validation.svg").read_text() == picture(outcomes())


def test_every_table_has_a_study():
    tables = {load_study(name).table for name in NAMES}
    folder = Path(__file__).parents[3] / "static" / "validation"
    assert {file.name for file in (folder / "tables").iterdir()} == tables
    assert {file.stem for file in (folder / "kernels").iterdir()} == {
        variant.kernel or study.kernel for study in map(load_study, NAMES) for variant in study.variants
    }


def test_a_table_has_a_study_or_a_reason():
    tables = {load_study(name).table for name in NAMES}
    assert not tables & not_predicted().keys()
    assert all(len(reason) > 20 for reason in not_predicted().values())


@pytest.mark.parametrize("name", device_names())
def test_each_figure_of_a_device_has_a_source_and_is_used(name: str):
    device = find_device(name)
    assert device is not None and machine_of(name) == device.machine
    assert name in {load_study(study).machine for study in NAMES}
    assert all(figure.source for figure in device.figures)
    assert len({figure.path for figure in device.figures}) == len(device.figures)


def test_a_device_that_saw_no_table_is_predicted():
    """No figure of the L20 comes from these rows, and no law was chosen with them known."""
    found = outcomes()[NAMES.index("l20_hgemm")].trial
    assert found.tau is not None and found.tau >= 0.9 and found.mean_error < 0.15
    assert all(score.has_sign for score in found.ablations if score.is_notable)


def test_a_rate_becomes_the_time_of_the_work():
    study = load_study("a100_gemm_steps")
    (row,) = study.rows_of(study.variants[-1])
    assert study.microseconds(row) == pytest.approx(2 * 4096**3 / 220.77e12 * 1e6)


def test_the_order_of_the_ascend_table_is_predicted():
    found = outcomes()[NAMES.index("ascend_fixed_core")]
    assert found.trial.tau == 1.0
    assert all(score.has_sign and score.has_size for score in found.trial.ablations if score.is_notable)


def test_relative_times_are_scaled_to_the_geometric_mean():
    ratios = [row.ratio for row in outcomes()[NAMES.index("ascend_stages")].trial.rows]
    product = 1.0
    for ratio in ratios:
        product *= ratio
    assert product == pytest.approx(1.0)


def test_an_ablation_pairs_rows_with_equal_keys():
    (score,) = paired("stages", {("1",): (10.0, 20.0), ("2",): (1.0, 1.0)}, {("1",): (5.0, 30.0), ("3",): (1.0, 1.0)})
    assert (score.key, score.measured, score.predicted) == (("1",), 0.5, 1.5)
    assert score.is_notable and not score.has_sign and not score.has_size


def test_totals_count_absolute_times_where_the_clock_is_known():
    found = totals(outcomes())
    assert found.absolute == sum(len(each.trial.rows) for each in outcomes() if each.study.clock)
    assert found.with_sign <= found.notable <= found.ablations


def test_the_command_prints_a_study_as_text_and_as_json(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["validate", "ascend_pto_gemm"]) == 0
    text = capsys.readouterr().out
    assert "Square GEMMs" in text and "not stated" in text and "mean error" in text
    assert cli.main(["validate", "ascend_pto_gemm", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert len(found["trial"]["rows"]) == 4
    assert cli.main(["validate", "--list"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(NAMES)


def test_the_command_writes_the_page(tmp_path: Path):
    assert cli.main(["validate", "ascend_pto_gemm", "--page", str(tmp_path / "page.md")]) == 0
    assert "ascend-pto-gemm" in (tmp_path / "page.md").read_text()
    assert (tmp_path / "pictures" / "validation.svg").read_text().startswith("<svg")


def test_an_unknown_study_names_the_known_ones():
    with pytest.raises(TilewrightError) as caught:
        load_study("nothing")
    assert caught.value.refusal.code == "no-such-study" and NAMES[0] in caught.value.refusal.expected


def test_tables_are_plain_figures():
    folder = Path(__file__).parents[3] / "static" / "validation" / "tables"
    for file in folder.iterdir():
        body = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        assert len({len(row) for row in csv.reader(body)}) == 1
