"""Constants of Python code above and around a program: they have the values that Python computes, or the program is refused."""

from __future__ import annotations

import contextlib
import io
import textwrap
from types import SimpleNamespace
from typing import Any

from hypothesis import given, note
from hypothesis import strategies as st
from support.pasted.module_texts import PROLOGUE, function_bodies, module_texts

from tilewright import TilewrightError
from tilewright.engine.adopt import programs_in, read_as_far_as_possible, read_nested_program, read_program
from tilewright.engine.ir import BufferStore, IntImm, IRModule, PrimFunc, walk

PROGRAM = """
@T.prim_func
def {name}(a: T.Buffer((M,), "int32"), b: T.Buffer((M,), "int32")):
    for i in range(M):
        with T.block("b"):
            vi = T.axis.spatial(M, i)
            b[vi] = N
"""
IMPORTS = "import tvm\nfrom tvm.script import tir as T\n"
PROSE = "# These lines decide how large the arrays of both programs are.\n# The second program comes after the first one.\n\n"
Constants = tuple[int, int]


def computed(text: str) -> list[Constants | None]:
    """Return the constants (M, N) at each call of `record()`, as Python computes them; None for other values than integers."""
    found: list[Constants | None] = []

    def record(m: Any, n: Any) -> None:
        found.append((m, n) if type(m) is int and type(n) is int else None)

    outside = SimpleNamespace(
        flag=True,
        number=6,
        items=(1, 2),
        pair=(7, 8),
        reverse=lambda items: items.reverse(),
        call=lambda f: f(),
        decorate=lambda f: lambda: 11,
        divide=lambda n: 1 // (n % 2),
    )
    names: dict[str, Any] = {
        "__name__": "__main__",
        "record": record,
        "flag": lambda: True,
        "__builtins__": _with_import(outside),
    }
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(text, "text", "exec"), names)  # the text is made by this test
    return found


def _with_import(outside: SimpleNamespace) -> dict[str, Any]:
    import builtins

    def imported(name: str, *args: Any) -> Any:
        return outside if name == "outside" else __import__(name, *args)

    return {**vars(builtins), "__import__": imported}


def constants_of(program: PrimFunc | IRModule) -> Constants:
    func = program if isinstance(program, PrimFunc) else program.functions[0]
    size, (store,) = func.buffers[0].shape[0], [node for node in walk(func) if isinstance(node, BufferStore)]
    assert isinstance(size, IntImm) and isinstance(store.value, IntImm)
    return size.value, store.value.value


def read(text: str, name: str, *, as_post: bool) -> Constants | None:
    """Return the constants of the scheduled program of a text; None if it is refused."""
    try:
        if as_post:
            sliced = next(program for program in programs_in(text).programs if program.name == name)
            return constants_of(read_program(sliced).program)
        return constants_of(read_as_far_as_possible(text).program)
    except TilewrightError as error:
        assert error.refusal.code != "internal-error", error
        return None


@given(texts=module_texts())
def test_law_constants_above_a_program_are_right_or_refused(texts: tuple[str, str]) -> None:
    above, between = texts
    expected = computed(f"{above}record(M, N)\n{between}record(M, N)\n")
    first, second = (PROGRAM.format(name=name) for name in ("first", "second"))
    for number, name in enumerate(("first", "second")):
        text = f"{IMPORTS}{above}{first}{between}{second if number else ''}sch = tvm.tir.Schedule({name})\n"
        note(text)
        for as_post in (False, True):
            found = read(PROSE + text if as_post else text, name, as_post=as_post)
            if number < len(expected) and expected[number] is not None:
                assert found is None or found == expected[number], f"as a post: {as_post}"


START = "M = n\nN = 5\nK = 3\nitems = [1, 2]\n"
COMPUTED = "def made(x: te.Tensor):\n    return te.compute((M,), lambda i: N, name='b')\n"
RECORDED = "def made(x=None):\n    record(M, N)\n"


def in_function(*lines: str) -> str:
    return f"{PROLOGUE}def make(n):\n{textwrap.indent(''.join(lines), '    ')}    return 0\n"


def read_in_function(text: str, size: int) -> Constants | None:
    """Return the constants of the program in the function, for its parameter; None if it is refused."""
    try:
        (program,) = [found for found in programs_in(text).programs if found.name.startswith("make.")]
        return constants_of(read_nested_program(program, "", {"n": size, "x": "4xint32"})[0].program)
    except TilewrightError as error:
        assert error.refusal.code != "internal-error", error
        return None


@given(bodies=function_bodies(), size=st.integers(1, 6))
def test_law_constants_of_a_program_in_a_function_are_those_of_a_run(bodies: tuple[str, str], size: int) -> None:
    above, below = bodies
    found = read_in_function(IMPORTS + in_function(START, above, PROGRAM.format(name="program"), below), size)
    expected = computed(f"{in_function(START, above, 'record(M, N)', chr(10), below)}make({size})\n")
    note(in_function(START, above, "record(M, N)\n", below))
    if expected and expected[0] is not None:
        assert found is None or found == expected[0]


@given(bodies=function_bodies(), size=st.integers(1, 6))
def test_law_constants_of_a_function_that_computes_are_those_of_its_call(bodies: tuple[str, str], size: int) -> None:
    above, below = bodies
    found = read_in_function(
        f"{IMPORTS}from tvm import te\n" + in_function(START, above, COMPUTED, "use(made)\n", below), size
    )
    expected = computed(f"{in_function(START, above, RECORDED, 'made()', chr(10), below)}make({size})\n")
    note(in_function(START, above, COMPUTED, "use(made)\n", below))
    if expected and expected[0] is not None:
        assert found is None or found == expected[0]
