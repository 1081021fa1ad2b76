"""What TileLang's compiler decides about a kernel on a GPU: the layouts of shared buffers, and the warps of products."""

from .merged import MergedShared, merged_shared
from .producers import producer_threads, unfit_copies
from .products import (
    MOST_REGISTERS,
    Product,
    Unit,
    instruction,
    matrix_unit,
    products_of,
    threads_of_kernel,
    warp_partition,
)
from .stored import StoredLayout, layouts_given, stored_layouts

__all__ = [
    "MOST_REGISTERS",
    "MergedShared",
    "Product",
    "StoredLayout",
    "Unit",
    "instruction",
    "layouts_given",
    "matrix_unit",
    "merged_shared",
    "producer_threads",
    "products_of",
    "stored_layouts",
    "threads_of_kernel",
    "unfit_copies",
    "warp_partition",
]
