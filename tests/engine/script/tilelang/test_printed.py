"""The source of a kernel and the tile IR that TileLang prints for it are one program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from support.tile_kernels import kernel

from tilewright.engine.arith import simplify
from tilewright.engine.execute import random_inputs, run
from tilewright.engine.ir import (
    Block,
    BlockRealize,
    Expr,
    FloatImm,
    For,
    Mul,
    Node,
    PrimFunc,
    SeqStmt,
    build,
    first_difference,
    rewrite,
    walk,
)
from tilewright.engine.lower import pipelined, planned
from tilewright.engine.script import parse
from tilewright.engine.script.tilelang.names import LAYOUTS, WHOLE

RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "printed.json").read_text())
"""Made by `tests/support/record/tile_ir.py`."""

EXPANDED = ("indices",)
"""Kernels that TileLang prints with copies which it adds: it reduces shared memory in registers."""


def source_of(record: dict[str, Any]) -> PrimFunc:
    return kernel(record["file"], "transposed" if "layout" in record["given"] else "", **record["given"])


def plain(func: PrimFunc) -> PrimFunc:
    """Return a program without the form of its constants: TileLang prints `T.infinity("float32") * T.float32(-1.0)`."""

    def leave(node: Node) -> Node:
        match node:
            case Mul(a=FloatImm(value=a, dtype=dtype), b=FloatImm(value=b)):
                return FloatImm(a * b, dtype)
            case Expr(dtype="int32" | "int64" | "bool"):
                return simplify(node)
            case For(annotations=notes):  # the printed form has lost the layouts, and its buffers may have other names
                return replace(
                    node, annotations=tuple((key, value) for key, value in notes if key not in (LAYOUTS, WHOLE))
                )
            case _:
                return node

    return rewrite(replace(func, attrs=()), leave)


@pytest.mark.parametrize(
    "record",
    [r for r in RECORDED if r["file"] not in EXPANDED],
    ids=lambda r: f"{r['file']}-{'-'.join(map(str, r['given'].values()))}",
)
def test_source_and_printed_form_are_equal(record: dict[str, Any]) -> None:
    printed = parse(record["text"]).program
    assert isinstance(printed, PrimFunc)
    assert first_difference(plain(source_of(record)), plain(printed)) is None


@pytest.mark.parametrize("record", [r for r in RECORDED if r["file"] in EXPANDED], ids=lambda r: r["file"])
def test_printed_form_with_added_copies_computes_the_same(record: dict[str, Any]) -> None:
    printed = parse(record["text"]).program
    assert isinstance(printed, PrimFunc)
    inputs = random_inputs(printed, integers=(0, 9))
    inputs["lengths"][0] = 7
    source = run(source_of(record), {name: array.copy() for name, array in inputs.items()})
    np.testing.assert_array_equal(source["out"], run(printed, inputs)["out"])


def pipelines(func: PrimFunc) -> list[dict[str, list[int]]]:
    """Return the stages and orders of the loops of a program, with one entry for an init and its reduction."""
    found: list[dict[str, list[int]]] = []
    for loop in walk(func):
        notes = dict(loop.annotations) if isinstance(loop, For) else {}
        if isinstance(loop, For) and "software_pipeline_stage" in notes:
            stages, orders = ([n.value for n in notes[f"software_pipeline_{key}"]] for key in ("stage", "order"))
            body = loop.body.block.body if isinstance(loop.body, BlockRealize) else loop.body
            assert isinstance(body, SeqStmt)
            names = [next(block.name for block in walk(part) if isinstance(block, Block)) for part in body.seq]
            kept = [n for n, name in enumerate(names) if not name.endswith("_init")]
            places = sorted(orders[n] for n in kept)
            found.append({"stage": [stages[n] for n in kept], "order": [places.index(orders[n]) for n in kept]})
    return found


@pytest.mark.parametrize("record", RECORDED, ids=lambda r: f"{r['file']}-{'-'.join(map(str, r['given'].values()))}")
def test_stages_and_orders_are_those_of_tilelang(record: dict[str, Any]) -> None:
    assert pipelines(source_of(record)) == record["pipelines"]


@pytest.mark.parametrize("record", RECORDED, ids=lambda r: f"{r['file']}-{'-'.join(map(str, r['given'].values()))}")
def test_slots_are_those_of_tilelang(record: dict[str, Any]) -> None:
    found = pipelined(planned(source_of(record)).func).buffers
    slots = {buffer.name: build.int_value(slotted.shape[0]) for buffer, slotted in found.items()}
    assert slots == record["slots"]


@pytest.mark.parametrize("record", RECORDED, ids=lambda r: f"{r['file']}-{'-'.join(map(str, r['given'].values()))}")
def test_no_two_loops_share_a_variable(record: dict[str, Any]) -> None:
    loops = [node.loop_var for node in walk(source_of(record)) if isinstance(node, For)]
    assert len(loops) == len(set(loops))
