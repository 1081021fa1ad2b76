"""Programs of a text among other Python: each is read with the constants that its names have where it is defined, as TVM does.

A name has a value if the statements above decide it: assignments, branches on known conditions, loops over known items. What other
statements may bind is unknown, and a program that uses it is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from ..ir import TilewrightError
from ..script import Parsed, parse
from ..script.language import is_script
from ..script.reading.modules import is_plain
from ..script.reading.source import Source
from ..script.subset.bindings import bound_names
from ..script.subset.scope import Unknown, Value
from ..te.call_reader import TECallReader
from ..te.model import Runtime


def programs_of(source: Source, filename: str) -> dict[str, Parsed]:
    """Return the programs of a text by the names of their definitions. Raises ParseError if there is none."""
    body = source.tree.body
    defined = [node for node in body if _has_functions(node) or (isinstance(node, ast.FunctionDef) and is_script(node))]
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom) or _is_type_var(node)]
    if not defined:
        parse(_only(source, imports), filename)  # raises: the text has no program
    reader = _ConstantReader(source, {})
    found: dict[str, Parsed] = {}
    for node in body[: body.index(defined[-1]) + 1] if defined else ():
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node in defined:
            found[node.name] = parse(_only(source, [*imports, node]), filename, reader.constants())
            reader.scope.define(node.name, Runtime())
        else:
            reader.read(node)
    return found


def _has_functions(node: ast.stmt) -> bool:
    """Whether a node is a class with functions: a module, or else Python that may make one, whose error names what is missing."""
    return isinstance(node, ast.ClassDef) and any(isinstance(part, ast.FunctionDef) for part in node.body)


def _is_type_var(node: ast.stmt) -> bool:
    """Whether a statement is TVM 0.27's declaration of a size: `n = TypeVar("n")`."""
    return (
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "TypeVar"
    )


_IS_OF_TVM = re.compile(r"(?:^|\.)(?:tvm|tilewright)(?:\.|$)")


class _ConstantReader(TECallReader):
    """Reads the statements above programs for their constants; what it cannot read is forgotten."""

    def __init__(self, source: Source, sizes: Mapping[str, int]) -> None:
        super().__init__(source, sizes)
        self.lines: dict[str, int] = {}
        self.scope.define("__name__", "__main__")

    def read(self, node: ast.stmt) -> None:
        """Read a statement; if it is not read, forget what it may change."""
        self.lines |= dict.fromkeys(bound_names(node), self.source.place(node).line)
        try:
            self.top(node)
        except TilewrightError as error:
            if error.refusal.code == "internal-error":
                raise
            self.forget(node)
            self.settle(node)

    def is_running(self, node: ast.expr) -> bool:
        """Whether a dotted name belongs to another module than those of programs."""
        name = self.dotted(node)
        return super().is_running(node) or (
            name is not None and name.partition(".")[0] not in ("tvm", "te", "tir", "topi")
        )

    def constants(self) -> dict[str, Value]:
        """Return the names with their values; those of other values than constants are unknown."""
        found: dict[str, Value] = {}
        for name, module in self.aliases.items():
            if name in self.lines and not _IS_OF_TVM.search(module):
                found[name] = Unknown(f"line {self.lines[name]} imports it")
        return found | {name: self._known(name, value) for name, value in self.scope.items()}

    def _known(self, name: str, value: Value) -> Value:
        changed = next((self.changed[id(part)] for part in _parts(value) if id(part) in self.changed), None)
        if changed is not None:
            return Unknown(f"line {self.source.place(changed[1]).line} may change it")
        if isinstance(value, Unknown) or is_plain(value):
            return value
        return Unknown(f"line {self.lines.get(name, 1)} gives it a value that is not a constant of the text")


def _parts(value: Value) -> Iterator[Value]:
    """Yield a value and the items of its lists."""
    yield value
    for item in value if isinstance(value, tuple) else ():
        yield from _parts(item)


def _only(source: Source, nodes: list[ast.stmt]) -> str:
    """Return the text with all other lines empty, so that places remain valid."""
    kept = [""] * len(source.lines)
    first_program = min((_first(n) for n in nodes), default=0)
    for number, line in enumerate(source.lines):
        if number < first_program and line.startswith("#"):
            kept[number] = line  # imports that TVM prints as comments
    for node in nodes:
        for number in range(_first(node) - 1, node.end_lineno or node.lineno):
            kept[number] = source.lines[number]
    return "\n".join(kept)


def _first(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    return min([node.lineno, *(d.lineno for d in decorators)])


__all__ = ["programs_of"]
