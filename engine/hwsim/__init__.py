"""Cycle-level simulator of programs on a machine: machines, tasks, replay, report."""

from .access.element_addresses import (
    AccessDistribution,
    BufferAccess,
    BufferPlacement,
    ElementAddresses,
    Listing,
    Unit,
    accesses_of,
    distribution_of,
    placement_of,
    through,
)
from .access.placement import Placement, row_name
from .caches.report import CacheCounts, CachedTask, CacheRow
from .caches.run import cache_counts
from .caches.shared.results import SharedCacheRow
from .caches.tasks import MAX_ACCESSES
from .cost.estimate import CostEstimate, estimate_cost
from .cost.interface import ProgramCost, Promise, TaskCost
from .cost.lower_bound import LowerBound, lower_bound_of
from .cost.unpiped_bound import PipelinesBound, UnpipedBound
from .errors import MachineError
from .machine.machine_file import load_machine, preset_names, read_machine
from .machine.model import Machine
from .machine.parts import (
    Bus,
    Cache,
    DmaEngine,
    Engine,
    Level,
    Link,
    MatrixEngine,
    Memory,
    ScalarEngine,
    SystolicEngine,
    VectorEngine,
)
from .replay.occupancy import CellLife, Occupancy, Steps, Tiles
from .replay.repeats import Repeat
from .replay.steady import MAX_TASKS
from .replay.time_map import Density, TimeMap
from .replay.timeline import ReplayTimeline
from .report.causes import DecisiveCause, decisive_causes, saved_by_slots
from .report.chip import ChipReport
from .report.critical_path import CriticalPath, PathPart
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
from .report.shared_cache import CacheOrder, SharedCacheReport
from .sensitivity import Improvement, MachineParameter, ranked, sensitivity, trials, tried
from .simulate import simulate, simulate_tasks, tasks_of
from .tasks.engine_selection import copy_path
from .tasks.nest import EXAMPLE_TRIPS
from .tasks.product import diagonal_tiles, passes_of, tile_cycles
from .tasks.tree import TaskProgram, Template
from .tasks.work import filled_load, operation_name, padded_load

__all__ = [
    "EXAMPLE_TRIPS",
    "MAX_ACCESSES",
    "MAX_TASKS",
    "AccessDistribution",
    "Bound",
    "BufferAccess",
    "BufferPlacement",
    "Bus",
    "Cache",
    "CacheCounts",
    "CacheOrder",
    "CacheRow",
    "CachedTask",
    "CellLife",
    "ChipReport",
    "CostEstimate",
    "CriticalPath",
    "DecisiveCause",
    "Density",
    "DmaEngine",
    "ElementAddresses",
    "Engine",
    "EngineAccess",
    "EngineReport",
    "Finding",
    "Improvement",
    "Kind",
    "Level",
    "Link",
    "Listing",
    "Lost",
    "LowerBound",
    "Machine",
    "MachineError",
    "MachineParameter",
    "MatrixEngine",
    "Memory",
    "MemoryReport",
    "Moved",
    "Occupancy",
    "Origin",
    "PathPart",
    "PipelinesBound",
    "Placement",
    "ProgramCost",
    "Promise",
    "Repeat",
    "ReplayTimeline",
    "Report",
    "Roofline",
    "ScalarEngine",
    "Segment",
    "Segments",
    "SharedCacheReport",
    "SharedCacheRow",
    "Steps",
    "SystolicEngine",
    "TaskCost",
    "TaskKind",
    "TaskProgram",
    "Template",
    "Tiles",
    "TimeMap",
    "Traffic",
    "Unit",
    "UnpipedBound",
    "VectorEngine",
    "Wait",
    "accesses_of",
    "cache_counts",
    "copy_path",
    "decisive_causes",
    "diagonal_tiles",
    "distribution_of",
    "estimate_cost",
    "filled_load",
    "load_machine",
    "lower_bound_of",
    "operation_name",
    "operations_per_cycle",
    "padded_load",
    "passes_of",
    "placement_of",
    "preset_names",
    "ranked",
    "read_machine",
    "row_name",
    "saved_by_slots",
    "sensitivity",
    "simulate",
    "simulate_tasks",
    "tasks_of",
    "through",
    "tile_cycles",
    "trials",
    "tried",
]
