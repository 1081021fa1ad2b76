"""What a program costs on a machine, to the cycle: machines, tasks, replay, report."""

from .errors import MachineError
from .machine import Bus, Cache, Engine, Machine, Memory
from .machine_file import load_machine, preset_names, read_machine
from .occupancy import Occupancy, Steps, Tile, Tiles
from .report import (
    EngineAccess,
    EngineReport,
    Finding,
    MemoryReport,
    Report,
    Segment,
    Segments,
    TaskKind,
    Traffic,
    Wait,
)
from .simulate import simulate
from .steady import MAX_TASKS, Repeat
from .timeline import Timeline

__all__ = [
    "MAX_TASKS",
    "Bus",
    "Cache",
    "Engine",
    "EngineAccess",
    "EngineReport",
    "Finding",
    "Machine",
    "MachineError",
    "Memory",
    "MemoryReport",
    "Occupancy",
    "Repeat",
    "Report",
    "Segment",
    "Segments",
    "Steps",
    "TaskKind",
    "Tile",
    "Tiles",
    "Timeline",
    "Traffic",
    "Wait",
    "load_machine",
    "preset_names",
    "read_machine",
    "simulate",
]
