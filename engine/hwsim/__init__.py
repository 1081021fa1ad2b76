"""What a program costs on a machine, to the cycle: machines, tasks, replay, report."""

from .access.element_addresses import Bed, Listing, Share, Spots, Unit, Use, bed_of, share_of, through, uses_of
from .access.placement import Placement, row_name
from .caches.report import CacheCounts, CachedTask, CacheRow
from .caches.run import cache_counts
from .cost.estimate import Look, look_at
from .cost.lower_bound import Least, first_peaks, least_of
from .errors import MachineError
from .machine.machine_file import load_machine, preset_names, read_machine
from .machine.model import Machine
from .machine.parts import Bus, Cache, DmaEngine, Engine, MatrixEngine, Memory, SystolicEngine, VectorEngine
from .replay.occupancy import Occupancy, Steps, Tile, Tiles
from .replay.steady import MAX_TASKS, Repeat
from .replay.time_map import Density, Folding
from .replay.timeline import Timeline
from .report.metrics import operations_per_cycle
from .report.model import (
    Bound,
    EngineAccess,
    EngineReport,
    Finding,
    Kind,
    Lost,
    MemoryReport,
    Moved,
    Origin,
    Report,
    Roofline,
    Segment,
    Segments,
    TaskKind,
    Traffic,
    Wait,
)
from .sensitivity import Knob, Trial, ranked, sensitivity, trials, tried
from .simulate import simulate, simulate_tasks, tasks_of
from .tasks.engine_selection import copy_path
from .tasks.tree import TaskProgram, Template

__all__ = [
    "MAX_TASKS",
    "Bed",
    "Bound",
    "Bus",
    "Cache",
    "CacheCounts",
    "CacheRow",
    "CachedTask",
    "Density",
    "DmaEngine",
    "Engine",
    "EngineAccess",
    "EngineReport",
    "Finding",
    "Folding",
    "Kind",
    "Knob",
    "Least",
    "Listing",
    "Look",
    "Lost",
    "Machine",
    "MachineError",
    "MatrixEngine",
    "Memory",
    "MemoryReport",
    "Moved",
    "Occupancy",
    "Origin",
    "Placement",
    "Repeat",
    "Report",
    "Roofline",
    "Segment",
    "Segments",
    "Share",
    "Spots",
    "Steps",
    "SystolicEngine",
    "TaskKind",
    "TaskProgram",
    "Template",
    "Tile",
    "Tiles",
    "Timeline",
    "Traffic",
    "Trial",
    "Unit",
    "Use",
    "VectorEngine",
    "Wait",
    "bed_of",
    "cache_counts",
    "copy_path",
    "first_peaks",
    "least_of",
    "load_machine",
    "look_at",
    "operations_per_cycle",
    "preset_names",
    "ranked",
    "read_machine",
    "row_name",
    "sensitivity",
    "share_of",
    "simulate",
    "simulate_tasks",
    "tasks_of",
    "through",
    "trials",
    "tried",
    "uses_of",
]
