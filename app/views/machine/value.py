"""The machine panel's value: every machine parameter with its unit, source, editable value and sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ....engine.hwsim import Machine, MachineError, Report, load_machine
from ....engine.hwsim.machine.model import engine_of_channel
from ....engine.hwsim.machine.parts import GROUPS, KINDS, Cache, Level, Link, Memory, Part, meanings
from ....engine.ir import TilewrightError
from ...actions.machine_parameters import CHOICES, meaning_of
from ...document import DEFAULT_MACHINE
from ...document.editing.machine_parameters import named_machine, overridden_paths, without_parameters
from ...document.machine import read_machine
from ...state.derived import Store, attempt
from ...state.entries import Derived
from ...state.model import State
from ..labels.values import Value
from .capacities import offers
from .measured import MeasuredTimes, measured_value
from .parameters import figure_text, steps
from .sensitivity import (
    MachineLimit,
    ParameterGain,
    SensitiveParameter,
    SensitivityProgress,
    gain_value,
    limit_value,
    sensitivities,
    tried_now,
)

_FILE = Derived[Machine]("machine file")


class SizeOffer(Value, frozen=True):
    """A size to set with one click; `chosen`: it is the present one."""

    text: str
    value: str
    hint: str
    chosen: bool
    possible: bool


class EditableParameter(Value, frozen=True, kw_only=True):
    """A parameter with its editable text and its source; `was` is its value in the machine file, `less` and `more`
    are the next values, None for those that the machine refuses."""

    path: str
    label: str
    meaning: str
    unit: str
    text: str
    source: str
    changed: bool
    was: str
    choices: tuple[str, ...]
    less: str | None
    more: str | None
    offers: list[SizeOffer]
    gain: ParameterGain | None = None


class PartPanel(Value, frozen=True, kw_only=True):
    """A part of the machine with its parameters; `used`: by the program. `note` says what limits the program at this part."""

    path: str
    name: str
    kind: str
    about: str
    figures: list[EditableParameter]
    used: bool = True
    note: str = ""


class MachinePanel(Value, frozen=True, kw_only=True):
    """The machine, how many parameters the notebook changes, what limits the program, and the parts."""

    name: str = ""
    description: str
    changed: int = 0
    limit: MachineLimit | None = None
    sensitivities: Sequence[SensitiveParameter] = ()
    parts: Sequence[PartPanel] = ()
    measured: MeasuredTimes = MeasuredTimes()


FIXED = frozenset(
    {
        "name",
        "description",
        "scopes",
        "block_scopes",
        "reads",
        "writes",
        "unit",
        "source",
        "memory",
        "engines",
        "activations",
        "atomics",
        "level",
        "within",
        "origin",
        "target",
        "attached",
        "register_memories",
        "shared_memories",
        *GROUPS,
    }
)
"""Fields for identity and connections of parts, which are no parameters."""


def machine_value(state: State, store: Store) -> MachinePanel:
    """The panel's value."""
    machine = store.machine(state)
    if isinstance(machine, TilewrightError) or state.notebook is None:
        message = machine.refusal.message if isinstance(machine, TilewrightError) else ""
        return MachinePanel(description=message)
    base = store.remember(_FILE(state.notebook.document, machine), lambda: _base(state, machine))
    report = store.known_report(state)
    found = tried_now(state, store)
    parts = store.once(_parts, machine, base)
    used = _used(machine, report)
    gains = _gains(found, report)
    return MachinePanel(
        name=machine.name,
        description=machine.description,
        changed=len(overridden_paths(state.notebook.document, machine)),
        limit=limit_value(found, report),
        sensitivities=sensitivities(found, report),
        measured=measured_value(state, store),
        parts=[
            replace(
                part,
                used=part.path in used or not part.path,
                note=_occupancy(part.path, report),
                figures=[replace(figure, gain=gains.get(figure.path)) for figure in part.figures],
            )
            for part in parts
        ],
    )


def _occupancy(path: str, report: Report | TilewrightError | None) -> str:
    """The blocks on a core, at the level of the cores."""
    chip = report.chip if isinstance(report, Report) else None
    if chip is None or chip.occupancy.share is None or path != f"levels.{chip.level}":
        return ""
    held = chip.occupancy
    limited = f"{held.blocks} blocks on each {chip.level}, limited by {' and '.join(held.limiters)}"
    return f"{limited}. {held.one_more}." if held.one_more else f"{limited}."


def _base(state: State, machine: Machine) -> Machine:
    """The machine of the machine file, without overrides; the displayed machine if that cannot be loaded or has other parts."""
    assert state.notebook is not None
    document = without_parameters(state.notebook.document)
    is_named = named_machine(document) is not None
    found = attempt("machine", lambda: read_machine(document) if is_named else load_machine(DEFAULT_MACHINE))
    return found if isinstance(found, Machine) and _names(found) == _names(machine) else machine


def _names(machine: Machine) -> list[tuple[str, str, type[Part]]]:
    return [(group, part.name, type(part)) for group in GROUPS for part in machine.parts(group)]


def _gains(found: SensitivityProgress | None, report: Report | TilewrightError | None) -> dict[str, ParameterGain]:
    if found is None or not isinstance(report, Report):
        return {}
    gains = {k.path: gain_value(k, report.cycles) for k in found.parameters}
    most = max((abs(gain.share) for gain in gains.values()), default=0.0) or 1.0
    return {path: replace(gain, width=abs(gain.share) / most) for path, gain in gains.items()}


def _used(machine: Machine, report: Report | TilewrightError | None) -> set[str]:
    """The paths of the parts that the program uses."""
    if not isinstance(report, Report):
        return {f"{group}.{part.name}" for group in GROUPS for part in machine.parts(group)}
    scopes = {row.scope for row in report.memory.values() if row.peak_bytes} | {a.scope for a in report.accesses}
    return {
        *(f"engines.{engine_of_channel(name)}" for name, engine in report.engines.items() if engine.tasks),
        *(f"memories.{m.name}" for m in machine.memories if m.scope in scopes or m.scope == "global"),
        *(f"caches.{c.name}" for c in machine.caches),
        *(f"buses.{b.name}" for b in machine.buses),
        *(f"levels.{level.name}" for level in machine.levels),
        *(f"links.{link.name}" for link in machine.links),
    }


def _parts(machine: Machine, base: Machine) -> list[PartPanel]:
    """The machine's global parameters, then levels, links, memories, caches, buses and engines."""
    clock = _figure(machine, base, meanings(Machine), "clock_hz")
    whole = PartPanel(path="", name=machine.name, kind="machine", about="", figures=[clock])
    groups = (
        ("levels", "level"),
        ("links", "link"),
        ("memories", "memory"),
        ("caches", "cache"),
        ("buses", "bus"),
        ("engines", ""),
    )
    return [
        whole,
        *(_part(machine, base, group, kind, part) for group, kind in groups for part in machine.parts(group)),
    ]


def _part(machine: Machine, base: Machine, group: str, kind: str, part: Part) -> PartPanel:
    path = f"{group}.{part.name}"
    fields, descriptions = [f for f in part.__struct_fields__ if f not in FIXED and f != "kind"], meanings(type(part))
    return PartPanel(
        path=path,
        name=part.name,
        kind=kind or f"{KINDS[type(part)]} engine",
        about=_about(part),
        figures=[_figure(machine, base, descriptions, f"{path}.{field}") for field in fields],
    )


def _about(part: Part) -> str:
    if isinstance(part, Memory):
        return f"scopes {', '.join((*part.scopes, *part.block_scopes))}"
    if isinstance(part, Cache):
        return f"cache of {part.memory} for {', '.join(part.engines)}"
    if isinstance(part, Link):
        return f"{part.shape} from {part.origin} to {part.target}"
    if isinstance(part, Level):
        return f"in each {part.within}" if part.within else "of the chip"
    if hasattr(part, "reads"):
        return f"reads {', '.join(part.reads)}; writes {', '.join(part.writes)}"  # pyright: ignore[reportAttributeAccessIssue]
    return ""


def _figure(machine: Machine, base: Machine, descriptions: Mapping[str, str], path: str) -> EditableParameter:
    field = path.rpartition(".")[2]
    value, before = machine.figure(path), base.figure(path)
    words = meaning_of(field)
    less, more = steps(field, value)
    choices = ("no", "yes") if isinstance(value, bool) else CHOICES.get(field, ())
    return EditableParameter(
        path=path,
        label=words.label,
        meaning=descriptions[field],
        unit=words.unit,
        text=figure_text(field, value),
        source=_source(base, path),
        changed=value != before,
        was=figure_text(field, before),
        choices=choices,
        less=_step(machine, path, less),
        more=_step(machine, path, more),
        offers=_offers(machine, base, path) if words.scale == "bytes" else [],
    )


def _step(machine: Machine, path: str, value: Any) -> str | None:
    """A value as text; None if the machine refuses it."""
    if value is None or not _accepts(machine, path, value):
        return None
    return figure_text(path.rpartition(".")[2], value)


def _accepts(machine: Machine, path: str, value: Any) -> bool:
    try:
        machine.replace(path, value)
    except MachineError:
        return False
    return True


def _offers(machine: Machine, base: Machine, path: str) -> list[SizeOffer]:
    field = path.rpartition(".")[2]
    return [
        SizeOffer(
            offer.text,
            figure_text(field, offer.size_bytes),
            offer.hint,
            machine.figure(path) == offer.size_bytes,
            _accepts(machine, path, offer.size_bytes),
        )
        for offer in offers(base.name, path, base.figure(path))
    ]


def _source(base: Machine, path: str) -> str:
    owner, _, field = path.rpartition(".")
    group, _, name = owner.partition(".")
    sources = base.source if not owner else next(p.source for p in base.parts(group) if p.name == name)
    return dict(sources).get(field, "default value; not set in the machine file")
