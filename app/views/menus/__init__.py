"""The menus of tree rows: schedule primitives with their form fields, and conversion of submitted forms to calls."""

from .arguments import call_arguments, handle_of, read_index_map
from .facts import SCOPES, Facts, scopes_of
from .table import BLOCK_ITEMS, LOOP_ITEMS, menu_of, row_menus

__all__ = [
    "BLOCK_ITEMS",
    "LOOP_ITEMS",
    "SCOPES",
    "Facts",
    "call_arguments",
    "handle_of",
    "menu_of",
    "read_index_map",
    "row_menus",
    "scopes_of",
]
