"""Relax functions as graphs: read, printed and read back, or refused with a line."""

# ruff: noqa: E501

from __future__ import annotations

import pytest
from support.pasted.relax_modules import HEAD, KERNELS, MAIN, MODEL, OPEN

from tilewright.engine.ir import Network
from tilewright.engine.script import ParseError, expr_text, parse
from tilewright.engine.script.relax import graph_text, parse_network, read_graph


def calls(network: Network) -> list[tuple[str, list[str], list[str]]]:
    return [(c.kernel, [t.name for t in c.arguments], [t.name for t in c.results]) for c in network.graph.calls]


def test_calls_of_a_module_have_their_tensors() -> None:
    network = parse_network(MODEL)
    assert calls(network) == [
        ("scale", ["w"], ["ready"]),
        ("scale", ["x"], ["lv"]),
        ("both", ["lv", "ready"], ["lv1_0", "lv1_1"]),
        ("again", ["lv1_1"], ["lv4"]),
        ("both", ["lv4", "constant0"], ["lv5_0", "lv5_1"]),
    ]
    graph = network.graph
    assert [t.name for t in graph.inputs] == ["x"] and [t.name for t in graph.weights] == ["w", "constant0"]
    assert graph.results == (graph.calls[-1].results[0],)
    assert [f.name for f in network.kernels] == ["scale", "both", "again"]
    assert [expr_text(e) for e in graph.weights[1].shape] == ["16", "16"] and graph.weights[1].dtype == "float32"


def test_the_text_of_a_graph_is_read_back() -> None:
    for text in (MODEL, OPEN):
        network = parse_network(text)
        printed = graph_text(network.graph)
        again = read_graph(printed, {f.name: f for f in network.kernels})
        assert calls(again) == calls(network) and graph_text(again.graph) == printed
        assert [len(again.graph.inputs), len(again.graph.weights)] == [
            len(network.graph.inputs),
            len(network.graph.weights),
        ]


def test_called_relax_functions_have_the_sizes_of_the_arguments() -> None:
    network = parse_network(OPEN)
    assert [c.kernel for c in network.graph.calls] == ["relu"] * 4
    assert [expr_text(c.sizes["m"]) for c in network.graph.calls] == ["n", "n", "n * T.int64(2)", "n * T.int64(2)"]
    assert len({id(t) for c in network.graph.calls for t in c.results}) == 4
    assert network.graph.weights == ()  # no attribute num_input: all parameters are inputs


def test_in_place_calls_and_scalars_are_kept() -> None:
    kernel = """
    @T.prim_func(private=True, s_tir=True)
    def shift(x: T.Buffer((16,), "float32"), by: T.int64):
        for i in range(16):
            with T.sblock("shift"):
                vi = T.axis.spatial(16, i)
                x[vi] = x[vi] + T.Cast("float32", by)

    @R.function
    def main(x: R.Tensor((16,), dtype="float32"), s: R.Shape(["n"])):
        cls = Module
        gv = R.call_tir_inplace(cls.shift, (x,), inplace_indices=[0], out_ty=R.Tensor((16,), dtype="float32"), tir_vars=R.shape([n]))
        return gv
"""
    network = parse_network(HEAD + kernel)
    (call,) = network.graph.calls
    assert call.in_place == (0,) and [expr_text(e) for e in call.scalars] == ["n"]
    assert "inplace_indices=[0]" in graph_text(network.graph) and "tir_vars=R.shape([n])" in graph_text(network.graph)


LINE = MODEL.split("\n").index(next(line for line in MODEL.split("\n") if "lv = R" in line)) + 1


@pytest.mark.parametrize(
    ("before", "after", "code", "words"),
    [
        ("cls.scale, (x,)", "cls.missing, (x,)", "unknown-kernel", "missing"),
        ("cls.scale, (x,)", "cls.scale, (y,)", "unknown-name", "no value"),
        ("cls.scale, (x,)", "cls.scale, (x, w)", "wrong-type", "2 parameters"),
        ("R.call_tir(cls.scale, (x,), out_ty=R.Tensor((16, 16)", "R.call_tir(cls.scale, (x,), out_ty=R.Tensor((8, 16)", "wrong-type", "lv is float32[8, 16]"),
        ('R.call_tir(cls.scale, (x,), out_ty=R.Tensor((16, 16), dtype="float32"))', "R.add(x, x)", "not-lowered", "R.add"),
        ('R.call_tir(cls.scale, (x,), out_ty=R.Tensor((16, 16), dtype="float32"))', 'R.call_dps_packed("f", (x,), out_ty=R.Tensor((16, 16), dtype="float32"))', "unsupported", "external"),
        ("            lv = R.call_tir(cls.scale, (x,)", "            x[0] = R.call_tir(cls.scale, (x,)", "unsupported", "not part of a graph"),
        ("cls.scale, (x,)", "cls.scale, (x[0],)", "out-of-range", "no elements"),
    ],
)  # fmt: skip
def test_what_is_no_graph_of_kernels_is_refused_at_its_line(before: str, after: str, code: str, words: str) -> None:
    assert MODEL.count(before) == 1
    with pytest.raises(ParseError) as caught:
        parse_network(MODEL.replace(before, after), "model.py")
    refusal = caught.value.refusal
    assert refusal.code == code and words in refusal.message and refusal.expected
    assert refusal.place is not None and (refusal.place.line, refusal.place.file) == (LINE, "model.py")


def test_no_or_recursive_relax_function_is_refused() -> None:
    with pytest.raises(ParseError, match="no relax function"):
        parse_network(HEAD + KERNELS)
    with pytest.raises(ParseError, match="no relax function other"):
        parse_network(MODEL, function="other")
    endless = OPEN.replace(
        'lv = R.call_tir(cls.relu, (a,), out_sinfo=R.Tensor((k, 8), dtype="float32"))', "lv = cls.twice(a)"
    )
    with pytest.raises(ParseError, match="twice calls itself"):
        parse_network(endless)
    with pytest.raises(ParseError, match="returns nothing"):
        parse_network(MODEL.replace("        return gv\n", ""))
    assert "@R.function" in MAIN


def test_functions_of_python_in_a_module_are_left_out_with_a_note() -> None:
    found = parse(
        "from tvm.script import ir as I, tirx as T\n\n@I.ir_module\nclass M(BasePyModule):\n"
        "    @I.pyfunc\n    def run(self, x):\n        return self.call_tir(self.add, [x])\n\n"
        '    @T.prim_func(s_tir=True)\n    def add(x: T.Buffer((4,), "float32")):\n'
        '        for i in range(4):\n            with T.sblock("x"):\n                v = T.axis.spatial(4, i)\n'
        "                x[v] = x[v] + T.float32(1)\n"
    )
    assert [note.text for note in found.notes] == ["the Python function run is not a tensor program and is skipped"]
