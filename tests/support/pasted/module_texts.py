"""Random Python above a tensor program: assignments, branches, loops, functions and lists that decide the program's constants."""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = ("M", "N", "K")
NUMBERS = st.integers(-3, 9).map(str)
INDENT = "    "


def _operations(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%", "<<", "&", "|", "^", "and", "or"]), inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        st.tuples(conditions(inner), inner, inner).map(lambda t: f"({t[1]} if {t[0]} else {t[2]})"),
        pair.map(lambda t: f"min({t[0]}, {t[1]})"),
        pair.map(lambda t: f"max({t[0]}, {t[1]})"),
        pair.map(lambda t: f"[{t[0]}, {t[1]}][-1]"),
        pair.map(lambda t: f"len([{t[0]}, {t[1]}])"),
        pair.map(lambda t: f"twice({t[0]})"),
        inner.map(lambda e: f"int({e} / 2)"),
        inner.map(lambda e: f"int(f'{{{e}}}')" if "'" not in e else e),
        inner.map(lambda e: f"(-{e})"),
        inner.map(lambda e: f"(lambda x, y=K: x + y)({e})"),
        inner.map(lambda e: f"{{'a': {e}, 'b': 2}}['a']"),
        inner.map(lambda e: f"[x + M for x in range(3)][{e} % 3]"),
    )


def conditions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, st.sampled_from(["<", "<=", "==", "!=", ">"]), inner).map(" ".join),
        st.tuples(inner, inner, inner).map(" < ".join),
        inner.map(lambda e: f"not {e}"),
        st.sampled_from(
            [
                "True",
                "False",
                "flag()",
                "outside.flag",
                "M in (1, 2, 3)",
                "items == [1, 2]",
                "items",
                "__name__ == '__main__'",
            ]
        ),
    )


EXPRESSIONS = st.recursive(
    st.one_of(NUMBERS, st.sampled_from([*NAMES, "items[-1]", "True"])), _operations, max_leaves=4
)
TARGETS = st.sampled_from(NAMES)
SIMPLE = st.one_of(
    st.tuples(TARGETS, EXPRESSIONS).map(lambda t: f"{t[0]} = {t[1]}"),
    st.tuples(TARGETS, st.sampled_from(["+", "-", "*", "//", "%"]), EXPRESSIONS).map(
        lambda t: f"{t[0]} {t[1]}= {t[2]}"
    ),
    st.tuples(TARGETS, TARGETS, EXPRESSIONS).map(lambda t: f"{t[0]} = {t[1]} = {t[2]}"),
    st.tuples(TARGETS, EXPRESSIONS, EXPRESSIONS).map(lambda t: f"{t[0]}, *other = {t[1]}, {t[2]}"),
    st.tuples(TARGETS, EXPRESSIONS).map(lambda t: f"{t[0]}: int = {t[1]}"),
    st.tuples(TARGETS, EXPRESSIONS).map(lambda t: f"print({t[0]} := {t[1]})"),
    st.tuples(TARGETS, EXPRESSIONS).map(lambda t: f"assert ({t[0]} := {t[1]}) or True"),
    st.tuples(TARGETS, EXPRESSIONS).map(lambda t: f"[({t[0]} := x) for x in range({t[1]} % 3)]"),
    TARGETS.map(lambda n: f"globals()['{n}'] = 7"),
    TARGETS.map(lambda n: f"from outside import number as {n}"),
    TARGETS.map(lambda n: f"import outside as {n}"),
    EXPRESSIONS.map(lambda e: f"items.append({e})"),
    EXPRESSIONS.map(lambda e: f"other = items; other.append({e})"),
    EXPRESSIONS.map(lambda e: f"other = items; other += [{e}]"),
    EXPRESSIONS.map(lambda e: f"items[0] = {e}"),
    EXPRESSIONS.map(lambda e: f"items = [{e}, 2]"),
    EXPRESSIONS.map(lambda e: f"extend(items, {e})"),
    EXPRESSIONS.map(lambda e: f"box.M = {e}; M = box.M"),
    st.sampled_from(
        [
            "items.pop()",
            "items.reverse()",
            "outside.reverse(items)",
            "outside.call(shrink)",
            "shrink()",
            "del M",
            "M = grow()",
            "keep = shrink",
            "pass",
            "print(M)",
            "outside.call(lambda: items.append(5))",
            "run = shrink; run()",
            "exec('M = 5')",
            "N = len(items)",
            "from outside import *",
            "print(shrink())",
            "M = box.M",
            "N = late()",
            "M = counter()",
            "N = thing.sized()",
            "M = thing.size",
            "thing = Thing(M)",
            "M = Thing(K).grown().n",
            "thing.parts.append(N); M = len(thing.parts)",
            "M = len(Thing(3).parts)",
            "M = cached(N)",
            "pairs = zip(items, items); M = len(list(pairs)) + len(list(pairs))",
            "M = sum(x for x in items if isinstance(x, int))",
            "found = (x for x in items); M = len(list(found)); N = len(list(found))",
            "M = {k: v for v, k in enumerate(items)}.get(N, 4)",
            "M = early(N)",
            "M = any(x > 1 for x in items) + all(items)",
            "del items[0]",
            "outside.call(counter)",
            "outside.reverse(thing.parts)",
            "M = [*items, *range(2)][-1]",
            "M = sorted(items)[0]",
            "(M, N), K = (N, K), M",
            "M = twice(*items[:1])",
            "M = spread(1, *items, key=N)",
            "M = getattr(math, 'floor')(N)",
            "M = getattr(outside, 'number')",
            "for K in outside.items: pass",
            "M, N = outside.pair",
            "other = (items, 2); other[0].append(M)",
            "N = K; M = N",
            "M = later()",
            "last = lambda: M + len(items); N = last()",
            "M = K; N += M; K = 2",
            "again = count; again(); M = len(seen)",
            "thing.n = N",
            "same_thing = thing; same_thing.n += 1",
            "lazy = (x + M for x in items if isinstance(x, int))",
            "N = sum(lazy)",
            "M = count()",
        ]
    ),
)


def _blocks(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    two = st.tuples(inner, inner)
    tests = conditions(EXPRESSIONS)
    return st.one_of(
        st.tuples(tests, inner).map(lambda t: [f"if {t[0]}:", *_indented(t[1])]),
        st.tuples(tests, two).map(lambda t: [f"if {t[0]}:", *_indented(t[1][0]), "else:", *_indented(t[1][1])]),
        st.tuples(TARGETS, EXPRESSIONS, inner).map(lambda t: [f"for {t[0]} in range({t[1]} % 4):", *_indented(t[2])]),
        st.tuples(TARGETS, inner).map(lambda t: [f"for {t[0]} in items[:3]:", *_indented(t[1])]),
        inner.map(lambda b: ["while True:", *_indented(b), f"{INDENT}break"]),
        TARGETS.map(lambda n: [f"while {n} < 20:", f"{INDENT}{n} += abs({n}) + 1"]),
        two.map(
            lambda t: [
                "try:",
                *_indented(t[0]),
                f"{INDENT}1 // (M % 2)",
                "except ZeroDivisionError as N:",
                *_indented(t[1]),
            ]
        ),
        two.map(lambda t: ["try:", *_indented(t[0]), "finally:", *_indented(t[1])]),
        inner.map(lambda b: ["with contextlib.nullcontext():", *_indented(b)]),
        inner.map(
            lambda b: ["with contextlib.suppress(ZeroDivisionError):", f"{INDENT}outside.divide(M)", *_indented(b)]
        ),
        inner.map(lambda b: ["with contextlib.nullcontext(4) as M:", *_indented(b)]),
        inner.map(
            lambda b: [
                "match M:",
                f"{INDENT}case 1:",
                *_indented(_indented(b)),
                f"{INDENT}case N:",
                f"{INDENT}{INDENT}pass",
            ]
        ),
        inner.map(lambda b: ["def shrink():", f"{INDENT}global M", *_indented(b), f"{INDENT}M = 2"]),
        inner.map(
            lambda b: [
                "for K in range(3):",
                f"{INDENT}if K == 1:",
                f"{INDENT}{INDENT}continue",
                *_indented(b),
                f"{INDENT}if K > M:",
                f"{INDENT}{INDENT}break",
                "else:",
                f"{INDENT}N = 6",
            ]
        ),
        st.tuples(tests, inner).map(
            lambda t: [
                "def early(n):",
                f"{INDENT}M = n",
                f"{INDENT}if {t[0]}:",
                f"{INDENT}{INDENT}return 9",
                *_indented(t[1]),
                f"{INDENT}return M",
            ]
        ),
        inner.map(lambda b: ["def grow(n=M):", f"{INDENT}K = n", f"{INDENT}return K + N"]),
        inner.map(lambda b: ["class Box:", f"{INDENT}M = 3", "box = Box"]),
        st.just(["@outside.decorate", "def late():", f"{INDENT}return 3"]),
        st.just(["@same", "def late():", f"{INDENT}return 3"]),
    )


def _indented(lines: list[str]) -> list[str]:
    return [INDENT + line for line in lines]


LINES = st.recursive(
    SIMPLE.map(lambda s: [s]),
    lambda inner: st.lists(st.one_of(inner, _blocks(inner)), min_size=1, max_size=3).map(
        lambda parts: [line for part in parts for line in part]
    ),
    max_leaves=6,
)
PROLOGUE = """import contextlib
import functools
import math
import outside
from dataclasses import dataclass, field
M = 4
N = 5
K = 3
items = [1, 2]
def twice(x):
    return x + x
def same(f):
    return lambda: 8
def late():
    return K
def extend(many, one):
    many.append(one)
def grow(n=M):
    return n + K
class box:
    M = 6
def make(n):
    def count():
        nonlocal n
        n += 1
        return n
    return count
counter = make(2)
@dataclass
class Thing:
    n: int = 2
    parts: list = field(default_factory=list)
    @property
    def size(self):
        return self.n + len(self.parts)
    def sized(self, by=1):
        self.n += by
        return self.n
    def grown(self):
        return Thing(self.n + 1, self.parts)
thing = Thing()
@functools.lru_cache
def cached(n):
    global K
    K = n
    return n + 1
def later():
    return N + len(items)
def count(seen=[]):
    seen.append(1)
    return len(seen) + len(items)
lazy = (x for x in items)
seen = [3]
def early(n):
    if n > 2:
        return n
    for x in range(3):
        if x == n:
            return x + M
    return 4
def spread(*many, key=1):
    return len(many) + key
"""


@st.composite
def module_texts(draw: st.DrawFn) -> tuple[str, str]:
    """Draw the Python above a first program, and between it and a second one."""
    blocks = st.lists(st.one_of(LINES, _blocks(LINES)), max_size=5)
    above, between = ["\n".join(line for part in draw(blocks) for line in part) for _ in range(2)]
    return f"{PROLOGUE}{above}\n", f"{between}\n"


@st.composite
def function_bodies(draw: st.DrawFn) -> tuple[str, str]:
    """Draw the Python above and below a definition in a function, with returns that conditions guard."""
    returned = conditions(EXPRESSIONS).map(lambda test: [f"if {test}:", f"{INDENT}return 1"])
    chosen = st.tuples(conditions(EXPRESSIONS), LINES).map(
        lambda t: [f"if {t[0]}:", *_indented(t[1]), "else:", f"{INDENT}return 2"]
    )
    blocks = st.lists(st.one_of(LINES, _blocks(LINES), returned, chosen), max_size=4)
    above, below = ["\n".join(line for part in draw(blocks) for line in part) for _ in range(2)]
    return f"{above}\n", f"{below}\n"
