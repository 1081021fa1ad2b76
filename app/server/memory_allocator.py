"""Control of the memory allocators: they keep freed memory in the process unless it is returned to the operating system.

Python allocates small objects in arenas of 1 MiB, and an arena is returned only when it is empty, so that one surviving string of a closed
page keeps a megabyte. The survivors are mostly entries of caches: CPython's cache of attribute look-ups holds up to 4096 names, those of
`functools.lru_cache` their last results. Larger blocks come from the C library. glibc returns free pages in the middle of its heap only
on request (`malloc_trim`), and gives each thread a separate heap, although one Python thread runs at a time.

On a system without glibc these functions do nothing.
"""

from __future__ import annotations

import ctypes
import gc
import re
import sys
from functools import _lru_cache_wrapper, cache  # pyright: ignore[reportPrivateUsage]

M_ARENA_MAX = -8
"""The parameter of glibc's `mallopt` for the number of heaps (malloc.h)."""

CACHING = ("tilewright.", "fnmatch", "pathlib")
"""Prefixes of the modules whose bounded caches hold results for pages."""


def use_one_heap() -> bool:
    """Make all threads that start later share one heap of the C library. Returns whether the library supports this."""
    library = _c_library()
    return library is not None and hasattr(library, "mallopt") and library.mallopt(M_ARENA_MAX, 1) == 1


def clear_caches() -> None:
    """Clear the caches that refill automatically: those of attribute lookups, and the bounded ones of `CACHING` modules."""
    clear = getattr(sys, "_clear_internal_caches", None) or getattr(sys, "_clear_type_cache", None)
    if clear is not None:
        clear()
    for found in gc.get_objects():
        if isinstance(found, _lru_cache_wrapper) and found.__module__.startswith(CACHING):
            info = found.cache_info()
            if info.maxsize is not None and info.currsize:
                found.cache_clear()
    re.purge()


def return_free_memory() -> bool:
    """Return the free pages of the C library's heap to the operating system: 10 to 80 ms after 50 pages. Returns whether it does so."""
    library = _c_library()
    if library is None or not hasattr(library, "malloc_trim"):
        return False
    library.malloc_trim(0)
    return True


@cache
def _c_library() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):  # TypeError: Windows
        return None


__all__ = ["clear_caches", "return_free_memory", "use_one_heap"]
