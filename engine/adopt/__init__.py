"""Importers of foreign code: TVM objects and traces (by their text; TVM itself is not needed), pasted snippets, whole posts, carriers of
programs, and schedule code line by line."""

from ..script import from_tvm
from ..script.subset.values import value_name
from .carriers import (
    CarrierError,
    Content,
    Piece,
    archive_text,
    has_records_only,
    is_carrier,
    packed,
    records_of,
    unwrapped,
)
from .functions.kept import kept_text
from .functions.needs import MissingValuesError, Need
from .functions.nested import has_nested
from .holes import Hole, HoleError, filled, hole_of, is_hole, with_values
from .kernels.edits import KernelError, TextEdit, with_edits
from .kernels.literals import KernelText, KernelValue, find_kernel_call, kernel_text
from .kernels.registers import require_registers
from .kernels.statements import KernelStatements, read_statements
from .lines import LineState, TriedCall, after_line, arguments_of
from .methods import QUERIES, LineError, call_of, make_call
from .pasted import Snippet, is_post, read_as_far_as_possible, read_pasted, with_trace
from .posts import PostPart, has_fences
from .slices import (
    PostProgram,
    Sliced,
    has_prose,
    line_in_the_way,
    programs_in,
    programs_of,
    read_nested_program,
    read_program,
    unread_lines,
)
from .trace import from_tvm_trace

__all__ = [
    "QUERIES",
    "CarrierError",
    "Content",
    "Hole",
    "HoleError",
    "KernelError",
    "KernelStatements",
    "KernelText",
    "KernelValue",
    "LineError",
    "LineState",
    "MissingValuesError",
    "Need",
    "Piece",
    "PostPart",
    "PostProgram",
    "Sliced",
    "Snippet",
    "TextEdit",
    "TriedCall",
    "after_line",
    "archive_text",
    "arguments_of",
    "call_of",
    "filled",
    "find_kernel_call",
    "from_tvm",
    "from_tvm_trace",
    "has_fences",
    "has_nested",
    "has_prose",
    "has_records_only",
    "hole_of",
    "is_carrier",
    "is_hole",
    "is_post",
    "kept_text",
    "kernel_text",
    "line_in_the_way",
    "make_call",
    "packed",
    "programs_in",
    "programs_of",
    "read_as_far_as_possible",
    "read_nested_program",
    "read_pasted",
    "read_program",
    "read_statements",
    "records_of",
    "require_registers",
    "unread_lines",
    "unwrapped",
    "value_name",
    "with_edits",
    "with_trace",
    "with_values",
]
