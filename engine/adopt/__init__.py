"""What TVM made, taken over: its modules as programs, its traces as schedules. TVM itself is not needed, only the object's text."""

from .pasted import Pasted, is_post, read_as_far_as_possible, read_pasted
from .program import from_tvm
from .trace import from_tvm_trace

__all__ = ["Pasted", "from_tvm", "from_tvm_trace", "is_post", "read_as_far_as_possible", "read_pasted"]
