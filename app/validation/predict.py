"""The predictions of a study: each row's program, simulated on the study's machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import geometric_mean

import msgspec
from msgspec.structs import replace

from ...engine.hwsim import Machine, simulate
from ...engine.ir import PrimFunc
from ...engine.measure import kendall_tau
from ..document import evaluate, read_document
from .device import machine_of
from .score import AblationScore, paired
from .study import Experiment, Figures, Study, columns_of, filled

Programs = dict[tuple[str, str, tuple[str, ...]], PrimFunc]
"""Programs by kernel, call and schedule calls."""

CALL = "\nmain = "
"""The line of a kernel's notebook that calls it with the values of a row."""


class PredictedRow(msgspec.Struct, frozen=True):
    """A row of a table: the measured time, the predicted one, and whether the simulator calls its cycles exact. `key` has the values of the
    columns that the program depends on."""

    variant: str
    key: tuple[str, ...]
    label: str
    measured_us: float
    predicted_us: float
    cycles: int
    is_exact: bool

    @property
    def ratio(self) -> float:
        return self.predicted_us / self.measured_us


class Trial(msgspec.Struct, frozen=True):
    """All rows of a study predicted under one set of machine parameters. `tau` is Kendall's, of three rows or more."""

    name: str
    rows: tuple[PredictedRow, ...]
    ablations: tuple[AblationScore, ...]
    tau: float | None

    @property
    def mean_error(self) -> float:
        """The mean of |predicted / measured - 1|."""
        return sum(abs(row.ratio - 1) for row in self.rows) / len(self.rows)

    @property
    def largest(self) -> PredictedRow:
        """The row with the largest ratio in either direction."""
        return max(self.rows, key=lambda row: max(row.ratio, 1 / row.ratio))


class Outcome(msgspec.Struct, frozen=True):
    """A study with its predictions, and its experiments."""

    study: Study
    trial: Trial
    experiments: tuple[Trial, ...]


def outcome(study: Study) -> Outcome:
    """Predict the rows of a study, and again for each of its experiments."""
    programs: Programs = {}
    plain = _trial(study, Experiment("as predicted"), programs)
    return Outcome(study, plain, tuple(_trial(study, each, programs) for each in study.experiments))


def _trial(study: Study, experiment: Experiment, programs: Programs) -> Trial:
    rows = tuple(_rows(study, experiment, programs))
    if study.relative or study.unit == "speed":
        scale = geometric_mean(row.ratio for row in rows)
        rows = tuple(replace(row, predicted_us=row.predicted_us / scale) for row in rows)
    tau = kendall_tau([r.predicted_us for r in rows], [r.measured_us for r in rows]) if len(rows) > 2 else None
    by_variant: dict[str, dict[tuple[str, ...], tuple[float, float]]] = {}
    for row in rows:
        by_variant.setdefault(row.variant, {})[row.key] = row.measured_us, row.predicted_us
    ablations = tuple(
        score
        for each in study.ablations
        for score in paired(each.name, by_variant.get(each.before, {}), by_variant.get(each.after, {}))
    )
    return Trial(experiment.name, rows, ablations, tau)


def _rows(study: Study, experiment: Experiment, programs: Programs) -> Iterator[PredictedRow]:
    for variant in study.variants:
        lines = (*variant.lines, *experiment.lines)
        machine = _machine(study.machine, study.figures, variant.figures, experiment.figures)
        for row in study.rows_of(variant):
            call = filled(variant.call, row)
            named = variant.kernel or study.kernel, call, lines
            if named not in programs:
                programs[named] = _program(study.kernel_text(variant), call, lines)
            report = simulate(programs[named], machine)
            key = tuple(row[column] for column in columns_of(variant.call))
            yield PredictedRow(
                variant.name,
                key,
                " ".join((variant.label or variant.name, *key)),
                study.microseconds(row),
                report.cycles / machine.clock_hz * 1e6 + experiment.launch_us,
                report.cycles,
                report.unknown is None,
            )


def _machine(name: str, *changes: Figures) -> Machine:
    machine = machine_of(name)
    for figures in changes:
        for path, value in figures.items():
            machine = machine.replace(path, value)
    return machine


def _program(text: str, call: str, lines: Sequence[str]) -> PrimFunc:
    """The kernel's program for a call, after the schedule of its notebook and `lines`."""
    head, _, tail = text.partition(CALL)
    rest = tail.partition("\n")[2]
    notebook = evaluate(read_document("\n".join((f"{head}{CALL}{call}", rest.rstrip(), *lines, ""))))
    if notebook.error is not None:
        raise notebook.error
    assert notebook.schedule is not None
    return notebook.schedule.described


class Totals(msgspec.Struct, frozen=True):
    """Sums over studies. `with_sign` is of the notable ablations, `with_size` of all."""

    rows: int
    ablations: int
    notable: int
    with_sign: int
    with_size: int
    absolute: int
    mean_error: float
    largest: float


def totals(outcomes: Iterable[Outcome]) -> Totals:
    """The totals of outcomes; absolute times count where the clock is known."""
    found = list(outcomes)
    scores = [score for each in found for score in each.trial.ablations]
    notable = [score for score in scores if score.is_notable]
    ratios = [row.ratio for each in found if each.study.clock for row in each.trial.rows]
    return Totals(
        sum(len(each.trial.rows) for each in found),
        len(scores),
        len(notable),
        sum(score.has_sign for score in notable),
        sum(score.has_size for score in scores),
        len(ratios),
        sum(abs(ratio - 1) for ratio in ratios) / max(1, len(ratios)),
        max((max(ratio, 1 / ratio) for ratio in ratios), default=1.0),
    )


__all__ = ["Outcome", "PredictedRow", "Totals", "Trial", "outcome", "totals"]
