"""Simulation of a program's accesses through a machine's caches: misses at each level, and the stall cycles of each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ir import BlockRealize, PrimFunc
from ...lower import LowerError, Plan, lower_init_block, lower_match_buffer, pipelined, planned, same_threads
from ..errors import MachineError
from ..machine.model import Machine
from ..tasks.nest import Nest, read_nest
from .accesses import Accesses, Tally, accesses_of, counts_of
from .budget import CacheBudget
from .plain import count_plainly
from .report import CacheCounts, CachedTask
from .stream import volume_of
from .warping.chain import chain_of, count_by_warping

MAX_ACCESSES = 1 << 28
BATCH = 1 << 17
"""Accesses that are computed at once."""


def cache_counts(
    func: PrimFunc,
    machine: Machine,
    *,
    engine: str | Mapping[int, str] | None = None,
    bases: Mapping[str, int] | None = None,
    tasks: Sequence[CachedTask] = (),
    limit: int = MAX_ACCESSES,
    known_plan: Plan | None = None,
    batch: int = BATCH,
    skip: bool = True,
) -> CacheCounts:
    """Counts the accesses and misses of `func` in the caches of `machine`; they are empty at the start.

    `engine` runs the program, or for each leaf the one by number; by default the first that has a cache. Buffers begin at `bases` by name,
    the others follow one behind the other. Raises MachineError: "no-cache", "data-dependent" addresses, "opaque-access",
    "too-many-accesses" if more than `limit` accesses have to be simulated, or skipping takes the time of so many. All accesses are
    simulated without `skip`, if they are at most `batch`, which are computed at once, if engines of the program have caches of their own,
    and if skipping takes more than half of the time.
    """
    accesses = accesses_of(cached_nest(func, known_plan), machine, engine, bases or {}, tasks)
    return counts_of(accesses, _tally(accesses, limit, batch, skip))


def _tally(accesses: Accesses, limit: int, batch: int, skip: bool) -> Tally:
    chain, total = chain_of(accesses), sum(volume_of(n) for n in accesses.stream.nodes)
    reason = _one_by_one(accesses, chain)
    if skip and chain is not None and not reason and total > batch:
        try:
            return count_by_warping(accesses, chain, CacheBudget(total // 2 if total <= limit else limit))
        except MachineError as error:
            if error.code != "too-many-accesses" or total > limit:
                raise
    tally = count_plainly(accesses, CacheBudget(limit, reason), batch)
    tally.one_by_one = reason
    return tally


def _one_by_one(accesses: Accesses, chain: tuple[int, ...] | None) -> str:
    """Returns why every access has to be simulated; empty if it has not."""
    if accesses.inclusive:
        return f"inclusive cache {', '.join(accesses.inclusive)}"
    return "engines have caches of their own" if chain is None else ""


def cached_nest(func: PrimFunc, known_plan: Plan | None = None) -> Nest:
    """Returns the nest that hwsim prices, with the inits of reductions as stores; its leaves are the same, in the same order."""
    is_planned = not isinstance(func.body, BlockRealize)
    try:
        piped = pipelined(
            lower_match_buffer(
                lower_init_block(same_threads(func) if is_planned else (known_plan or planned(func)).func)
            )
        )
    except LowerError as error:
        raise MachineError(error.refusal) from error
    return read_nest(piped.func, set(piped.buffers.values()))
