"""TVM's JSON as TVM 0.8 to 0.20 writes it: attributes are text, and refer to nodes by number."""

# ruff: noqa: E501

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


class OldGraph:
    """Builds a graph node by node; each method returns the number of its node as text."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]

    def add(self, kind: str, attrs: Mapping[str, Any] | None = None, **more: Any) -> str:
        node: dict[str, Any] = {"type_key": kind, **more}
        if attrs is not None:
            node["attrs"] = {"span": "0", **{key: str(value) for key, value in attrs.items()}}
        self.nodes.append(node)
        return str(len(self.nodes) - 1)

    def text(self, value: str) -> str:
        return self.add("runtime.String", repr_str=value) if value else self.add("runtime.String")

    def array(self, *items: str) -> str:
        return self.add("Array", data=[int(item) for item in items]) if items else self.add("Array")

    def table(self, pairs: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> str:
        if isinstance(pairs, Mapping):
            return self.add("Map", keys=[*pairs], data=[int(value) for value in pairs.values()])
        return self.add("Map", data=[int(item) for pair in pairs for item in pair]) if pairs else self.add("Map")

    def number(self, value: int, dtype: str = "int32") -> str:
        return self.add("IntImm", {"dtype": dtype, "value": value})

    def var(self, name: str, dtype: str = "int32", kind: str = "0") -> str:
        return self.add("tir.Var", {"dtype": dtype, "name": self.text(name), "type_annotation": kind})

    def buffer(self, name: str, shape: Sequence[int], dtype: str = "float32", scope: str = "global") -> str:
        pointer = self.add(
            "PointerType", {"element_type": self.add("PrimType", {"dtype": dtype}), "storage_scope": self.text(scope)}
        )
        attrs = {
            "axis_separators": self.array(), "buffer_type": 1, "data": self.var(name, "handle", pointer), "data_alignment": 64,
            "dtype": dtype, "elem_offset": self.number(0), "name": self.text(name), "offset_factor": 1,
            "shape": self.array(*map(self.number, shape)), "strides": self.array(),
        }  # fmt: skip
        return self.add("tir.Buffer", attrs)

    def range(self, extent: int | str, low: str = "") -> str:
        return self.add(
            "Range",
            {"min": low or self.number(0), "extent": self.number(extent) if isinstance(extent, int) else extent},
        )

    def region(self, buffer: str, *points: str) -> str:
        ranges = [self.range(1, point) for point in points]
        return self.add("tir.BufferRegion", {"buffer": buffer, "region": self.array(*ranges)})

    def json(self, root: str) -> str:
        return json.dumps(
            {"root": int(root), "nodes": self.nodes, "b64ndarrays": [], "attrs": {"tvm_version": "0.12.0"}}
        )


def twice_module(scale: float = 2.0, loop_kind: int = 0) -> str:
    """`b[i] = a[i] * 2` in a module, with an allocated copy of `a` as TVM 0.12 writes it."""
    g = OldGraph()
    a, b, copy = g.buffer("A", [64]), g.buffer("B", [64]), g.buffer("A_local", [64], scope="local")
    handles = [g.var("a", "handle"), g.var("b", "handle")]

    def nest(name: str, source: str, target: str, factor: float | None) -> str:
        loop, inner = g.var("i"), g.var("vi")
        axis = g.add("tir.IterVar", {"dom": g.range(64), "var": inner, "iter_type": 0, "thread_tag": g.text("")})
        value = g.add("tir.BufferLoad", {"buffer": source, "dtype": "float32", "indices": g.array(inner)})
        if factor is not None:
            value = g.add(
                "tir.Mul",
                {"a": value, "b": g.add("FloatImm", {"dtype": "float32", "value": factor}), "dtype": "float32"},
            )
        store = g.add("tir.BufferStore", {"buffer": target, "indices": g.array(inner), "value": value})
        block = _block(
            g, name, store, [axis], [g.region(source, inner)], [g.region(target, inner)], {"note": g.number(1)}
        )
        realize = g.add(
            "tir.BlockRealize", {"block": block, "iter_values": g.array(loop), "predicate": g.number(1, "bool")}
        )
        attrs = {
            "annotations": g.table(),
            "body": realize,
            "extent": g.number(64),
            "kind": loop_kind,
            "loop_var": loop,
            "min": g.number(0),
            "thread_binding": "0",
        }
        return g.add("tir.For", attrs)

    body = g.add("tir.SeqStmt", {"seq": g.array(nest("copy", a, copy, None), nest("twice", copy, b, scale))})
    root = _block(g, "root", body, [], [], [], {}, [copy])
    realize = g.add("tir.BlockRealize", {"block": root, "iter_values": g.array(), "predicate": g.number(1, "bool")})
    attributes = g.add(
        "DictAttrs", {"__dict__": g.table({"global_symbol": g.text("main"), "tir.noalias": g.number(1, "bool")})}
    )
    function = g.add("tir.PrimFunc", {
        "attrs": attributes, "body": realize, "buffer_map": g.table([(handles[0], a), (handles[1], b)]), "params": g.array(*handles),
        "ret_type": g.add("TupleType", {"fields": g.array()}),
    })  # fmt: skip
    name = g.add("GlobalVar", {"name_hint": g.text("main")})
    return g.json(
        g.add(
            "IRModule",
            {"attrs": "0", "functions": g.table([(name, function)]), "global_var_map_": g.table({"main": name})},
        )
    )


def _block(
    g: OldGraph,
    name: str,
    body: str,
    axes: Sequence[str],
    reads: Sequence[str],
    writes: Sequence[str],
    notes: Mapping[str, str],
    allocated: Sequence[str] = (),
) -> str:
    return g.add("tir.Block", {
        "alloc_buffers": g.array(*allocated), "annotations": g.table(notes) if notes else g.table(), "body": body, "init": "0",
        "iter_vars": g.array(*axes), "match_buffers": g.array(), "name_hint": g.text(name), "reads": g.array(*reads), "writes": g.array(*writes),
    })  # fmt: skip
