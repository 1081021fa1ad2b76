"""Vectors and launched threads: read as TVM prints them, and printed unchanged."""

from __future__ import annotations

import pytest
from support.programs.vectors import READ_ONLY, RUNS, vector_text

from tilewright.engine.ir import LaunchThread, first_difference, walk
from tilewright.engine.script import parse, to_script

TEXTS = {name: vector_text(*lines) for name, (lines, _) in RUNS.items()}
TEXTS |= {name: vector_text(*lines) for name, lines in READ_ONLY.items()}


@pytest.mark.parametrize("name", TEXTS)
def test_each_statement_with_vectors_prints_as_read(name: str):
    func = parse(TEXTS[name]).program
    written = [line for line in to_script(func).splitlines() if "T.reads" not in line and "T.writes" not in line]
    assert [line for line in TEXTS[name].splitlines()[4:] if line not in written] == []


@pytest.mark.parametrize("dialect", ["current", "classic"])
@pytest.mark.parametrize("name", TEXTS)
def test_printed_vectors_read_back_the_same(name: str, dialect: str):
    func = parse(TEXTS[name]).program
    assert first_difference(func, parse(to_script(func, dialect)).program) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("B[0:4] = A[4:8]", "B[0:4] = A[T.Ramp(4, 1, 4)]"),
        ('B[0:4] = A.vload([4], "float32x4")', "B[0:4] = A[T.Ramp(4, 1, 4)]"),
        ("B[0:4] = A[0:8:2]", "B[0:4] = A[T.Ramp(0, 2, 4)]"),
        ("B[0:4] = T.float32x4(0)", "B[0:4] = T.Broadcast(T.float32(0.0), 4)"),
        ("B[0:4] = T.broadcast(A[0], 4) * 2.0", "B[0:4] = T.Broadcast(A[0], 4) * T.Broadcast(T.float32(2.0), 4)"),
        ("B[T.ramp(0, 1, 4)] = W[0:4]", 'B[0:4] = T.Cast("float32x4", W[T.Ramp(0, 1, 4)])'),
        ("B[0:1] = A[3:4]", "B[0] = A[3]"),
    ],
)
def test_another_spelling_is_the_same_program(old: str, new: str):
    assert first_difference(parse(vector_text(old)).program, parse(vector_text(new)).program) is None


def test_launched_threads_scope_over_their_followers():
    func = parse(vector_text('x = T.launch_thread("threadIdx.x", 16)', "B[x] = A[x]", "B[x] = B[x] + A[x]")).program
    (launch,) = (node for node in walk(func) if isinstance(node, LaunchThread))
    assert (launch.thread_tag, launch.var.name, launch.extent.value) == ("threadIdx.x", "x", 16)  # type: ignore[attr-defined]
    assert len(launch.body.seq) == 2  # type: ignore[attr-defined]
