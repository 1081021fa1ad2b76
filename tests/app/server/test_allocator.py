"""Freed memory returns to the system where the C library allows it; caches do not hold it."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import sys
from pathlib import Path

import pytest

from tilewright.app.server import memory_allocator as allocator
from tilewright.app.server.memory_allocator import clear_caches, return_free_memory, use_one_heap

IS_GLIBC = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "gnu_get_libc_version")

needs_glibc = pytest.mark.skipif(not IS_GLIBC, reason="the C library is not glibc")


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@needs_glibc
def test_free_pages_return_to_the_system() -> None:
    library = ctypes.CDLL(None)
    library.malloc.restype, library.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
    blocks = [library.malloc(16_000) for _ in range(4_000)]
    for block in blocks:
        ctypes.memset(block, 1, 16_000)
    for block in blocks[:-1]:
        library.free(block)
    before = resident_bytes()
    assert return_free_memory()
    assert before - resident_bytes() > 40_000_000
    library.free(blocks[-1])


HEAPS = """
import ctypes, sys, threading
from tilewright.app.server.memory_allocator import use_one_heap
library = ctypes.CDLL(None)
assert sys.argv[1] == "many" or use_one_heap()
barrier = threading.Barrier(8)
def work():
    library.malloc(1000)
    barrier.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
library.fopen.restype = ctypes.c_void_p
library.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
library.malloc_info(0, library.fopen(b"/dev/stdout", b"w"))
library.fflush(None)
"""


@needs_glibc
@pytest.mark.parametrize(("heaps", "is_one"), [("one", True), ("many", False)])
def test_threads_share_one_heap(heaps: str, is_one: bool) -> None:
    ran = subprocess.run([sys.executable, "-c", HEAPS, heaps], capture_output=True, text=True, check=True)
    assert (ran.stdout.count("<heap nr=") == 1) is is_one


def test_the_cleared_lookup_cache_holds_no_names() -> None:
    name = "".join(["a_name_", "made_here"])
    alone = sys.getrefcount(name)
    assert not hasattr(sys, name)
    clear_caches()
    assert sys.getrefcount(name) == alone


def test_only_our_bounded_caches_are_cleared() -> None:
    def cached(module: str, most: int | None) -> functools._lru_cache_wrapper[int]:
        def double(number: int) -> int:
            return 2 * number

        double.__module__ = module
        found = functools.lru_cache(most)(double)
        found(1)
        return found

    ours, unbounded, others = cached("tilewright.engine.x", 8), cached("tilewright.engine.x", None), cached("numpy", 8)
    clear_caches()
    assert [cache.cache_info().currsize for cache in (ours, unbounded, others)] == [0, 1, 1]


def test_other_systems_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator, "_c_library", lambda: None)
    assert not use_one_heap() and not return_free_memory()
    monkeypatch.setattr(allocator, "_c_library", object)  # musl has neither function
    assert not use_one_heap() and not return_free_memory()
