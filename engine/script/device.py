"""Values of the device that a text asks for. They are given as values of parameters are, else asked for by their names here."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .reading.source import Source
from .subset.scope import Unknown, Value
from .subset.values import Attributes, unknown_error

NUM_SMS = "num_sms"
SM_VERSION = "sm_version"
_NAMES = {"get_num_sms": NUM_SMS, "get_device_capability": SM_VERSION, "get_device_properties": NUM_SMS}


class Device:
    """What is `given` of the device, and which of it was used."""

    def __init__(self, given: Mapping[str, Value]) -> None:
        self.given = given
        self.used: set[str] = set()

    def value(self, source: Source, function: str, node: ast.AST) -> Value:
        """Return what a function of the runtime says of the device; None for other functions. A text is read for a machine that has one.
        Raises the error that asks for a value."""
        if function == "torch.cuda.is_available":
            return True
        if function == "torch.cuda.current_device":
            return 0
        root, _, name = function.rpartition(".")
        if name not in _NAMES or root.partition(".")[0] not in ("torch", "tilelang"):
            return None
        known = self.given.get(_NAMES[name])
        if not isinstance(known, int):
            raise unknown_error(source, Unknown("it is a value of the device", _NAMES[name]), node)
        self.used.add(_NAMES[name])
        if name == "get_device_capability":
            return (known // 10, known % 10)
        return known if name == "get_num_sms" else Attributes({"multi_processor_count": known}, "the device")


__all__ = ["Device"]
