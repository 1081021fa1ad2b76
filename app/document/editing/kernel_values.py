"""The values of a TileLang kernel's parameters: those of the call at the end of the workload cell, `main = gemm(M=512, num_stages=3)`."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from ....engine.ir import Refusal
from ....engine.script import find_tree
from ..cells import Cell, Document
from ..files.read_write import DocumentError
from ..places import marker_place
from ..workload import workload_cell
from .apply import replace_cell


def kernel_values(document: Document) -> dict[str, str]:
    """The values as source text by name: those of the call, and the defaults of the function. Raises DocumentError "no-kernel-call"."""
    _, _, call, function = _call_of(document)
    return {**_defaults(function), **{k.arg: ast.unparse(k.value) for k in call.keywords if k.arg is not None}}


def with_kernel_values(document: Document, values: Mapping[str, str]) -> Document:
    """The document with other values in the call; every other byte is unchanged. Raises DocumentError "no-kernel-call",
    "no-such-parameter"."""
    cell, text, call, function = _call_of(document)
    names = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()) + 1)
    edits: list[tuple[int, int, str]] = []
    for name, value in values.items():
        given = next((k.value for k in call.keywords if k.arg == name), None)
        if given is not None:
            first = starts[given.lineno - 1] + given.col_offset
            edits.append((first, starts[(given.end_lineno or 1) - 1] + (given.end_col_offset or 0), value))
        elif name in names:
            end = starts[(call.end_lineno or 1) - 1] + (call.end_col_offset or 1) - 1
            edits.append((end, end, f"{', ' if call.args or call.keywords else ''}{name}={value}"))
        else:
            expected = ", ".join(dict.fromkeys((*names, *(k.arg for k in call.keywords if k.arg is not None))))
            raise DocumentError(Refusal("no-such-parameter", f"{function.name} has no parameter {name}", found=name, expected=expected,
                                        place=marker_place(cell, document)))  # fmt: skip
    data = text.encode()
    for first, last, value in sorted(edits, reverse=True):
        data = data[:first] + value.encode() + data[last:]
    return replace_cell(document, cell, data.decode())


def _call_of(document: Document) -> tuple[Cell, str, ast.Call, ast.FunctionDef]:
    """The workload cell, its text, the call that makes the kernel, and the function that it calls."""
    cell = workload_cell(document)
    text = "" if cell is None else cell.body.replace("\r\n", "\n")
    tree = find_tree(text)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)} if tree is not None else {}
    for node in reversed(tree.body if tree is not None else []):
        match node:
            case ast.Assign(value=ast.Call(func=ast.Name(id=name)) as call) if name in functions:
                break
            case ast.Assign(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="compile" | "get_tir")) as call
            ) if name in functions:
                break
            case _:
                continue
    else:
        raise DocumentError(Refusal("no-kernel-call", "the workload makes no TileLang kernel by a call",
                                    expected="main = gemm(M=512, N=512, K=512), below the kernel's function",
                                    fix=("tilewright import FILE --size M=512 -o NOTEBOOK",)))  # fmt: skip
    assert cell is not None
    return cell, text, call, functions[name]


def _defaults(function: ast.FunctionDef) -> dict[str, str]:
    arguments = function.args.args
    given = zip(reversed(arguments), reversed(function.args.defaults), strict=False)
    return {argument.arg: ast.unparse(value) for argument, value in reversed([*given])}


__all__ = ["kernel_values", "with_kernel_values"]
