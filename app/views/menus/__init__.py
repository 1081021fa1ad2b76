"""The menus of tree rows: schedule primitives with their form fields."""

from .entry import Entry, Menu
from .facts import SCOPES, Facts, scopes_of
from .revisions import revision_entries, revisions_of
from .table import BLOCK_ITEMS, LOOP_ITEMS, menu_of, row_menus

__all__ = [
    "BLOCK_ITEMS",
    "LOOP_ITEMS",
    "SCOPES",
    "Entry",
    "Facts",
    "Menu",
    "menu_of",
    "revision_entries",
    "revisions_of",
    "row_menus",
    "scopes_of",
]
