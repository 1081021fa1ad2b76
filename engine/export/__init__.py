"""Code and text out of a schedule: `to_tvm_python` for TVM, `report_text` for people, `call_text` for the notebook's lines."""

from .calls import (
    call_text,
    index_map_text,
    loop_position,
    named_arguments,
    quoted,
    region_map_text,
    unique_name,
    value_text,
)
from .report_text import headline, report_text
from .tvm import to_tvm_python

__all__ = [
    "call_text",
    "headline",
    "index_map_text",
    "loop_position",
    "named_arguments",
    "quoted",
    "region_map_text",
    "report_text",
    "to_tvm_python",
    "unique_name",
    "value_text",
]
