"""Program transformation: Schedule with TVM's calls, refusals as data, and the trace of calls."""

from .context import BlockRV, LoopRV
from .errors import ScheduleError
from .gathered import gathered_places, single_values
from .intrin import Intrinsics, TensorIntrin, process_intrinsics
from .primitives import PRIMITIVES, Primitive
from .primitives.motion.targets import Target
from .rules.affine import is_affine
from .schedule import Schedule, ScheduleState
from .trace import Trace
from .value_text import (
    BLOCK_PARAMETERS,
    Handle,
    assignment,
    call_text,
    index_map_text,
    is_same,
    quoted,
    region_map_text,
    traced_line,
    unique_name,
    value_text,
)

__all__ = [
    "BLOCK_PARAMETERS",
    "PRIMITIVES",
    "BlockRV",
    "Handle",
    "Intrinsics",
    "LoopRV",
    "Primitive",
    "Schedule",
    "ScheduleError",
    "ScheduleState",
    "Target",
    "TensorIntrin",
    "Trace",
    "assignment",
    "call_text",
    "gathered_places",
    "index_map_text",
    "is_affine",
    "is_same",
    "process_intrinsics",
    "quoted",
    "region_map_text",
    "single_values",
    "traced_line",
    "unique_name",
    "value_text",
]
