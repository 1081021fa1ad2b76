"""What a program costs on a machine, to the cycle: machines, tasks, replay, report."""

from .cache_report import CacheCounts, CachedTask, CacheRow
from .cache_run import cache_counts
from .choose import copy_path
from .errors import MachineError
from .figures import operations_per_cycle
from .folding import Density, Folding
from .least import Least, first_peaks, least_of
from .look import Look, look_at
from .machine import Machine
from .machine_file import load_machine, preset_names, read_machine
from .occupancy import Occupancy, Steps, Tile, Tiles
from .parts import Bus, Cache, DmaEngine, Engine, MatrixEngine, Memory, SystolicEngine, VectorEngine
from .place import Placement, row_name
from .report import (
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
from .spots import Bed, Listing, Share, Spots, Unit, Use, bed_of, share_of, through, uses_of
from .steady import MAX_TASKS, Repeat
from .tasks import TaskProgram, Template
from .timeline import Timeline

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
