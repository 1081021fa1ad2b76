"""The distinct kernels of a network: programs of equal structure and sizes are one kernel, called several times."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ..adopt import MissingValuesError, Need
from ..arith import simplify
from ..ir import (
    Expr,
    Graph,
    GraphTensor,
    KernelCall,
    Network,
    PrimFunc,
    Refusal,
    build,
    free_vars,
    structural_equal,
    substitute,
)
from ..lower import with_sizes


class Kernel(msgspec.Struct, frozen=True, eq=False):
    """A program of a network.

    `names` are the functions of the module with its structure, `calls` the positions of their calls in the graph, `sizes` the values of its
    size variables in these calls.
    """

    func: PrimFunc
    names: tuple[str, ...]
    calls: tuple[int, ...]
    sizes: Mapping[str, int] = {}

    @property
    def name(self) -> str:
        return self.names[0]

    def program(self, scheduled: Mapping[str, PrimFunc] = {}) -> PrimFunc:
        """The program with constant sizes, as it is or as `scheduled` has it by name."""
        func = scheduled.get(self.name, self.func)
        return with_sizes(func, self.sizes).func if self.sizes else func


class _Group:
    """A kernel whose calls are still being collected."""

    def __init__(self, func: PrimFunc, sizes: Mapping[str, int]) -> None:
        self.func = func
        self.sizes = sizes
        self.names: list[str] = []
        self.calls: list[int] = []

    def fits(self, func: PrimFunc, sizes: Mapping[str, int]) -> bool:
        same = self.func is func or structural_equal(self.func, func)
        return same and list(self.sizes.values()) == list(sizes.values())


def merged(network: Network) -> Network:
    """Return the network with one function for each structure: calls of functions with the same structure become calls of the first."""
    groups: list[PrimFunc] = []
    first: dict[str, PrimFunc] = {}
    for func in network.kernels:
        same = next((g for g in groups if structural_equal(g, func)), None)
        groups += [func] if same is None else []
        first[func.name] = same or func
    calls = tuple(msgspec.structs.replace(call, kernel=first[call.kernel].name) for call in network.graph.calls)
    return Network(msgspec.structs.replace(network.graph, calls=calls), tuple(groups))


def open_sizes(network: Network) -> tuple[str, ...]:
    """The names of the sizes that the model leaves open, such as those of its batch."""
    extents = (extent for call in network.graph.calls for extent in call.sizes.values())
    return tuple(dict.fromkeys(variable.name for extent in extents for variable in free_vars(extent)))


def distinct_kernels(network: Network, sizes: Mapping[str, int] | None = None) -> tuple[Kernel, ...]:
    """Return the kernels in the order of their first call. `sizes` are those that the model leaves open.

    Raises MissingValuesError "missing-size" if a kernel's size is not known then.
    """
    _require_sizes(network, sizes or {})
    functions = {f.name: f for f in network.kernels}
    known: dict[tuple[str, tuple[int, ...]], _Group] = {}
    alike: dict[tuple[object, ...], list[_Group]] = {}
    for at, call in enumerate(network.graph.calls):
        func, values = functions[call.kernel], _values(call, sizes or {})
        key = (call.kernel, tuple(values.values()))
        if key not in known:
            similar = alike.setdefault(_signature(call), [])
            group = next((g for g in similar if g.fits(func, values)), None)
            if group is None:
                group = _Group(func, values)
                similar.append(group)
            group.names += [call.kernel] if call.kernel not in group.names else []
            known[key] = group
        known[key].calls.append(at)
    groups = dict.fromkeys(known.values())
    return tuple(Kernel(g.func, tuple(g.names), tuple(g.calls), g.sizes) for g in groups)


def prepared_calls(graph: Graph) -> frozenset[int]:
    """Return the positions of the calls whose arguments are weights, or made from weights alone: one run serves every inference."""
    constant: set[GraphTensor] = set(graph.weights)
    found: set[int] = set()
    for at, call in enumerate(graph.calls):
        if constant.issuperset(call.arguments):
            found.add(at)
            constant.update(call.results)
    return frozenset(found)


def inference_counts(graph: Graph) -> tuple[int, int]:
    """Return how many calls an inference makes, and of how many programs; those that depend on weights alone are left out."""
    prepared = prepared_calls(graph)
    running = [call.kernel for at, call in enumerate(graph.calls) if at not in prepared]
    return len(running), len(set(running))


def _values(call: KernelCall, sizes: Mapping[str, int]) -> dict[str, int]:
    return {name: _value(extent, sizes) for name, extent in call.sizes.items()}


def _require_sizes(network: Network, sizes: Mapping[str, int]) -> None:
    needs = tuple(Need(name, "size") for name in open_sizes(network) if name not in sizes)
    if not needs:
        return
    what = f"the size {needs[0].name}" if len(needs) == 1 else f"{len(needs)} sizes"
    refusal = Refusal(
        "missing-size",
        f"the model leaves {what} open",
        expected="a value for " + ", ".join(need.name for need in needs),
        fix=tuple(f"--size {need.name}={need.example}" for need in needs),
    )
    raise MissingValuesError(refusal, needs)


def _value(extent: Expr, sizes: Mapping[str, int]) -> int:
    variables = free_vars(extent)
    value = build.int_value(simplify(substitute(extent, {v: build.const(sizes[v.name], v.dtype) for v in variables})))
    assert value is not None, "an extent of numbers alone is a number"
    return value


def _signature(call: KernelCall) -> tuple[object, ...]:
    """What calls of equal kernels have in common; a short list is left to compare."""
    return tuple((t.dtype, tuple(map(build.int_value, t.shape))) for t in (*call.arguments, *call.results))
