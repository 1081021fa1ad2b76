"""TVMScript and schedule code as text: parser (current and classic dialect) and printer. Text is read as data and never run."""

from .calls import CallStep, CallValue, Ref, is_value, read_calls
from .errors import ParseError
from .foreign import from_tvm
from .notes import Note, passed_notes
from .printing.expressions import expr_text
from .printing.programs import Printed, print_program, to_script
from .reading.modules import Parsed, parse
from .reading.source import MAX_CARRIER_BYTES, MAX_CHARACTERS, MAX_DEPTH, Positions, is_text
from .syntax import find_tree, python_tree

__all__ = [
    "MAX_CARRIER_BYTES",
    "MAX_CHARACTERS",
    "MAX_DEPTH",
    "CallStep",
    "CallValue",
    "Note",
    "ParseError",
    "Parsed",
    "Positions",
    "Printed",
    "Ref",
    "expr_text",
    "find_tree",
    "from_tvm",
    "is_text",
    "is_value",
    "parse",
    "passed_notes",
    "print_program",
    "python_tree",
    "read_calls",
    "to_script",
]
