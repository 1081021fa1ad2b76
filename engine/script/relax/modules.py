"""A module with relax functions as a network: which function is the model, and the programs that it calls."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ...ir import FAULTS, IRModule, Network, Place, PrimFunc
from ..errors import parse_error
from ..reading.functions import is_relax
from ..reading.modules import parse
from ..reading.source import Source
from ..syntax import collection_paused
from .functions import GraphReader

MAIN = "main"
"""The function that TVM's frontends make of a model."""


def parse_network(text: str, filename: str = "", function: str | None = None) -> Network:
    """Return the network that `text` describes: a relax function, by default `main`, and the tensor programs that it calls.

    Raises ParseError with the place: "no-graph" without such a function, "unknown-kernel", "wrong-type" where an argument does not have the
    shape of its buffer, "not-lowered" for an operator of relax, "unsupported" for other values and statements. Nothing in the text is run.
    """
    program = parse(text, filename).program
    functions = program.functions if isinstance(program, IRModule) else (program,)
    return read_graph(text, {f.name: f for f in functions}, filename, function)


def read_graph(text: str, kernels: Mapping[str, PrimFunc], filename: str = "", function: str | None = None) -> Network:
    """Return the network of a relax function in `text`, whose tensor programs are `kernels`. Errors are those of `parse_network`."""
    with collection_paused():
        source = Source(text, filename)
        try:
            return _network(source, kernels, function)
        except RecursionError:
            raise source.too_deep(source.place(source.tree)) from None
        except FAULTS as error:
            raise source.refused(source.tree, error) from error


def _network(source: Source, kernels: Mapping[str, PrimFunc], function: str | None) -> Network:
    functions = {node.name: node for node in source.nodes if isinstance(node, ast.FunctionDef) and is_relax(node)}
    graph = GraphReader(source, kernels, functions).read(_chosen(source, functions, function))
    return Network(graph, tuple(kernels[name] for name in dict.fromkeys(call.kernel for call in graph.calls)))


def _chosen(source: Source, functions: Mapping[str, ast.FunctionDef], name: str | None) -> ast.FunctionDef:
    found = functions.get(name or MAIN) or (
        next(iter(functions.values())) if len(functions) == 1 and not name else None
    )
    if found is None:
        known = ", ".join(functions)
        message = f"the text has no relax function {name or MAIN}" if functions else "the text has no relax function"
        place = Place(source.first_line, 1, source.first_line, 1, source.filename)
        raise parse_error("no-graph", message, place, expected=known or "@R.function with calls of R.call_tir")
    return found
