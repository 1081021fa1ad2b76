"""Facts about programs: where blocks and loops stand, who produces for whom, what a statement touches."""

from .index import ProgramIndex, fresh_name, unique_block_names
from .regions import accessed_regions, hull, realized

__all__ = ["ProgramIndex", "accessed_regions", "fresh_name", "hull", "realized", "unique_block_names"]
