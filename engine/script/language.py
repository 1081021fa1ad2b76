"""What a text is, by its syntax tree: TVMScript, TE, schedule code. Comments and strings do not count.

A text that is not Python, such as a post, is judged by its lines without their comments.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from .errors import ParseError
from .reading.functions import is_python, is_relax
from .reading.source import Source
from .syntax import find_tree

SCHEDULE_MAKERS = ("Schedule", "create_schedule")
_DEFINING = ("placeholder", "compute", "create_schedule", "reduce_axis")
_WORDS = (*_DEFINING, "create_prim_func", "tvm.te")
_DECORATORS = ("prim_func", "ir_module", "script.tir", "hybrid.script")
_TE_LINE = re.compile(
    rf"\b(?:te|tvm)\.(?:{'|'.join(_DEFINING)})\s*\(|from tvm\.te import|create_prim_func", re.MULTILINE
)
_SCRIPT_LINE = re.compile(r"^[ \t]*@[ \t]*[\w.]*(?:prim_func|ir_module)", re.MULTILINE)


def tree_of(text: str) -> ast.Module | None:
    """Return the tree of a text, also if it lost its indentation; None if it is not Python."""
    found = find_tree(text)
    if found is None:
        try:
            found = Source(text).tree
        except ParseError:
            return None
    return found


def is_te(text: str) -> bool:
    """Whether `text` is a TE program; TVMScript that uses TE is TVMScript."""
    if not any(word in text for word in _WORDS):
        return False
    tree = tree_of(text)
    if tree is None:
        code = "\n".join(line.partition("#")[0] for line in text.splitlines())
        return _TE_LINE.search(code) is not None and _SCRIPT_LINE.search(code) is None
    return _uses_te(tree) and not any(map(is_script, ast.walk(tree)))


def is_script(node: ast.AST) -> bool:
    """Whether a node is a TVMScript program: a function under one of TVM's decorators, or a class with such functions; one of relax
    functions only is none."""
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return False
    functions = [part for part in node.body if isinstance(part, ast.FunctionDef)]
    if isinstance(node, ast.ClassDef) and functions and all(is_relax(f) or is_python(f) for f in functions):
        return False
    names = [f".{ast.unparse(d.func if isinstance(d, ast.Call) else d)}" for d in node.decorator_list]
    return any(name.endswith(f".{decorator}") for name in names for decorator in _DECORATORS)


def other_languages(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Return the names under which a text imports languages with the names of TVM's, with their modules, as in
    `import tilelang.language as T`."""
    found: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                module = f"{node.module or ''}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
                if module.endswith(".language") and not is_tile_language(module):
                    found[alias.asname or alias.name] = module
    return found


def is_tile_language(module: str) -> bool:
    """Whether a module is TileLang's language, also one for other devices, such as `tilelang.ascend.language`."""
    return module.startswith("tilelang.") and module.endswith(".language")


def uses_tile_language(nodes: Iterable[ast.AST]) -> bool:
    """Whether a text is TileLang: its source, or the tile IR that TileLang prints."""
    for node in nodes:
        match node:
            case ast.ImportFrom(module=str(module)) if is_tile_language(module) or (
                module.partition(".")[0] == "tilelang" and any(alias.name == "language" for alias in node.names)
            ):
                return True
            case ast.Import() if any(is_tile_language(alias.name) for alias in node.names):
                return True
            case ast.Constant(value="tilelang_root"):
                return True
            case ast.With() if _launches(node):
                return True
            case _:
                pass
    return False


def is_eager(node: ast.AST) -> bool:
    """Whether a function is an eager kernel of TileLang: `@tilelang.jit` with the launch of the kernel in its own body."""
    if not isinstance(node, ast.FunctionDef) or not any(_is_jit(decorator) for decorator in node.decorator_list):
        return False
    inner = [part for part in ast.walk(node) if isinstance(part, ast.FunctionDef) and part is not node]
    of_others = {part for function in inner for part in ast.walk(function)}
    own = (part for part in ast.walk(node) if part not in of_others)
    return not any(map(is_script, inner)) and any(isinstance(part, ast.With) and _launches(part) for part in own)


def _is_jit(decorator: ast.expr) -> bool:
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(target).rpartition(".")[2] in ("jit", "lazy_jit")


def _launches(node: ast.With) -> bool:
    calls = (item.context_expr for item in node.items)
    return any(isinstance(call, ast.Call) and called_name(call).endswith("Kernel") for call in calls)


def root_of_decorator(node: ast.AST) -> str:
    """Return the name in front of the decorator of a program: "T" for `@T.prim_func(private=True)`."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    names = [ast.unparse(d.func if isinstance(d, ast.Call) else d) for d in decorators]
    return next((n.partition(".")[0] for n in names if n.endswith(_DECORATORS)), "")


def has_graph(text: str) -> bool:
    """Whether the text has a relax function."""
    tree = tree_of(text) if "function" in text else None
    return tree is not None and any(isinstance(node, ast.FunctionDef) and is_relax(node) for node in ast.walk(tree))


def makes_schedule(node: ast.AST, makers: tuple[str, ...] = SCHEDULE_MAKERS) -> bool:
    """Whether code calls a function that makes a schedule."""
    return any(isinstance(part, ast.Call) and called_name(part) in makers for part in ast.walk(node))


def takes_schedule(node: ast.AST) -> bool:
    """Whether a node is a function of a schedule, the text of a trace: `def apply(sch: tir.Schedule)`."""
    if not isinstance(node, ast.FunctionDef):
        return False
    hints = [a.annotation for a in node.args.args[:1] if a.annotation is not None]
    return any(ast.unparse(hint).rpartition(".")[2] == "Schedule" for hint in hints)


def called_name(node: ast.Call) -> str:
    """Return the last part of the called name."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def calls_old_te(node: ast.AST) -> bool:
    """Whether a node is a call of TVM until 0.6, `tvm.compute(…)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name("tvm"), attr=attr)):
            return attr in (*_DEFINING, "var")
        case _:
            return False


def _uses_te(tree: ast.Module) -> bool:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=attr)) if attr in _DEFINING:
                if ast.unparse(owner).rpartition(".")[2] in ("te", "tvm"):
                    return True
            case ast.ImportFrom(module="tvm.te"):
                return True
            case ast.Name("create_prim_func") | ast.Attribute(attr="create_prim_func") | ast.alias("create_prim_func"):
                return True
            case _:
                pass
    return False


__all__ = [
    "SCHEDULE_MAKERS",
    "called_name",
    "calls_old_te",
    "has_graph",
    "is_eager",
    "is_script",
    "is_te",
    "makes_schedule",
    "other_languages",
    "root_of_decorator",
    "takes_schedule",
    "tree_of",
    "uses_tile_language",
]
