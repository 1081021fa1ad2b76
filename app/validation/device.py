"""Devices of studies: a preset with the figures of another device, each with its source.

`static/validation/devices/NAME.toml` has them. A study may also name a preset itself.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources

import msgspec

from ... import static
from ...engine.hwsim import Machine, load_machine

FOLDER = "validation/devices"


class Figure(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine parameter of a device, with its source or "assumed: reason"."""

    path: str
    value: int | str | bool | dict[str, int]
    source: str


class Device(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The figures of a device that differ from those of the preset `base`."""

    base: str
    figures: tuple[Figure, ...]

    @property
    def machine(self) -> Machine:
        machine = load_machine(self.base)
        for figure in self.figures:
            machine = machine.replace(figure.path, figure.value)
        return machine


def device_names() -> tuple[str, ...]:
    folder = resources.files(static) / FOLDER
    return tuple(sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml")))


@cache
def find_device(name: str) -> Device | None:
    """Returns a device by name; None for a preset."""
    if name not in device_names():
        return None
    text = (resources.files(static) / FOLDER / f"{name}.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), Device)


def machine_of(name: str) -> Machine:
    """The machine of a device or a preset. Raises MachineError "unknown-machine"."""
    device = find_device(name)
    return device.machine if device else load_machine(name)


__all__ = ["Device", "Figure", "device_names", "find_device", "machine_of"]
