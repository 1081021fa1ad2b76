"""What TileLang's compiler decides about a kernel on a GPU: the layouts of shared buffers, and the warps of products."""

from .products import MOST_REGISTERS, Product, Unit, instruction, matrix_unit, products_of, warp_partition
from .stored import StoredLayout, layouts_given, stored_layouts

__all__ = [
    "MOST_REGISTERS",
    "Product",
    "StoredLayout",
    "Unit",
    "instruction",
    "layouts_given",
    "matrix_unit",
    "products_of",
    "stored_layouts",
    "warp_partition",
]
