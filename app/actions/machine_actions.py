"""Intents that change the machine, with their handlers: name another machine, set or reset a parameter."""

from __future__ import annotations

from msgspec.structs import replace

from ...engine.hwsim import load_machine, preset_names
from ...engine.ir import Refusal
from ..document import DEFAULT_MACHINE, DocumentError, evaluate
from ..document.editing.machine_parameters import with_machine, with_parameter, without_parameters
from ..document.machine import read_machine
from ..state.intents import ACTIONS, Message
from ..state.model import State
from .cell_actions import edited, open_notebook
from .machine_parameters import figure_value


class PickMachine(Message, frozen=True, tag="machine"):
    """Name another machine in the notebook."""

    name: str


class SetParameter(Message, frozen=True, tag="set_parameter"):
    """Set a parameter of the machine, by its path; the value is written into the machine cell. It may be a text such as "256 KiB"."""

    path: str
    value: int | float | bool | str


class ResetParameter(Message, frozen=True, tag="reset_parameter"):
    """Reset a parameter to the value of the machine file; without a path, all of them."""

    path: str | None = None


class MeasureHere(Message, frozen=True, tag="measure"):
    """Build the displayed program, and that before the schedule, with TVM, and run them on the server's computer."""

    is_quick = keeps_draft = True


@ACTIONS(PickMachine)
def _pick_machine(state: State, intent: PickMachine) -> State:
    notebook = open_notebook(state)
    if intent.name not in preset_names() and (notebook.machine is None or intent.name != notebook.machine.name):
        expected = ", ".join(preset_names())
        raise DocumentError(
            Refusal("unknown-machine", "there is no such machine", found=intent.name, expected=expected)
        )
    document = with_machine(notebook.document, intent.name)
    if document.text == notebook.document.text:
        return state
    return edited(state, evaluate(document, notebook))


@ACTIONS(SetParameter)
def _set_parameter(state: State, intent: SetParameter) -> State:
    notebook = open_notebook(state)
    machine = notebook.machine or load_machine(DEFAULT_MACHINE)
    field = intent.path.rpartition(".")[2]
    value = figure_value(field, intent.value) if isinstance(intent.value, str) else intent.value
    machine.replace(intent.path, value)  # raises an error for values that no machine file may have
    if machine.figure(intent.path) == value:
        return replace(state, notice=None)
    base = read_machine(without_parameters(notebook.document, machine, intent.path)) or machine
    if base.figure(intent.path) == value:
        return _reset_parameter(state, ResetParameter(intent.path))
    return edited(state, evaluate(with_parameter(notebook.document, machine, intent.path, value), notebook))


@ACTIONS(ResetParameter)
def _reset_parameter(state: State, intent: ResetParameter) -> State:
    notebook = open_notebook(state)
    machine = notebook.machine or load_machine(DEFAULT_MACHINE)
    if intent.path is not None:
        machine.figure(intent.path)  # raises an error for an unknown path
    return edited(state, evaluate(without_parameters(notebook.document, machine, intent.path), notebook))


@ACTIONS(MeasureHere)
def _measure_here(state: State, intent: MeasureHere) -> State:
    open_notebook(state)
    return replace(state, pane="machine", measured=None if state.moment is None else state.moment.schedule.func)


__all__ = ["MeasureHere", "PickMachine", "ResetParameter", "SetParameter"]
