"""What a cache that cores share holds, and what tasks move behind it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import msgspec

from ...access.ports import PortSpec, memory_port
from ...machine.parts import Cache, Memory
from ...replay.cores.dispatch import BlockOrder


class TaskMisses(msgspec.Struct, frozen=True):
    """What tasks of a template move behind the cache: the part of the bytes read that miss, and the part of their accesses that wait for a
    line on its way. Written lines leave the cache at any time: with each byte that they read or write, tasks move `returned` bytes back.
    """

    read: Fraction = Fraction(0)
    returned: Fraction = Fraction(0)
    delayed: Fraction = Fraction(0)


class SharedCacheRow(msgspec.Struct, frozen=True):
    """The accesses of a block to a buffer through the cache, in bytes: of reads those that hit and that miss; of writes those that are
    written back.
    """

    block: str
    buffer: str
    written: bool
    bytes: int
    behind_bytes: int


class CacheContents(msgspec.Struct, frozen=True):
    """What a shared cache does for blocks in an `order`. `refused` says why its contents are not known; then everything counts as a hit."""

    order: BlockOrder
    rows: tuple[SharedCacheRow, ...] = ()
    misses: Mapping[int, TaskMisses] = {}
    refused: str = ""
    reasons: tuple[str, ...] = ()

    @property
    def read_bytes(self) -> int:
        return sum(row.bytes for row in self.rows if not row.written)

    @property
    def missed_bytes(self) -> int:
        """The bytes that are read from the memory behind."""
        return sum(row.behind_bytes for row in self.rows if not row.written)

    @property
    def returned_bytes(self) -> int:
        """The bytes that are written back."""
        return sum(row.behind_bytes for row in self.rows if row.written)

    @property
    def behind_bytes(self) -> int:
        """All bytes that move behind the cache."""
        return self.missed_bytes + self.returned_bytes

    @property
    def hit_rate(self) -> float:
        """The part of the bytes read that hit."""
        return 1 - self.missed_bytes / self.read_bytes if self.read_bytes else 1.0


class Behind(msgspec.Struct, frozen=True):
    """The memory behind a shared cache: tasks move parts of their bytes through its ports, spread evenly over the tasks of a template."""

    cache: Cache
    memory: Memory
    read_port: PortSpec
    write_port: PortSpec
    contents: CacheContents

    @property
    def misses(self) -> Mapping[int, TaskMisses]:
        return self.contents.misses

    @property
    def ports(self) -> tuple[PortSpec, ...]:
        """The ports for reads and writes, or the one for both."""
        return tuple(dict.fromkeys((self.read_port, self.write_port)))


def behind(cache: Cache, memory: Memory, contents: CacheContents) -> Behind:
    """Returns the memory behind a cache."""

    def port(*, written: bool) -> PortSpec:
        found = memory_port(memory, written=written)
        name = f"{found.name.replace(memory.scope, memory.name)} behind {cache.name}"
        return msgspec.structs.replace(found, name=name)

    return Behind(cache, memory, port(written=False), port(written=True), contents)


__all__ = ["Behind", "CacheContents", "SharedCacheRow", "TaskMisses", "behind"]
