"""Attribution of a difference in cycles to the step that explains most of it.

Within one schedule, each step between the two states is simulated; the one with the largest part of the difference is named. For two
schedules, each step that only one of them has is left out alone and the rest is replayed; the one whose absence changes most is named.
If no step explains half of the difference, two may explain it together: copies into two slots overlap nothing if the data they wait
for is elsewhere. Then pairs are left out, those of one primitive first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from ....engine.hwsim import Machine, Report
from ....engine.hwsim.machine.parts import GROUPS
from ....engine.ir import TilewrightError
from ...actions.machine_parameters import meaning_of
from ...state.comparison import side_state
from ...state.derived import Store
from ...state.entries import Derived, Entry
from ...state.model import State
from ..labels.numbers import grouped
from ..labels.values import Trend, Value
from ..machine.parameters import spoken

MOST_STEPS = 60
"""The maximum number of steps that are removed one by one."""

MOST_PAIRS = 40
"""The maximum number of pairs of steps that are removed if no single step explains most."""

NAMED = 5

BETWEEN = "Each step between A and B was simulated"
LEFT_OUT = "Each step that only one side has was removed, and the later steps were replayed"


class StepEffect(msgspec.Struct, frozen=True):
    """The effect of one or two steps of side `side`: cycles without and with them, or before and after. `steps` are numbers and texts;
    `also` counts further steps that depend on them."""

    side: str
    steps: tuple[tuple[int, str], ...]
    before: int
    after: int
    also: int = 0

    @property
    def number(self) -> str:
        """`3`, or `3 + 5`."""
        return " + ".join(str(number) for number, _ in self.steps)

    @property
    def text(self) -> str:
        return " and ".join(text for _, text in self.steps)

    @property
    def change(self) -> int:
        return self.after - self.before


class Explained(msgspec.Struct, frozen=True):
    """The effects known after `done` of `total` trials; `more` steps are not tried. `pairs` are the effects of two steps."""

    effects: tuple[StepEffect, ...]
    done: int
    total: int
    more: int = 0
    pairs: tuple[StepEffect, ...] = ()


class ExplainedStep(Value, frozen=True):
    """The effect of a step, or of two: the `change` in cycles as text, its `size`, and the `part` of the difference, 0 if unknown."""

    side: str
    number: str
    text: str
    change: str
    trend: Trend
    part: float
    size: int


class Explanation(Value, frozen=True):
    """A sentence, how it was decided, the largest effects; `done` of `total` trials while the study runs."""

    text: str
    how: str
    effects: Sequence[ExplainedStep] = ()
    done: int = 0
    total: int = 0


def explanation_value(state: State, store: Store) -> Explanation:
    """The attribution of the difference between the two sides of the comparison, as far as it is known."""
    assert state.comparison is not None
    a, b = (side_state(state, side) for side in (state.comparison.a, state.comparison.b))
    known = between(a, b, store) if a.shown is b.shown else explained_now(a, b, store)
    machines = store.machine(a), store.machine(b)
    how = BETWEEN if a.shown is b.shown else LEFT_OUT
    how += "; the machines differ" if machines[0] is not machines[1] else ""
    first, second = (store.known_report(side) for side in (a, b))
    how += f"; {known.more} more steps were not tried" if known is not None and known.more else ""
    if known is None or not isinstance(first, Report) or not isinstance(second, Report):
        return Explanation("", how)
    if known.done < known.total:
        return Explanation(
            f"Searching for the {'steps' if known.pairs else 'step'} with the largest effect…",
            how,
            done=known.done,
            total=known.total,
        )
    difference = second.cycles - first.cycles
    if difference and not known.total and machines[0] is not machines[1]:
        return Explanation(f"The steps are equal; the machines differ: {_machine_differences(*machines)}", "")
    return _conclusion(known, difference, how, one_schedule=a.shown is b.shown, is_reversed=a.step_count > b.step_count)


def _conclusion(known: Explained, difference: int, how: str, *, one_schedule: bool, is_reversed: bool) -> Explanation:
    if not difference:
        return Explanation("Both have the same cycles", how if known.effects else "")
    sign = -1 if is_reversed else 1
    singles, pairs = _ranked(known.effects, difference, sign), _ranked(known.pairs, difference, sign)
    best = next(iter(singles), None)
    both = next(iter(pairs), None)
    together = (
        not explains_most(singles, difference, sign)
        and explains_most(pairs, difference, sign)
        and both is not None
        and (best is None or abs(both.change) > abs(best.change))
    )
    shown = sorted(known.effects, key=lambda e: -abs(e.change))[:NAMED]
    if together and both is not None:
        shown = [both, *shown[: NAMED - 1]]
        if not one_schedule:
            how += "; since no single step explains half of the difference, pairs of steps were removed"
    effects = [_effect(e, difference, sign if one_schedule else None) for e in shown]
    named = both if together else best
    if named is None:
        return Explanation("No single step explains the difference", how, effects)
    word = "explains most" if explains_most([named], difference, sign) else "has the largest effect"
    return Explanation(
        _sentence(named, "together explain most" if together else word, difference, sign, one_schedule), how, effects
    )


def _ranked(effects: Sequence[StepEffect], difference: int, sign: int) -> list[StepEffect]:
    """The effects with the sign of the difference, the largest first. A step that slows A explains a faster B as well."""
    way = {"": sign, "A": -1, "B": 1}
    return sorted((e for e in effects if way[e.side] * e.change * difference > 0), key=lambda e: -abs(e.change))


def explains_most(effects: Sequence[StepEffect], difference: int, sign: int) -> bool:
    """Whether one of them makes at least half of the difference."""
    return any(2 * abs(e.change) >= abs(difference) for e in _ranked(effects, difference, sign))


def _sentence(effect: StepEffect, explains: str, difference: int, sign: int, one_schedule: bool) -> str:
    part = 100 * sign * effect.change / difference
    share = f", {part:.0f} % of the difference" if one_schedule else ""
    many = len(effect.steps) > 1
    numbers = " and ".join(str(number) for number, _ in effect.steps)
    where = f"Step{'s' if many else ''} {numbers}{'' if one_schedule else f' of {effect.side}'}"
    pronoun = "them" if many else "it"
    later = "1 later step that depends" if effect.also == 1 else f"{effect.also} later steps that depend"
    also = f" (and {later} on {pronoun})" if effect.also else ""
    if one_schedule and many:
        cycles = f"{grouped(abs(effect.change))} cycles {'fewer' if effect.change < 0 else 'more'}"
    elif one_schedule:
        cycles = f"{grouped(effect.before)} → {grouped(effect.after)} cycles"
    else:
        cycles = f"{grouped(effect.before)} cycles without {pronoun}, {grouped(effect.after)} with {pronoun}"
    return f"{where}, {effect.text}, {explains}: {cycles}{share}{also}"


def _machine_differences(a: Machine | TilewrightError, b: Machine | TilewrightError) -> str:
    """The parameters that differ between two machines, or their names."""
    assert isinstance(a, Machine) and isinstance(b, Machine)
    if a.name != b.name:
        return f"{a.name} → {b.name}"
    paths = [
        "clock_hz",
        *(f"{group}.{p.name}.{f}" for group in GROUPS for p in a.parts(group) for f in p.__struct_fields__),
    ]
    changed = [path for path in paths if not path.endswith(".source") and a.figure(path) != b.figure(path)]
    return ", ".join(_parameter_change(path, a, b) for path in changed)


def _parameter_change(path: str, a: Machine, b: Machine) -> str:
    """`read bandwidth of ddr 26 B/cycle → 52 B/cycle`."""
    owner, _, field = path.rpartition(".")
    of = f" of {owner.rpartition('.')[2]}" if owner else ""
    return f"{meaning_of(field).label}{of} {spoken(field, a.figure(path))} → {spoken(field, b.figure(path))}"


def _effect(effect: StepEffect, difference: int, sign: int | None) -> ExplainedStep:
    change = effect.change
    trend: Trend = "better" if change < 0 else "worse" if change > 0 else "same"
    mark = "−" if change < 0 else "+" if change > 0 else "±"
    part = 0.0 if sign is None else sign * change / difference
    text = f"{mark}{grouped(abs(change))}"
    return ExplainedStep(effect.side, effect.number, effect.text, text, trend, part, abs(change))


# Two states of one schedule.


def between(a: State, b: State, store: Store) -> Explained | None:
    """The effects of the steps between two states of one notebook, once all their programs are simulated; else the progress."""
    if a.shown is None:
        return None
    first, last = sorted((a.step_count, b.step_count))
    reports = [store.known_report(a, m.schedule) for m in a.shown.states[first : last + 1]]
    if any(report is None for report in reports):
        return Explained((), sum(report is not None for report in reports), len(reports))
    numbers = a.shown.step_numbers
    effects: list[StepEffect] = []
    before = next((r for r in reports if isinstance(r, Report)), None)
    for step, report in zip(a.shown.steps[first:last], reports[1:], strict=True):
        if not isinstance(report, Report) or before is None:
            continue  # the machine cannot run it: the step that makes it run gets the whole effect
        if report.cycles != before.cycles:
            text = " ".join(step.text.split())
            effects.append(StepEffect("", ((numbers.get(step.index, 0), text),), before.cycles, report.cycles))
        before = report
    return Explained(tuple(effects), len(reports), len(reports), pairs=tuple(_summed(effects)))


def _summed(effects: Sequence[StepEffect]) -> Iterator[StepEffect]:
    """Two steps of one schedule together: what each changes adds up."""
    for one, other in combinations(effects, 2):
        yield StepEffect("", (*one.steps, *other.steps), one.before, one.before + one.change + other.change)


# Two schedules.


_EXPLAINED = Derived[Explained]("explanation")


def explained_now(a: State, b: State, store: Store) -> Explained | None:
    """The results of the study so far; None without any."""
    return None if a.moment is None or b.moment is None else store.known(explained_entry(a, b, store))


def explained_entry(a: State, b: State, store: Store) -> Entry[Explained]:
    """The entry of the study of two schedules."""
    return _EXPLAINED(a.moment, b.moment, store.machine(a), store.machine(b))
