"""Python's parser on long texts, in another process."""

from __future__ import annotations

import ast

import pytest

from tilewright.engine.ir import TilewrightError
from tilewright.engine.processes import OverBudgetError
from tilewright.engine.script import find_tree, long_texts, python_tree
from tilewright.engine.script.long_texts import LONG_CHARACTERS

MIXED = """
@decorated(1)
class C:
    def f(self, a=1, *b, **c):
        for i in range(3):
            if i > 1:
                yield lambda x: x if i else [y for y in a]
            elif i:
                continue
        else:
            return
        with open(a) as file, b:
            try:
                pass
            except (A, B) as error:
                raise
            except* C:
                raise
            finally:
                x[1:2, ...] = f"{a!r:>{width}}"
        match a:
            case [1, *rest] if rest:
                x: int = 1
            case {"a": 1, **others}:
                del x
"""
MIXED = MIXED.replace("            except* C:\n                raise\n", "")


def long(text: str) -> str:
    return text * (LONG_CHARACTERS // len(text) + 1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("text", [MIXED, "x = 1\n", "async def f():\n    async for i in a:\n        await b\n"])
def test_a_long_text_has_the_tree_of_the_parser(text: str) -> None:
    text = long(text)
    assert ast.dump(python_tree(text), include_attributes=True) == ast.dump(ast.parse(text), include_attributes=True)


@pytest.mark.parametrize("text", ["x = = 1", "  x = 1", "x = '\\ud800' + (", "if x:\ny = 1"])
def test_a_long_text_has_the_error_of_the_parser(text: str) -> None:
    text = f"{long(MIXED)}\n{text}"
    with pytest.raises(SyntaxError) as expected:
        ast.parse(text)
    for _ in range(2):
        with pytest.raises(SyntaxError) as found:
            python_tree(text)
        assert (type(found.value), found.value.args) == (type(expected.value), expected.value.args)


def test_a_deep_text_has_the_error_of_the_parser() -> None:
    with pytest.raises(RecursionError):
        python_tree(f"x = a{'.b' * LONG_CHARACTERS}")


@pytest.mark.slow
def test_text_over_the_time_limit_of_the_parser_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_texts, "SECONDS", 0.3)
    text = f"x = f'{'{a}' * 160_000}'"
    with pytest.raises(OverBudgetError, match="Python's parser needs more than"):
        python_tree(text)
    assert find_tree(text) is None


def test_a_huge_statement_is_refused() -> None:
    with pytest.raises(TilewrightError, match="the statement in line 2 has") as refused:
        python_tree(f"\nx = [{'1, ' * 100_000}]")
    assert refused.value.code == "too-large"
