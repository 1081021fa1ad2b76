"""Symbolic sizes of torch.export: PyTorch evaluates their text as Python, so that it must be arithmetic on known functions alone."""

from __future__ import annotations

import ast
import re

MAX_CHARACTERS = 4000

_CHARACTERS = re.compile(r"[A-Za-z0-9_'+\-*/%(),.<>=& |~ ]*")
_SYMBOL = re.compile(r"(?:s|u|zf|zuf)\d{1,6}")
_NUMBER = re.compile(r"[+-]?[0-9][0-9.e+-]{0,40}")

CONSTANTS = frozenset({"true", "false", "oo"})

SYMPY = frozenset(
    {
        "Abs", "Add", "And", "Eq", "Equality", "Float", "Ge", "GreaterThan", "Gt", "Integer", "Le", "LessThan", "Lt", "Max", "Min", "Mul",
        "Ne", "Not", "Or", "Pow", "Rational", "StrictGreaterThan", "StrictLessThan", "Unequality", "ceiling", "floor",
    }
)  # fmt: skip
"""Functions of SymPy."""

TORCH = frozenset(
    {
        "CeilDiv", "CeilToInt", "CleanDiv", "FloatPow", "FloatTrueDiv", "FloorDiv", "FloorToInt", "Identity", "IntTrueDiv",
        "IsNonOverlappingAndDenseIndicator", "LShift", "Mod", "ModularIndexing", "PowByNatural", "PythonMod", "RShift", "RoundDecimal",
        "RoundToInt", "ToFloat", "TruncToFloat", "TruncToInt", "Where",
    }
)  # fmt: skip
"""Functions of PyTorch."""

ASSUMPTIONS = frozenset(
    {
        "commutative", "evaluate", "extended_real", "finite", "infinite", "integer", "negative", "nonnegative", "nonpositive", "nonzero",
        "positive", "precision", "rational", "real", "zero",
    }
)  # fmt: skip
"""Keywords of Symbol('s0', integer=True) and of numbers; their values are constants."""

_ARITHMETIC = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Compare, ast.operator, ast.unaryop, ast.cmpop, ast.Load,
)  # fmt: skip


# The text is arithmetic on symbols, numbers and known functions. Raises ValueError.
def require_arithmetic(text: str) -> None:
    if len(text) > MAX_CHARACTERS or _CHARACTERS.fullmatch(text) is None:
        raise _no_arithmetic(text)
    try:
        tree = ast.parse(text, mode="eval")
        texts = {id(node) for call in ast.walk(tree) if isinstance(call, ast.Call) for node in _quoted(call)}
        known = all(_is_known(node, texts) for node in ast.walk(tree))
    except (SyntaxError, RecursionError, MemoryError):
        known = False
    if not known:
        raise _no_arithmetic(text)


def _quoted(call: ast.Call) -> list[ast.expr]:
    """The function's name, and the argument of Symbol and Float, which is a text of a closed form."""
    match call:
        case ast.Call(func=ast.Name(id="Symbol") as function, args=[ast.Constant(value=str(text)) as argument]):
            return [function, argument] if _SYMBOL.fullmatch(text) else []
        case ast.Call(func=ast.Name(id="Float") as function, args=[ast.Constant(value=str(text)) as argument]):
            return [function, argument] if _NUMBER.fullmatch(text) else []
        case ast.Call(func=ast.Name(id=name) as function) if name in SYMPY or name in TORCH:
            return [function]
        case _:
            return []


def _is_known(node: ast.AST, allowed: set[int]) -> bool:
    """Whether a node is arithmetic, given the names and texts that are allowed where they are."""
    match node:
        case ast.Name(id=name):
            return id(node) in allowed or name in CONSTANTS or _SYMBOL.fullmatch(name) is not None
        case ast.Constant(value=bool() | int() | float()):
            return True
        case ast.Constant(value=str()):
            return id(node) in allowed
        case ast.Call(func=ast.Name()):
            return True  # its name is a node of its own
        case ast.keyword(arg=str(name), value=ast.Constant(value=bool() | int())):
            return name in ASSUMPTIONS
        case _:
            return isinstance(node, _ARITHMETIC)


def _no_arithmetic(text: str) -> ValueError:
    return ValueError(f"the size {text[:60]!r} is not arithmetic")


__all__ = ["require_arithmetic"]
