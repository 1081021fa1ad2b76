"""Tensor intrinsics: single machine instructions, described by two equivalent functions.

`desc` defines the computation, in loops and blocks that are matched with a program; `impl` the implementation, often a call that only the
machine supports. If `impl` can run, `make_intrin` tests that both give the same results. Otherwise, tests and cost estimates of a program
with the intrinsic use `desc`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from threading import Lock
from typing import Literal, overload

import msgspec
from msgspec.structs import replace as replace_fields

from ..analysis import accessed_regions
from ..arith import prove_equal
from ..execute import Verdict, verify
from ..ir import Block, BlockRealize, Buffer, IRModule, PrimFunc, replace_buffers, structural_equal
from ..script import parse
from .errors import refuse
from .rules.vectors import with_thread_loops

Function = PrimFunc | IRModule | str
"""A function, a module of one function, or the TVMScript text of one."""


class TensorIntrin(msgspec.Struct, frozen=True, eq=False):
    """An intrinsic. `verdict` is "tested" if both functions ran with equal results, "unknown" if `impl` cannot run and is trusted."""

    name: str
    desc: PrimFunc
    impl: PrimFunc
    verdict: Verdict

    def __repr__(self) -> str:
        return f"TensorIntrin({self.name!r})"

    @property
    def runs(self) -> bool:
        return self.verdict.status == "tested"

    @staticmethod
    def register(name: str, desc: Function, impl: Function, override: bool = False) -> TensorIntrin:
        """Register an intrinsic for every schedule of this process that has no separate intrinsics.

        Raises ScheduleError "intrin-exists", unless both are equal or `override` is set, and the errors of `make_intrin`.
        """
        return process_intrinsics().register(name, desc, impl, override)

    @overload
    @staticmethod
    def get(name: str, allow_missing: Literal[False] = False) -> TensorIntrin: ...

    @overload
    @staticmethod
    def get(name: str, allow_missing: bool) -> TensorIntrin | None: ...

    @staticmethod
    def get(name: str, allow_missing: bool = False) -> TensorIntrin | None:
        """The intrinsic registered as `name`. Raises ScheduleError "unknown-intrin", or returns None with `allow_missing`."""
        return process_intrinsics().find(name) if allow_missing else process_intrinsics().get(name)


class Intrinsics:
    """Intrinsics by name. Each change creates a new table, so readers in other threads see either the old or the new one."""

    def __init__(self) -> None:
        self._table: dict[str, TensorIntrin] = {}
        self._changing = Lock()

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def register(self, name: str, desc: Function, impl: Function, override: bool = False) -> TensorIntrin:
        """See `TensorIntrin.register`."""
        new = make_intrin(name, desc, impl)
        with self._changing:
            old = self._table.get(name)
            if old is not None and not override:
                if structural_equal(old.desc, new.desc) and structural_equal(old.impl, new.impl):
                    return old
                raise refuse(
                    "intrin-exists", f"intrinsic {name!r} is already registered with other functions", old.desc,
                    expected="another name", fix=(f"TensorIntrin.register({name!r}, …, override=True)",),
                )  # fmt: skip
            self._table = {**self._table, name: new}
        return new

    def get(self, name: str) -> TensorIntrin:
        """The intrinsic registered as `name`. Raises ScheduleError "unknown-intrin"."""
        found = self._table.get(name)
        if found is None:
            known = ", ".join(map(repr, self._table)) or "none is registered"
            raise refuse("unknown-intrin", f"there is no intrinsic {name!r}", expected=known,
                         fix=(f"TensorIntrin.register({name!r}, desc, impl)",))  # fmt: skip
        return found

    def copy(self) -> Intrinsics:
        """A table with the same intrinsics, for separate additions."""
        other = Intrinsics()
        other._table = self._table
        return other

    def find(self, name: str) -> TensorIntrin | None:
        return self._table.get(name)


@cache
def process_intrinsics() -> Intrinsics:
    """The process-wide registry, as in TVM: the only state that schedules share, accessible only through this function."""
    return Intrinsics()


def make_intrin(name: str, desc: Function, impl: Function) -> TensorIntrin:
    """The intrinsic of two functions. Raises ScheduleError "bad-intrin" if they are incompatible, "intrin-differs" if a run of both gives
    different results."""
    meaning, body = _function(desc), _function(impl)
    for func in (meaning, body):
        require_root(func)
    meaning, body = (_with_regions(with_thread_loops(func)) for func in (meaning, body))
    require_same_parameters(meaning, body)
    require_same_effects(meaning, body)
    verdict = verify(_with_names_of(meaning, body), meaning)
    if verdict.status == "failed":
        raise refuse(
            "intrin-differs", f"the description and the implementation of intrinsic {name!r} differ: {verdict.detail}", meaning, body,
            expected="an implementation that computes what the description computes",
        )  # fmt: skip
    return TensorIntrin(name, meaning, body, verdict)


def _function(given: Function) -> PrimFunc:
    program = parse(given).program if isinstance(given, str) else given
    if isinstance(program, IRModule):
        if len(program.functions) != 1:
            raise refuse(
                "bad-intrin",
                "the description or implementation of an intrinsic is not a single function",
                expected="a module with one function",
            )
        return program.functions[0]
    return program


def root_of(func: PrimFunc) -> Block:
    """The root block of an intrinsic's function."""
    assert isinstance(func.body, BlockRealize)
    return func.body.block


# An intrinsic is one block on buffers.
def require_root(func: PrimFunc) -> None:
    whole = isinstance(func.body, BlockRealize) and not func.body.block.iter_vars and func.body.block.init is None
    if not whole or len(func.params) != len(func.buffers):
        raise refuse("bad-intrin", f"function {func.name!r} is not a block program over buffers", func,
                     expected="buffer parameters only, and a root block")  # fmt: skip


def _with_regions(func: PrimFunc) -> PrimFunc:
    """The function with reads and writes declared on its root block."""
    root = root_of(func)
    if root.reads or root.writes:
        return func
    reads, writes = accessed_regions(root.body)
    assert isinstance(func.body, BlockRealize)
    return replace_fields(func, body=replace_fields(func.body, block=replace_fields(root, reads=reads, writes=writes)))


# Both functions have the same buffer parameters.
def require_same_parameters(desc: PrimFunc, impl: PrimFunc) -> None:
    if len(desc.buffers) != len(impl.buffers):
        raise refuse("bad-intrin", "the description and the implementation have different numbers of buffers", desc, impl,
                     found=str(len(impl.buffers)), expected=str(len(desc.buffers)))  # fmt: skip
    for a, b in zip(desc.buffers, impl.buffers, strict=True):
        same = a.dtype == b.dtype and a.scope == b.scope and len(a.shape) == len(b.shape)
        if not same or not all(prove_equal(x, y) for x, y in zip(a.shape, b.shape, strict=True)):
            raise refuse("bad-intrin", f"parameter {b.name!r} of the implementation does not match {a.name!r} of the description", desc,
                         impl, expected="the same shape, dtype and scope")  # fmt: skip


# The implementation accesses only buffers that the description declares.
def require_same_effects(desc: PrimFunc, impl: PrimFunc) -> None:
    written, touched = _touched(desc, reads=False), _touched(desc, reads=True) | _touched(desc, reads=False)
    more = (_touched(impl, reads=False) - written) | (_touched(impl, reads=True) - touched)
    if more:
        names = ", ".join(impl.buffers[i].name for i in sorted(more))
        raise refuse("bad-intrin", f"the implementation accesses {names}, which the description does not declare", desc, impl,
                     expected="the T.reads and T.writes of the description")  # fmt: skip


def _touched(func: PrimFunc, *, reads: bool) -> set[int]:
    """The positions of the parameters that the root block reads (or writes, without `reads`)."""
    root = root_of(func)
    return {func.buffers.index(r.buffer) for r in (root.reads if reads else root.writes) if r.buffer in func.buffers}


def _with_names_of(desc: PrimFunc, impl: PrimFunc) -> PrimFunc:
    """`impl` with its parameter buffers named like those of `desc`: runs identify parameters by name."""
    new: dict[Buffer, Buffer] = {
        mine: replace_fields(mine, name=other.name) for mine, other in zip(impl.buffers, desc.buffers, strict=True)
    }
    return replace_buffers(impl, new)
