"""Settings of a notebook or a model in its machine cell: dictionaries of constants, read as data and never run."""

from .data import NAME as DATA
from .data import is_data_line, program_with_data, read_data, with_data_line
from .lines import calls_text, fields_of
from .on_chip import NAME as ON_CHIP
from .on_chip import read_on_chip, with_on_chip
from .sizes import NAME as SIZES
from .sizes import is_sizes_line, read_sizes, sizes_for, with_sizes_line

__all__ = [
    "DATA",
    "ON_CHIP",
    "SIZES",
    "calls_text",
    "fields_of",
    "is_data_line",
    "is_sizes_line",
    "program_with_data",
    "read_data",
    "read_on_chip",
    "read_sizes",
    "sizes_for",
    "with_data_line",
    "with_on_chip",
    "with_sizes_line",
]
