"""Errors of hwsim: an invalid machine file, or a program that the machine cannot run."""

from __future__ import annotations

from ..ir import Node, Place, Refusal, TilewrightError


class MachineError(TilewrightError):
    """A machine file is wrong, or a machine cannot run a program. `refusal` names the parameter or the operand."""


def refuse(
    code: str,
    message: str,
    *nodes: Node,
    found: str = "",
    expected: str = "",
    fix: tuple[str, ...] = (),
    place: Place | None = None,
) -> MachineError:
    """The error to raise."""
    return MachineError(Refusal(code, message, found, expected, fix, nodes, place))
