"""Export of schedules as code and text.

`to_tvm_python` for TVM, `to_c` for C compilers, `report_text` for people, `call_text` for the notebook's lines.
"""

from ..schedule import assignment, index_map_text, quoted, region_map_text, unique_name, value_text
from .c import CFunction, c_function, c_functions, to_c
from .calls import SEPARATOR, call_text, loop_position, named_arguments, signature_of, step_text, trace_line
from .chrome_trace import chrome_trace
from .losses import COSTLY, Loss, LossKind, program_without, tvm_losses, with_pipelines
from .origins import attributed, attributed_to, step_of, steps_of
from .report_text import headline, parameters_text, report_text
from .tvm import to_tvm_python

__all__ = [
    "COSTLY",
    "SEPARATOR",
    "CFunction",
    "Loss",
    "LossKind",
    "assignment",
    "attributed",
    "attributed_to",
    "c_function",
    "c_functions",
    "call_text",
    "chrome_trace",
    "headline",
    "index_map_text",
    "loop_position",
    "named_arguments",
    "parameters_text",
    "program_without",
    "quoted",
    "region_map_text",
    "report_text",
    "signature_of",
    "step_of",
    "step_text",
    "steps_of",
    "to_c",
    "to_tvm_python",
    "trace_line",
    "tvm_losses",
    "unique_name",
    "value_text",
    "with_pipelines",
]
