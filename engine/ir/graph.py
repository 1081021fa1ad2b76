"""The graph of a model: calls of tensor programs in order, as a relax function has them."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from .errors import Place
from .expr import Expr
from .func import IRModule, PrimFunc


class GraphTensor(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A value between calls, compared by identity. A size that the model leaves open is a variable in its shape."""

    name: str
    shape: tuple[Expr, ...]
    dtype: str


class KernelCall(msgspec.Struct, frozen=True, eq=False):
    """A call of a tensor program: TVM's `R.call_tir`.

    `arguments` and then `results` are the program's buffers; its remaining parameters are `scalars`. `in_place` has the position of an
    argument or -1 for each result: a result with a position is stored in that argument and has no buffer of its own. `sizes` are the
    values of the program's size variables by name.
    """

    kernel: str
    arguments: tuple[GraphTensor, ...]
    results: tuple[GraphTensor, ...]
    scalars: tuple[Expr, ...] = ()
    in_place: tuple[int, ...] = ()
    sizes: Mapping[str, Expr] = {}
    place: Place | None = None


class Graph(msgspec.Struct, frozen=True, eq=False):
    """The calls of a relax function, each after those whose results it reads.

    `inputs` are what each inference gets; `weights` stay the same: the other parameters, and constants that the text refers to. `scalars`
    are the values of those weights whose numbers the text has, as in `R.const(2.5, "float32")`.
    """

    name: str
    inputs: tuple[GraphTensor, ...]
    weights: tuple[GraphTensor, ...]
    calls: tuple[KernelCall, ...]
    results: tuple[GraphTensor, ...]
    scalars: Mapping[GraphTensor, float | int | bool] = {}

    @property
    def parameters(self) -> tuple[GraphTensor, ...]:
        """The inputs and the weights without values, in the order in which a caller gives them."""
        return (*self.inputs, *(t for t in self.weights if t not in self.scalars))


class Network(msgspec.Struct, frozen=True, eq=False):
    """A model: its graph, and the tensor programs that the graph calls, in the order of their first call."""

    graph: Graph
    kernels: tuple[PrimFunc, ...]

    @property
    def module(self) -> IRModule:
        """The tensor programs without the graph."""
        return IRModule(self.kernels)

    def __getitem__(self, name: str) -> PrimFunc:
        return self.module[name]
