"""Random decisions of a schedule, and their replay: TVM's `sample_*` methods.

Source: TVM src/s_tir/schedule/primitive/sampling.cc, and CollectComputeLocation in analysis.cc.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import prod

from ..ir import For, Var, build, uses_var
from .context import BlockRV, Context, LoopRV
from .errors import refuse
from .random_tiles import LARGEST, RandomState, drawn_tile, fitted_tile, partitioned_tile

ROOT: LoopRV = Var("compute_root", "handle")
INLINED: LoopRV = Var("compute_inline", "handle")
"""Locations that are not loops: the block stays where it is, or is inlined."""

_MARKS = {-1: ROOT, -2: INLINED}
"""The decisions that are not positions of loops."""


class Sampling(ABC):
    """The random decisions of a schedule. Each is traced with its outcome, so that a replay repeats it."""

    _random: RandomState

    @property
    @abstractmethod
    def _ctx(self) -> Context: ...

    @abstractmethod
    def _record(
        self, name: str, arguments: dict[str, object], results: tuple[Var | str, ...]
    ) -> tuple[Var | str, ...]: ...

    @abstractmethod
    def _accepts(self, method: str, arguments: dict[str, object]) -> bool:
        """Whether a call would be accepted."""

    def seed(self, seed: int) -> None:
        """Set the seed of the random decisions; -1 is a random one. Not traced, as in TVM."""
        self._random = RandomState(seed)

    def fork_seed(self) -> int:
        """A seed for another schedule. Not traced, as in TVM."""
        return self._random.fork()

    def sample_categorical(self, candidates: list[int], probs: list[float], decision: int | None = None) -> int:
        """One of the candidates, drawn with its probability. `decision` is the position of a decided one. Refuses "bad-decision"."""
        if not candidates or len(candidates) != len(probs) or min(probs) < 0 or sum(probs) <= 0:
            expected = "candidates=[1, 2], probs=[0.5, 0.5]"
            raise refuse("bad-decision", "the candidates and their probabilities do not match", expected=expected)
        position = self._random.choice(probs) if decision is None else decision
        if not 0 <= position < len(candidates):
            expected = f"0 to {len(candidates) - 1}"
            raise refuse("bad-decision", f"there is no candidate {position}", expected=expected)
        given: dict[str, object] = {"candidates": tuple(candidates), "probs": tuple(probs), "decision": position}
        self._record("sample_categorical", given, ())
        return candidates[position]

    def sample_perfect_tile(
        self, loop: LoopRV, n: int, max_innermost_factor: int = 16, decision: list[int] | None = None
    ) -> list[int | None]:
        """`n` factors for `split`, whose product is the extent of the loop. The innermost one is at most `max_innermost_factor`, unless
        that is -1.

        Factors of a `decision` that do not divide the extent are changed, as in TVM. A symbolic extent has the factors None, 1, ….
        Refuses "bad-decision".
        """
        if max_innermost_factor != -1 and (n < 2 or max_innermost_factor < 1):
            expected = "two parts or more, and a positive max_innermost_factor"
            raise refuse("bad-decision", "the tile has no innermost part with such a limit", expected=expected)
        most = LARGEST if max_innermost_factor == -1 else max_innermost_factor
        given: dict[str, object] = {"loop": loop, "n": n, "max_innermost_factor": max_innermost_factor}
        return self._tile(
            "sample_perfect_tile", given, 1, decision, lambda tile: tile[-1] <= most, fitted_tile
        )  # fmt: skip

    def sample_partitioned_tile(
        self,
        loop: LoopRV,
        n: int,
        partition_pos: int = 0,
        innerpart_factor: int = 1,
        decision: list[int] | None = None,
    ) -> list[int | None]:
        """`n` factors for `split`, whose product is the extent of the loop. The product of those from `partition_pos` on is a multiple of
        `innerpart_factor`.

        A `decision` that does not fit is changed, as in TVM. An extent that is symbolic or no multiple has the factors None, 1, ….
        Refuses "bad-decision".
        """
        if not 0 <= partition_pos < n or innerpart_factor < 1:
            expected = f"a position from 0 to {n - 1}, a positive factor"
            raise refuse("bad-decision", "the tile has no such inner part", expected=expected)

        def fitted(tile: Sequence[int], extent: int) -> list[int]:
            return partitioned_tile(tile, extent, partition_pos, innerpart_factor)

        given: dict[str, object] = {
            "loop": loop, "n": n, "partition_pos": partition_pos, "innerpart_factor": innerpart_factor,
        }  # fmt: skip
        return self._tile(
            "sample_partitioned_tile", given, innerpart_factor, decision,
            lambda tile: prod(tile[partition_pos:]) % innerpart_factor == 0, fitted,
        )  # fmt: skip

    def sample_compute_location(self, block: BlockRV, decision: int | None = None) -> LoopRV:
        """A loop for `compute_at` or `reverse_compute_at` of the block, or a value for which these inline it, or leave it in place.

        `decision` is the position of a loop around the first consumer of the block, -2 for inlining, -1 for no motion. One that is not
        possible becomes the nearest possible one further out, as in TVM.
        """
        self._ctx.realize(block)
        loops = locations(self._ctx, block)
        known = [-2, -1, *loops]
        if decision is None:
            possible = [p for p in known if self._is_possible(block, p, loops)]
            decision = possible[self._random.below(len(possible))]
        else:
            nearest = (p for p in reversed(known) if p <= decision and self._is_possible(block, p, loops))
            decision = next(nearest, -1)
        if decision in _MARKS:
            self._record("sample_compute_location", {"block": block, "decision": decision}, ())
            return _MARKS[decision]
        loop = loops[decision].loop_var
        self._record("sample_compute_location", {"block": block, "decision": decision}, (loop,))
        return loop

    def enter_postproc(self) -> None:
        """Mark the start of the post-processing in the trace. The program stays as it is."""
        self._record("enter_postproc", {}, ())

    def _tile(
        self,
        name: str,
        given: dict[str, object],
        divisor: int,
        decision: Sequence[int] | None,
        is_wanted: Callable[[Sequence[int]], bool],
        fitted: Callable[[Sequence[int], int], list[int]],
    ) -> list[int | None]:
        """Draw factors or fit the decided ones to the extent of the loop, and trace them."""
        loop, n = self._ctx.loop(given["loop"]), given["n"]  # pyright: ignore[reportArgumentType]
        assert isinstance(n, int)
        if n < 1 or (decision is not None and len(decision) != n):
            raise refuse(
                "bad-decision", f"{name} needs one factor for each of {n} parts", expected=f"{max(n, 2)} factors"
            )
        extent = build.int_value(loop.extent)
        if extent is None or extent % divisor:
            factors = [-1] + [1] * (n - 1)
        elif not 0 < extent <= LARGEST:
            raise refuse(
                "bad-decision", "the loop is too long or has no iteration", loop, expected="an extent of 32 bits"
            )
        else:
            factors = drawn_tile(self._random, extent, n, is_wanted) if decision is None else fitted(decision, extent)
        self._record(name, {**given, "loop": loop.loop_var, "decision": tuple(factors)}, ())
        return [None if factor == -1 else factor for factor in factors]

    def _is_possible(self, block: BlockRV, decision: int, loops: dict[int, For]) -> bool:
        if decision == -1:
            return True
        if decision == -2:
            return self._accepts("compute_inline", {"block": block})
        loop = loops[decision].loop_var
        return self._accepts("compute_at", {"block": block, "loop": loop, "preserve_unit_loops": True})


def locations(ctx: Context, block: str) -> dict[int, For]:
    """The loops around all consumers of the block, by position, without those that TVM considers useless for speed.

    These are loops of one iteration, reduction loops inside of all spatial loops, and spatial loops inside of a reduction loop.
    """
    consumers = ctx.index.consumers(block)
    around = [ctx.index.loops_of(name) for name in consumers]
    if not around:
        return {}
    common = [f for f in around[0] if all(f in loops for loops in around[1:])]
    spatial = [_is_spatial(ctx, f) for f in common]
    last = max((i for i, is_spatial in enumerate(spatial) if is_spatial), default=-1)
    found: dict[int, For] = {}
    reduced = False
    for i, loop in enumerate(common):
        if build.is_const(loop.extent, 1):
            continue
        if reduced if spatial[i] else i > last:
            break
        reduced = reduced or not spatial[i]
        found[i] = loop
    return found


def _is_spatial(ctx: Context, loop: For) -> bool:
    """Whether the loop drives only spatial iterators, or none."""
    return all(
        iter_var.iter_type == "spatial"
        for realize in ctx.index.child_blocks(loop)
        for iter_var, value in zip(realize.block.iter_vars, realize.iter_values, strict=True)
        if uses_var(value, loop.loop_var)
    )
