"""Settings of a notebook or a model in its machine cell: dictionaries of constants, read as data and never run."""

from .lines import calls_text
from .on_chip import NAME as ON_CHIP
from .on_chip import read_on_chip, with_on_chip
from .sizes import NAME as SIZES
from .sizes import is_sizes_line, read_sizes, sizes_for, with_sizes_line

__all__ = [
    "ON_CHIP",
    "SIZES",
    "calls_text",
    "is_sizes_line",
    "read_on_chip",
    "read_sizes",
    "sizes_for",
    "with_on_chip",
    "with_sizes_line",
]
