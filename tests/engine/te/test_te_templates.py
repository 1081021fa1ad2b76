"""AutoTVM templates: parameters are read with their first candidates, or with given values."""

from __future__ import annotations

import pytest

from tilewright.engine.adopt import Snippet, programs_in, read_nested_program
from tilewright.engine.script import ParseError

TEMPLATE = """\
import tvm
from tvm import autotvm, te

@autotvm.template("matmul")
def matmul(n):
    A = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * A[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    i, j = s[C].op.axis
    cfg = autotvm.get_config()
    {lines}
    return s, [A, C]
"""
SPLIT = "cfg.define_split('tile', i, num_outputs=3); a, b, c = cfg['tile'].apply(s, C, i)"


def opened(*lines: str, **given: int | str) -> Snippet:
    (program,) = programs_in(TEMPLATE.format(lines="\n    ".join(lines))).programs
    return read_nested_program(program, "", {"n": 64, **given})[0]


def splits(found: Snippet) -> list[object]:
    return [step.argument("factors") for step in found.schedule.trace.steps if step.method == "split"]


def test_split_begins_with_the_first_candidate() -> None:
    found = opened(SPLIT)
    assert splits(found) == [(None, 1), (None, 1)]
    assert "AutoTVM chooses tile: it is read with (-1, 1, 1), the first candidate" in [n.text for n in found.notes]


@pytest.mark.parametrize("value", ["4x8", "2x4x8"])
def test_given_sizes_are_those_of_the_split(value: str) -> None:
    found = opened(SPLIT, tile=value)
    assert splits(found) == [(None, 32), (None, 8)]
    assert any("the given value" in note.text for note in found.notes)


def test_sizes_that_do_not_divide_are_refused() -> None:
    with pytest.raises(ParseError, match="no candidate for tile"):
        opened(SPLIT, tile="3x8")


def test_filter_decides_the_first_candidate() -> None:
    line = "cfg.define_split('tile', i, num_outputs=2, filter=lambda x: x.size[-1] >= 4); cfg['tile'].apply(s, C, i)"
    assert splits(opened(line)) == [(None, 4)]


def test_candidates_of_a_split_begin_with_the_first() -> None:
    line = "cfg.define_split('tile', i, policy='candidate', candidate=[[-1, 16], [-1, 8]]); cfg['tile'].apply(s, C, i)"
    assert splits(opened(line)) == [(None, 16)]


def test_knob_is_its_first_candidate_or_the_given_value() -> None:
    lines = ("cfg.define_knob('parts', [8, 16])", "s[C].split(i, cfg['parts'].val)")
    assert splits(opened(*lines)) == [(None, 8)]
    assert splits(opened(*lines, parts=16)) == [(None, 16)]


def test_order_is_that_of_the_text_and_annotations_are_none() -> None:
    lines = (
        "cfg.define_reorder('order', [i, j, k], 'all'); cfg['order'].apply(s, C, [i, j, k])",
        "cfg.define_annotate('ann', [i, j], policy='try_unroll_vec'); cfg['ann'].apply(s, C, [i, j])",
        "if cfg.is_fallback: cfg.fallback_split('tile', [-1, 8])",
    )
    methods = [step.method for step in opened(*lines).schedule.trace.steps]
    assert "unroll" not in methods and "vectorize" not in methods


def test_config_of_an_operator_is_not_asked_for() -> None:
    text = (
        "from tvm import autotvm, te\n@autotvm.register_topi_compute('scale.cpu')\ndef scale(config, x):\n"
        "    config.add_flop(x.shape[0])\n    return te.compute(x.shape, lambda *i: x(*i) * 2, name='y')\n"
    )
    (program,) = programs_in(text).programs
    assert program.label == "scale with x (tensor)"
    assert read_nested_program(program, "", {"x": "4x8xfloat32"})[0].program is not None
