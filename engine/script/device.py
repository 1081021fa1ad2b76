"""Values of the device that a text asks for. They are given as values of parameters are, else asked for by their names here."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .reading.source import Source
from .subset.scope import Unknown, Value
from .subset.values import Attributes, unknown_error

NUM_SMS = "num_sms"
SM_VERSION = "sm_version"
_NAMES = {"get_num_sms": (NUM_SMS,), "get_device_capability": (SM_VERSION,), "get_device_name": (SM_VERSION,),
          "get_device_properties": (NUM_SMS, SM_VERSION)}  # fmt: skip


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
        found: list[int] = []
        for needed in _NAMES[name]:
            known = self.given.get(needed)
            if not isinstance(known, int):
                raise unknown_error(source, Unknown("it is a value of the device", needed), node)
            self.used.add(needed)
            found.append(known)
        match name:
            case "get_num_sms":
                return found[0]
            case "get_device_capability":
                return (found[0] // 10, found[0] % 10)
            case "get_device_name":
                return f"NVIDIA sm_{found[0]}"
            case _:
                parts = {"multi_processor_count": found[0], "major": found[1] // 10, "minor": found[1] % 10}
                return Attributes({**parts}, "the device")


__all__ = ["Device"]
