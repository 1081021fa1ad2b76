"""What a program costs on a machine, to the cycle."""

from .errors import MachineError
from .machine import Machine
from .machine_file import load_machine, preset_names, read_machine

__all__ = ["Machine", "MachineError", "load_machine", "preset_names", "read_machine"]
