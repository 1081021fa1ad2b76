"""Program transformation: Schedule with TVM's calls, refusals as data, and the trace of calls."""

from .context import BlockRV, LoopRV
from .errors import ScheduleError
from .intrin import Intrinsics, TensorIntrin, process_intrinsics
from .primitives import PRIMITIVES, Primitive
from .primitives.motion.targets import Target
from .rules.affine import is_affine
from .schedule import Schedule, State
from .trace import Step, Trace

__all__ = [
    "PRIMITIVES",
    "BlockRV",
    "Intrinsics",
    "LoopRV",
    "Primitive",
    "Schedule",
    "ScheduleError",
    "State",
    "Step",
    "Target",
    "TensorIntrin",
    "Trace",
    "is_affine",
    "process_intrinsics",
]
