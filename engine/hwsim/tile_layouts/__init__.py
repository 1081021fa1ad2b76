"""What TileLang's compiler decides about a kernel on a GPU: the layouts of shared buffers, and the warps of products."""

from .products import Product, Unit, instruction, products_of, warp_partition
from .stored import StoredLayout, stored_layouts

__all__ = ["Product", "StoredLayout", "Unit", "instruction", "products_of", "stored_layouts", "warp_partition"]
