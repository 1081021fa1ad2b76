"""How a program may change: Schedule with TVM's calls, refusals as data, the trace of what was done."""

from .context import BlockRV, LoopRV
from .errors import ScheduleError
from .primitives import PRIMITIVES, Primitive
from .primitives.compute_at import Target
from .schedule import Schedule, State
from .trace import Step, Trace

__all__ = [
    "PRIMITIVES",
    "BlockRV",
    "LoopRV",
    "Primitive",
    "Schedule",
    "ScheduleError",
    "State",
    "Step",
    "Target",
    "Trace",
]
