"""Calls on wild programs that once changed the meaning: found by the laws of wild programs, minimised and kept."""

from __future__ import annotations

import numpy as np
import pytest

from tilewright.engine.execute import run
from tilewright.engine.ir import RegionMap, build, first_difference
from tilewright.engine.lower import lower
from tilewright.engine.schedule import Schedule, ScheduleError
from tilewright.engine.script import parse, to_script

HEAD = "@T.prim_func(s_tir=True)\ndef main({}):\n"


def function(params, body):
    """A function of the named int32 buffers."""
    declared = ", ".join(f'{name}: T.Buffer({shape}, "int32")' for name, shape in params.items())
    lines = body.strip("\n").splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return HEAD.format(declared) + "\n".join("    " + line[indent:] for line in lines) + "\n"


REFUSED = {
    "a cache of an output that a block inside stores to through a view of a view before another one reads it": (
        function(
            {"A": (1,), "R": (1,)},
            """
            with T.sblock("outer"):
                vo = T.axis.spatial(1, 0)
                T.reads(R[0], A[0])
                T.writes(R[0])
                with T.sblock("first"):
                    T.reads()
                    T.writes(R[0])
                    V = T.match_buffer(R[0], (1,), "int32")
                    with T.sblock("second"):
                        T.reads()
                        T.writes(V[0])
                        W = T.match_buffer(V[0], (1,), "int32")
                        with T.sblock("begin"):
                            T.reads()
                            T.writes(W[0])
                            W[0] = 0
                for i, j in T.grid(1, 3):
                    with T.sblock("add"):
                        T.where(i * 3 + j < 1)
                        T.reads(R[0], A[0])
                        T.writes(R[0])
                        R[0] = R[0] + A[0]
            """,
        ),
        lambda s: s.cache_inplace("outer", 0, "local"),
        "region-not-covered",
    ),
    "a cache of an output that the block stores to before it reads it": (
        function(
            {"A": (3,), "P": (3,), "Q": (3,)},
            """
            for i in range(3):
                with T.sblock("P"):
                    v = T.axis.spatial(3, i)
                    T.reads(A[v], P[v])
                    T.writes(P[v], Q[v])
                    P[v] = A[v] + 1
                    Q[v] = P[v] * 2
            """,
        ),
        lambda s: s.cache_inplace("P", 1, "local"),
        "region-not-covered",
    ),
    "a sum under a loop that takes its terms again in each iteration of one around both places": (
        function(
            {"A": (2, 5), "O": (1, 5)},
            """
            P = T.sblock_alloc_buffer((2, 5), "int32")
            for i, j in T.grid(3, 5):
                for a in range(2):
                    with T.sblock("P"):
                        vi = T.axis.spatial(2, i + a)
                        vj = T.axis.spatial(5, j)
                        T.where(i + a < 2)
                        P[vi, vj] = A[vi, vj]
                for w in range(2):
                    with T.sblock("O"):
                        vi = T.axis.spatial(1, i)
                        vj = T.axis.spatial(5, j)
                        vw = T.axis.reduce(2, w)
                        T.where(i < 1)
                        with T.init():
                            O[vi, vj] = 0
                        O[vi, vj] = O[vi, vj] + P[vi + vw, vj]
            """,
        ),
        lambda s: s.reverse_compute_at("O", s.get_loops("P")[2]),
        "reduction-repeated",
    ),
    "an order of loops in which sums of digits do not start at their first": (
        function(
            {"A": (8, 6), "R": (8,)},
            """
            for a, f, b, e in T.grid(4, 3, 2, 2):
                with T.sblock("R"):
                    v = T.axis.spatial(8, a * 2 + (f * 2 + b) // 3)
                    k = T.axis.reduce(6, (f * 2 + b) % 3 * 2 + e)
                    with T.init():
                        R[v] = 0
                    R[v] = R[v] + A[v, k]
            """,
        ),
        lambda s: s.reorder(*map(s.get_loop, "abfe")),
        "order-dependent",
    ),
    "a copy of nothing, for what is read beside the buffer under a condition that never holds": (
        function(
            {"A": (5,), "C": (8,)},
            """
            for i in range(1):
                with T.sblock("outer"):
                    v = T.axis.spatial(1, i)
                    T.reads(A[-2])
                    T.writes(C[0:8])
                    for j in range(8):
                        with T.sblock("C"):
                            w = T.axis.spatial(8, j)
                            T.reads(A[-2])
                            T.writes(C[w])
                            C[w] = T.if_then_else(w < 0, A[-2], 7)
            """,
        ),
        lambda s: s.cache_read("C", 0, "local"),
        "outside-buffer",
    ),
    "the init of an opaque iterator that runs inside": (
        function(
            {"A": (6, 3), "C": (6,)},
            """
            for i, j, k in T.grid(2, 3, 3):
                with T.sblock("C"):
                    v = T.axis.opaque(6, i * 3 + j)
                    w = T.axis.reduce(3, k)
                    T.reads(A[v, w])
                    T.writes(C[v])
                    with T.init():
                        C[v] = 0
                    C[v] = C[v] + A[v, w]
            """,
        ),
        lambda s: s.blockize(s.get_loops("C")[1]),
        "opaque-iterator",
    ),
    "a copy of elements that the uneven split of their producer leaves out": (
        function(
            {"A": (6,), "C": (6,)},
            """
            with T.sblock("low"):
                T.reads(A[0:5])
                T.writes(C[0:5])
                for i, j in T.grid(3, 2):
                    with T.sblock("C_init"):
                        v = T.axis.spatial(5, i * 2 + j)
                        T.where(i * 2 + j < 5)
                        C[v] = 0
                    with T.sblock("C"):
                        v = T.axis.spatial(5, i * 2 + j)
                        T.where(i * 2 + j < 5)
                        T.reads(C[v], A[v])
                        T.writes(C[v])
                        C[v] = C[v] + A[v]
            for i in range(1):
                with T.sblock("last"):
                    v = T.axis.spatial(6, 5)
                    C[v] = A[v]
            """,
        ),
        lambda s: s.cache_inplace("C", 0, "local"),
        "region-not-covered",
    ),
    "a value whose buffer a condition reads, stored as another": (
        function(
            {"A": (4,), "C": (4,)},
            """
            S = T.sblock_alloc_buffer((4,), "int32")
            L = T.sblock_alloc_buffer((4,), "int32")
            for i in range(4):
                with T.sblock("S"):
                    v = T.axis.spatial(4, i)
                    S[v] = A[v]
            for i in range(4):
                with T.sblock("L"):
                    v = T.axis.spatial(4, i)
                    L[v] = S[v]
            for i in range(4):
                if S[i] > 0:
                    with T.sblock("C"):
                        v = T.axis.spatial(4, i)
                        C[v] = L[v]
            """,
        ),
        lambda s: s.reverse_compute_inline("L"),
        "opaque-access",
    ),
    "the init of sums that overlapping tiles take twice": (
        function(
            {"A": (13,), "C": (6,)},
            """
            S = T.sblock_alloc_buffer((11,), "int32")
            for o in range(2):
                for i, k in T.grid(7, 3):
                    with T.sblock("S"):
                        v = T.axis.spatial(11, o * 6 + i)
                        w = T.axis.reduce(3, k)
                        T.where(o * 6 + i < 11)
                        with T.init():
                            S[v] = 0
                        S[v] = S[v] + A[v + w]
                for i in range(3):
                    with T.sblock("C"):
                        v = T.axis.spatial(6, o * 3 + i)
                        C[v] = S[v * 2]
            """,
        ),
        lambda s: s.decompose_reduction("S", s.get_loops("S")[0]),
        "order-dependent",
    ),
    "padding of a spatial iterator of one value, which all elements share": (
        function(
            {"A": (4,), "B": (1, 4), "C": (4,)},
            """
            for u, i in T.grid(1, 4):
                with T.sblock("C"):
                    x, v = T.axis.remap("SS", [u, i])
                    with T.init():
                        C[v] = A[v]
                    C[v] = C[v] + B[x, v]
            """,
        ),
        lambda s: s.pad_einsum("C", [3, 2]),
        "not-an-einsum",
    ),
    "padding of an output that is written in part": (
        function(
            {"A": (3,), "C": (3,)},
            """
            S = T.sblock_alloc_buffer((3, 8), "int32")
            for i, j in T.grid(3, 5):
                with T.sblock("S"):
                    v = T.axis.spatial(3, i)
                    w = T.axis.spatial(8, j)
                    S[v, w] = A[v]
            for i in range(3):
                with T.sblock("C"):
                    v = T.axis.spatial(3, i)
                    C[v] = S[v, 4]
            """,
        ),
        lambda s: s.pad_einsum("S", [4, 1]),
        "not-an-einsum",
    ),
    "a block moved into an init": (
        function(
            {"A": (4,), "C": (4,)},
            """
            S = T.sblock_alloc_buffer((4,), "int32")
            for u in range(1):
                with T.sblock("both"):
                    x = T.axis.reduce(1, u)
                    T.reads(A[0:4])
                    T.writes(C[0:4])
                    with T.init():
                        for j in range(4):
                            with T.sblock("C_init"):
                                v = T.axis.spatial(4, j)
                                C[v] = 0
                    for i in range(4):
                        with T.sblock("S"):
                            v = T.axis.spatial(4, i)
                            S[v] = A[v]
                    for i in range(4):
                        with T.sblock("C"):
                            v = T.axis.spatial(4, i)
                            C[v] = C[v] + S[v]
            """,
        ),
        lambda s: s.reverse_compute_at("S", "j"),
        "in-init",
    ),
    "a copy in of what an init inside is about to write": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for n in range(1):
                with T.sblock("both"):
                    T.reads(A[0:4], C[0:4])
                    T.writes(C[0:4])
                    for i in range(4):
                        with T.sblock("C_init"):
                            v = T.axis.spatial(4, i)
                            C[v] = 0
                        for k in range(2):
                            with T.sblock("C"):
                                v = T.axis.spatial(4, i)
                                w = T.axis.reduce(2, k)
                                C[v] = C[v] + A[v]
            """,
        ),
        lambda s: s.cache_inplace("both", 1, "local"),
        "region-not-covered",
    ),
    "a copy in of what the block makes itself": (
        function(
            {"A": (4,), "B": (4,), "C": (4,)},
            """
            for n in range(1):
                with T.sblock("both"):
                    T.reads(A[0:4], B[0:4])
                    T.writes(B[0:4], C[0:4])
                    for i in range(4):
                        with T.sblock("B"):
                            v = T.axis.spatial(4, i)
                            B[v] = A[v]
                    for i in range(4):
                        with T.sblock("C"):
                            v = T.axis.spatial(4, i)
                            C[v] = B[v]
            """,
        ),
        lambda s: s.cache_inplace("both", 1, "local"),
        "not-in-place",
    ),
    "an init in a view that is the block's own": (
        function(
            {"A": (4, 3), "C": (4,)},
            """
            for i, k in T.grid(4, 3):
                with T.sblock("C"):
                    v, r = T.axis.remap("SR", [i, k])
                    T.reads(A[v, r])
                    T.writes(C[v])
                    view = T.match_buffer(C[v:v + 1], (1,), "int32")
                    with T.init():
                        view[0] = 0
                    view[0] = view[0] + A[v, r]
            """,
        ),
        lambda s: s.decompose_reduction("C", s.get_loops("C")[1]),
        "own-buffer",
    ),
    "a copy for an init": (
        function(
            {"A": (4, 3), "bias": (4,), "C": (4,)},
            """
            with T.sblock("sum"):
                u = T.axis.reduce(1, 0)
                T.reads(A[0:4, 0:3], bias[0:4])
                T.writes(C[0:4])
                with T.init():
                    for i in range(4):
                        with T.sblock("C_init"):
                            v = T.axis.spatial(4, i)
                            C[v] = bias[v]
                for i, k in T.grid(4, 3):
                    with T.sblock("C"):
                        v, r = T.axis.remap("SR", [i, k])
                        C[v] = C[v] + A[v, r]
            """,
        ),
        lambda s: s.cache_read("C_init", 0, "local"),
        "in-init",
    ),
    "a copy below a loop of an init": (
        function(
            {"A": (4, 3), "bias": (4,), "C": (4,)},
            """
            with T.sblock("sum"):
                u = T.axis.reduce(1, 0)
                T.reads(A[0:4, 0:3], bias[0:4])
                T.writes(C[0:4])
                with T.init():
                    for i in range(4):
                        with T.sblock("C_init"):
                            v = T.axis.spatial(4, i)
                            C[v] = bias[v]
                for i, k in T.grid(4, 3):
                    with T.sblock("C"):
                        v, r = T.axis.remap("SR", [i, k])
                        C[v] = C[v] + A[v, r]
            """,
        ),
        lambda s: s.read_at(s.get_loops("C_init")[0], "C_init", 0, "local"),
        "in-init",
    ),
    "a block that comes to read what is yet to be made": (
        function(
            {"A": (8,), "C": (8,)},
            """
            X = T.sblock_alloc_buffer((8,), "int32")
            Y = T.sblock_alloc_buffer((8,), "int32")
            for i in range(8):
                with T.sblock("X"):
                    v = T.axis.spatial(8, i)
                    X[v] = A[v]
                with T.sblock("Y"):
                    v = T.axis.spatial(8, i)
                    Y[v] = X[v]
                for j in range(4):
                    with T.sblock("C"):
                        v = T.axis.spatial(8, i + j)
                        T.where(j < 1)
                        C[v] = Y[v]
            """,
        ),
        lambda s: s.compute_at("Y", "j"),
        "not-ready",
    ),
    "a padding of what is stored only now and then": (
        function(
            {"A": (3,), "C": (3,)},
            """
            for i in range(3):
                with T.sblock("C"):
                    v = T.axis.spatial(3, i)
                    if A[v] > 0:
                        C[v] = A[v]
            """,
        ),
        lambda s: s.pad_einsum("C", (2,)),
        "not-an-einsum",
    ),
    "a copy of what a tile would read past the end": (
        function(
            {"A": (7,), "C": (7,)},
            """
            for i in range(3):
                with T.sblock("tile"):
                    v = T.axis.spatial(3, i)
                    T.reads(A[v * 3:v * 3 + 3])
                    T.writes(C[v * 3:v * 3 + 3])
                    for j in range(3):
                        with T.sblock("C"):
                            w = T.axis.spatial(3, j)
                            T.where(v * 3 + j < 7)
                            C[v * 3 + w] = A[v * 3 + w]
            """,
        ),
        lambda s: s.cache_read("C", 0, "local"),
        "outside-buffer",
    ),
    "a tile of one that is filled in the first iteration only": (
        function(
            {"A": (3,), "C": (1,)},
            """
            X = T.sblock_alloc_buffer((1, 3), "int32")
            for i in range(4):
                for j in range(3):
                    with T.sblock("X"):
                        v = T.axis.spatial(1, i)
                        w = T.axis.spatial(3, j)
                        T.where(i < 1)
                        X[0, w] = A[w]
            for k in range(3):
                with T.sblock("C"):
                    r = T.axis.reduce(3, k)
                    with T.init():
                        C[0] = 0
                    C[0] = C[0] + X[0, r]
            """,
        ),
        lambda s: s.reverse_compute_at("C", "i"),
        "not-ready",
    ),
    "a copy of what a view beside it changes": (
        function(
            {"A": (6, 2), "C": (6, 1)},
            """
            for i in range(2):
                with T.sblock("tile"):
                    v = T.axis.spatial(2, i)
                    T.reads(A[v * 3:v * 3 + 3, 0:2])
                    T.writes(C[v * 3:v * 3 + 3, 0])
                    rows = T.match_buffer(C[v * 3:v * 3 + 3, 0], (3, 1), "int32")
                    for n in range(3):
                        with T.sblock("first"):
                            w = T.axis.spatial(3, n)
                            C[v * 3 + w, 0] = 0
                    for k, n in T.grid(2, 3):
                        with T.sblock("sum"):
                            w, r = T.axis.remap("SR", [n, k])
                            rows[w, 0] = rows[w, 0] + A[v * 3 + w, r]
            """,
        ),
        lambda s: s.cache_write("first", 0, "local"),
        "opaque-access",
    ),
    "a padding of what lies between iterators around the block": (
        function(
            {"A": (4, 4), "C": (4, 4)},
            """
            for i in range(4):
                with T.sblock("row"):
                    v = T.axis.spatial(4, i)
                    for j in range(4):
                        with T.sblock("C"):
                            w = T.axis.spatial(4, j)
                            C[v, w] = A[v, w]
            """,
        ),
        lambda s: s.pad_einsum("C", (3,)),
        "not-an-einsum",
    ),
    "a sum whose last term has the init": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for i, k in T.grid(4, 4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    r = T.axis.reduce(4, 3 - k)
                    with T.init():
                        C[v] = 0
                    C[v] = C[v] + A[r]
            """,
        ),
        lambda s: s.decompose_reduction("C", s.get_loops("C")[1]),
        "order-dependent",
    ),
    "an init for two elements that are one": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for i, k in T.grid(4, 4):
                with T.sblock("C"):
                    v, r = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[v // 2] = 0
                    C[v // 2] = C[v // 2] + A[r]
            """,
        ),
        lambda s: s.decompose_reduction("C", s.get_loops("C")[0]),
        "order-dependent",
    ),
    "a sum that never begins": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for i, k in T.grid(4, 0):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    r = T.axis.reduce(4, k)
                    with T.init():
                        C[v] = 0
                    C[v] = C[v] + A[r]
            """,
        ),
        lambda s: s.decompose_reduction("C", s.get_loops("C")[1]),
        "order-dependent",
    ),
    "an inner sum that goes on with the outer one": (
        function(
            {"A": (4, 4), "C": (4,)},
            """
            for i, k in T.grid(4, 4):
                with T.sblock("outer"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    for t in range(1):
                        with T.sblock("C"):
                            v = T.axis.spatial(4, vi)
                            r = T.axis.reduce(4, vk)
                            with T.init():
                                C[v] = 0
                            C[v] = C[v] + A[v, r]
            """,
        ),
        lambda s: s.cache_write("C", 0, "local"),
        "reads-own-output",
    ),
    "a term taken twice below the sum": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for i, k, again in T.grid(4, 4, 2):
                with T.sblock("C"):
                    v, r = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[v] = 0
                    C[v] = C[v] + A[r]
            """,
        ),
        lambda s: s.reorder(*reversed(s.get_loops("C"))),
        "order-dependent",
    ),
    "an update in place by several iterations at once": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for t, i in T.grid(3, 4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    C[v] = C[v] + A[v]
            """,
        ),
        lambda s: s.parallel(s.get_loops("C")[0]),
        "order-dependent",
    ),
    "a scan inside of a block": (
        function(
            {"A": (4,), "C": (4, 4)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    for r in range(1, 4):
                        C[v, r] = C[v, r - 1] + A[r]
            """,
        ),
        lambda s: s.parallel("r"),
        "not-in-blocks",
    ),
    "a loop inside of a block, unevenly": (
        function(
            {"A": (5,), "C": (4, 5)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    for r in range(5):
                        C[v, r] = A[r]
            """,
        ),
        lambda s: s.split("r", [None, 2]),
        "not-in-blocks",
    ),
    "a condition on data, unevenly": (
        function(
            {"A": (5,), "C": (5,)},
            """
            for i in range(5):
                if A[i] > 0:
                    with T.sblock("C"):
                        v = T.axis.spatial(5, i)
                        C[v] = A[v]
            """,
        ),
        lambda s: s.split("i", [None, 2]),
        "opaque-access",
    ),
    "a value of each moment, wanted at the end": (
        function(
            {"A": (4,), "P": (4,), "C": (3, 4)},
            """
            B = T.sblock_alloc_buffer((3, 4), "int32")
            for t in range(3):
                for i in range(4):
                    with T.sblock("P"):
                        v = T.axis.spatial(4, i)
                        P[v] = P[v] + 1
                for i in range(4):
                    with T.sblock("B"):
                        vt, v = T.axis.remap("SS", [t, i])
                        B[vt, v] = P[v]
            for t, i in T.grid(3, 4):
                with T.sblock("C"):
                    vt, v = T.axis.remap("SS", [t, i])
                    C[vt, v] = B[vt, v]
            """,
        ),
        lambda s: s.compute_inline("B"),
        "not-final",
    ),
    "a producer under a condition": (
        function(
            {"A": (4,), "P": (4,), "C": (4,)},
            """
            for i in range(4):
                if i > 1:
                    with T.sblock("P"):
                        v = T.axis.spatial(4, i)
                        P[v] = A[v]
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    C[v] = P[v]
            """,
        ),
        lambda s: s.reverse_compute_at("C", s.get_loops("P")[0]),
        "region-not-covered",
    ),
    "a loop that never runs": (
        function(
            {"A": (4,), "C": (4,)},
            """
            X = T.sblock_alloc_buffer((4,), "int32")
            for i in range(0):
                with T.sblock("X"):
                    v = T.axis.spatial(4, i)
                    X[v] = A[v]
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    C[v] = A[v]
            """,
        ),
        lambda s: s.reverse_compute_at("C", s.get_loops("X")[0]),
        "loop-may-not-run",
    ),
    "a triangle, moved as a square": (
        function(
            {"A": (4,), "C": (4, 4)},
            """
            X = T.sblock_alloc_buffer((4,), "int32")
            for i in range(4):
                with T.sblock("X"):
                    v = T.axis.spatial(4, i)
                    X[v] = A[v]
            for i in range(4):
                for j in range(i + 1):
                    with T.sblock("C"):
                        v = T.axis.spatial(4, i)
                        w = T.axis.spatial(4, j)
                        C[v, w] = A[w]
            """,
        ),
        lambda s: s.reverse_compute_at("C", s.get_loops("X")[0]),
        "partial-domain",
    ),
    "a domain that is larger than the buffer": (
        function(
            {"A": (2,), "C": (1,)},
            """
            X = T.sblock_alloc_buffer((1,), "int32")
            Y = T.sblock_alloc_buffer((1,), "int32")
            for i in range(1):
                with T.sblock("X"):
                    v = T.axis.spatial(1, i)
                    X[v] = A[v]
            for i in range(1):
                with T.sblock("Y"):
                    v = T.axis.spatial(2, i + 1)
                    Y[v - 1] = X[v // 2]
            for i in range(1):
                with T.sblock("C"):
                    v = T.axis.spatial(1, i)
                    C[v] = Y[v]
            """,
        ),
        lambda s: s.reverse_compute_at("Y", s.get_loops("X")[0]),
        "partial-domain",
    ),
    "what was there before the writer": (
        function(
            {"A": (4,), "Q": (6,), "C": (6,)},
            """
            for i in range(4):
                with T.sblock("Q"):
                    v = T.axis.spatial(4, i)
                    Q[5 - v] = A[v]
            for i in range(6):
                with T.sblock("C"):
                    v = T.axis.spatial(6, i)
                    C[v] = Q[v]
            """,
        ),
        lambda s: s.reverse_compute_at("C", s.get_loops("Q")[0]),
        "region-not-covered",
    ),
    "a cache of what is updated in place": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    C[v] = C[v] + A[v]
            """,
        ),
        lambda s: s.cache_write("C", 0, "local"),
        "reads-own-output",
    ),
    "a cache of what is scattered": (
        function(
            {"A": (4,), "places": (4,), "C": (8,)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    C[places[v] % 8] = A[v]
            """,
        ),
        lambda s: s.cache_write("C", 0, "local"),
        "region-not-covered",
    ),
    "a block that uses its loop directly": (
        function(
            {"A": (4,), "C": (4,)},
            """
            X = T.sblock_alloc_buffer((4,), "int32")
            for i in range(4):
                with T.sblock("X"):
                    X[i] = A[i]
            for j in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, j)
                    C[v] = X[v]
            """,
        ),
        lambda s: s.compute_at("X", s.get_loops("C")[0]),
        "opaque-iterator",
    ),
    "a region by what memory holds, which the call cannot say again": (
        function(
            {"A": (8,), "places": (4,), "C": (4,)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    T.reads(A[places[v]], places[v])
                    T.writes(C[v])
                    C[v] = A[places[v]]
            """,
        ),
        lambda s: declare_as_it_is(s, "C", 0),
        "bad-region",
    ),
    "a reader that leaves a sum that each iteration had of its own": (
        function(
            {"A": (4,), "C": (3,)},
            """
            X = T.sblock_alloc_buffer((4,), "int32")
            Y = T.sblock_alloc_buffer((3,), "int32")
            for i in T.parallel(3):
                for j, k in T.grid(2, 1):
                    with T.sblock("X"):
                        v = T.axis.spatial(4, i + j)
                        r = T.axis.reduce(1, k)
                        with T.init():
                            X[v] = 0
                        X[v] = X[v] + A[v]
                for j in range(2):
                    with T.sblock("Y"):
                        v, r = T.axis.remap("SR", [i, j])
                        with T.init():
                            Y[v] = 0
                        Y[v] = Y[v] + X[v + r]
            for n in range(3):
                with T.sblock("C"):
                    v = T.axis.spatial(3, n)
                    C[v] = Y[v]
            """,
        ),
        lambda s: s.compute_at("Y", "n"),
        "order-dependent",
    ),
    "a sum of which several iterations at once come to take terms": (
        function(
            {"A": (4,), "C": (1,)},
            """
            X = T.sblock_alloc_buffer((4,), "int32")
            for i in T.vectorized(4):
                with T.sblock("X"):
                    v = T.axis.spatial(4, i)
                    X[v] = A[v]
            for n in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(1, 0)
                    r = T.axis.reduce(4, n)
                    with T.init():
                        C[v] = 0
                    C[v] = C[v] + X[r]
            """,
        ),
        lambda s: s.reverse_compute_at("C", "i"),
        "reduction-in-parallel",
    ),
}


def declare_as_it_is(sch, block, position):
    """annotate_buffer_access with the region that the block reads."""
    body = sch.get(block)
    ends = tuple((axis.min, build.add(axis.min, axis.extent)) for axis in body.reads[position].region)
    ranges = RegionMap(tuple(iv.var for iv in body.iter_vars), ends)
    sch.annotate_buffer_access(block, position, "read", ranges)


@pytest.mark.parametrize("name", REFUSED)
def test_call_that_would_change_the_meaning_is_refused(name):
    text, call, code = REFUSED[name]
    sch = Schedule(parse(text).program)
    with pytest.raises(ScheduleError) as refused:
        call(sch)
    assert refused.value.code == code
    assert sch.mod is sch.original


KEPT = {
    "places without an element, of a buffer that a block under a condition has": (
        function(
            {"A": (7, 6), "C": (7, 6)},
            """
            for i in range(7):
                with T.sblock("outer"):
                    v = T.axis.spatial(7, i)
                    T.where(i < 5)
                    T.reads(A[v, 0:6])
                    T.writes(C[v, 0:6])
                    L = T.sblock_alloc_buffer((7, 6), "int32", scope="local")
                    for j in range(6):
                        with T.sblock("L"):
                            w = T.axis.spatial(6, j)
                            L[v, w] = A[v, w]
                    for j in range(6):
                        with T.sblock("C"):
                            w = T.axis.spatial(6, j)
                            C[v, w] = L[v, w]
            """,
        ),
        lambda s: s.transform_layout("L", ("write", 0), lambda i, j: [i, j // 4, j % 4], pad_value=7),
    ),
    "an init of what does not run": (
        function(
            {"A": (2,), "C": (2,)},
            """
            for n in range(1):
                with T.sblock("outer"):
                    T.reads(A[0:2])
                    T.writes(C[0:2])
                    for i in range(4, 5):
                        with T.sblock("C"):
                            v = T.axis.spatial(2, n * 5 + i)
                            r = T.axis.reduce(1, 0)
                            T.where(n * 5 + i < 2)
                            with T.init():
                                C[v] = 0
                            C[v] = C[v] + A[v]
            """,
        ),
        lambda s: s.blockize(s.get_loops("C")[0]),
    ),
    "a table of what a block computes in between": (
        function(
            {"A": (4, 3), "C": (4,)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    T.reads(A[v, 0:3])
                    T.writes(C[v])
                    twice: T.let[T.int32] = A[v, 0] * 2
                    for r in range(3):
                        C[v] = (twice + 1) * (r * 2 + 1)
            """,
        ),
        lambda s: s.cache_index("C", "global", 0),
    ),
    "an index of an index that is laid out anew": (
        function(
            {"A": (4,), "C": (4,)},
            """
            X = T.sblock_alloc_buffer((4,), "int32")
            for i in range(4):
                with T.sblock("X"):
                    v = T.axis.spatial(4, i)
                    X[v] = 3 - v
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    T.reads(A[X[v]], X[v])
                    T.writes(C[v])
                    C[v] = A[X[v]]
            """,
        ),
        lambda s: s.transform_layout("X", ("write", 0), lambda i: [i // 2, i % 2]),
    ),
    "a sum whose output rolls along the axis of its iterator": (
        function(
            {"A": (3, 10), "C": (8,)},
            """
            X = T.sblock_alloc_buffer((10,), "int32")
            for t in range(2):
                for k, j in T.grid(3, 6):
                    with T.sblock("X"):
                        r = T.axis.reduce(3, k)
                        v = T.axis.spatial(10, t * 4 + j)
                        T.reads(A[r, v])
                        T.writes(X[v])
                        with T.init():
                            X[v] = 0
                        X[v] = X[v] + A[r, v]
                for j in range(4):
                    with T.sblock("C"):
                        v = T.axis.spatial(8, t * 4 + j)
                        C[v] = X[v] + X[v + 2]
            """,
        ),
        lambda s: s.rolling_buffer("X", 0),
    ),
    "a view of a view, in another memory": (
        function(
            {"A": (4, 3), "C": (4, 3)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    T.reads(A[v, 0:3])
                    T.writes(C[v, 0:3])
                    row = T.match_buffer(A[v, 0:3], (3,), "int32")
                    with T.sblock("inner"):
                        T.reads(row[0:3])
                        T.writes(C[v, 0:3])
                        same = T.match_buffer(row[0:3], (3,), "int32")
                        for j in range(3):
                            C[v, j] = same[j]
            """,
        ),
        lambda s: s.cache_read("C", 0, "shared"),
    ),
    "a copy of a tile that does not divide the buffer": (
        function(
            {"A": (5,), "C": (5,)},
            """
            X = T.sblock_alloc_buffer((5,), "int32")
            for i in range(2):
                for j in range(3):
                    with T.sblock("X"):
                        v = T.axis.spatial(5, i * 3 + j)
                        T.where(i * 3 + j < 5)
                        X[v] = A[v]
                for j in range(3):
                    with T.sblock("C"):
                        v = T.axis.spatial(5, i * 3 + j)
                        T.where(i * 3 + j < 5)
                        C[v] = X[v]
            """,
        ),
        lambda s: (s.cache_read("C", 0, "local"), s.cache_write("X", 0, "shared")),
    ),
    "rows apart, of a buffer that comes to live inside of the block": (
        function(
            {"A": (4, 3), "C": (4, 3)},
            """
            X = T.sblock_alloc_buffer((4, 3), "int32")
            for i in range(4):
                with T.sblock("row"):
                    v = T.axis.spatial(4, i)
                    T.reads(A[v, 0:3])
                    T.writes(C[v, 0:3], X[v, 0:3])
                    for j in range(3):
                        with T.sblock("X"):
                            w = T.axis.spatial(3, j)
                            X[v, w] = A[v, w]
                    for j in range(3):
                        with T.sblock("C"):
                            w = T.axis.spatial(3, j)
                            C[v, w] = X[v, w]
            """,
        ),
        lambda s: s.storage_align("row", 1, 0, 4, 1),
    ),
    "a loop in pieces, each with a view of its own": (
        function(
            {"A": (4, 3), "C": (4, 3)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    T.reads(A[v, 0:3])
                    T.writes(C[v, 0:3])
                    row = T.match_buffer(C[v, 0:3], (3,), "int32")
                    for j in range(3):
                        row[j] = A[v, j]
            """,
        ),
        lambda s: s.loop_partition("i", [1]),
    ),
    "a loop in pieces, each with a view that has an offset of its own": (
        function(
            {"A": (4, 3), "C": (4, 3)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    T.reads(A[v, 0:3])
                    T.writes(C[v, 0:3])
                    row = T.match_buffer(C[v, 0:3], (3,), "int32", offset_factor=1)
                    for j in range(3):
                        row[j] = A[v, j]
            """,
        ),
        lambda s: (s.loop_partition("i", [1, None, 1]), s.loop_partition("i1", [1])),
    ),
    "a tile that declares what lies before the buffer, through a cache": (
        function(
            {"A": (4,), "C": (4,)},
            """
            with T.sblock("tile"):
                T.reads(A[-1:4])
                T.writes(C[0:4])
                for i in range(4):
                    with T.sblock("C"):
                        v = T.axis.spatial(4, i)
                        T.reads(A[v - 1])
                        T.writes(C[v])
                        C[v] = T.if_then_else(0 <= v - 1, A[v - 1], 0)
            """,
        ),
        lambda s: s.cache_read("C", 0, "local"),
    ),
    "read before it is overwritten, through a cache": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    C[v] = A[v]
            for i in range(4):
                with T.sblock("A"):
                    v = T.axis.spatial(4, i)
                    A[v] = C[v] + 1
            """,
        ),
        lambda s: s.cache_read("C", 0, "local"),
    ),
    "written behind its reader, through a cache": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    C[v] = A[v]
            for i in range(4):
                with T.sblock("A"):
                    v = T.axis.spatial(4, i)
                    A[v] = C[v] + 1
            """,
        ),
        lambda s: s.cache_write("A", 0, "local"),
    ),
    "an init that reads": (
        function(
            {"A": (4, 4), "bias": (4,), "C": (4,)},
            """
            X = T.sblock_alloc_buffer((4,), "int32")
            for i in range(4):
                with T.sblock("X"):
                    v = T.axis.spatial(4, i)
                    X[v] = bias[v]
            for i, k in T.grid(4, 4):
                with T.sblock("C"):
                    v, r = T.axis.remap("SR", [i, k])
                    with T.init():
                        C[v] = X[v]
                    C[v] = C[v] + A[v, r]
            """,
        ),
        lambda s: (s.decompose_reduction("C", s.get_loops("C")[0]), s.compute_at("X", s.get_loops("C_init")[0])),
    ),
    "loops that never run, joined": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for i, j in T.grid(4, 0):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    w = T.axis.spatial(4, j)
                    C[v] = A[w]
            """,
        ),
        lambda s: s.fuse(*s.get_loops("C")),
    ),
    "a predicate on data, unevenly": (
        function(
            {"A": (5,), "C": (5,)},
            """
            for i in range(5):
                with T.sblock("C"):
                    v = T.axis.spatial(5, i)
                    T.where(A[i] > 0)
                    C[v] = A[v]
            """,
        ),
        lambda s: s.split("i", [None, 2]),
    ),
    "uneven tiles in blocks of their own, written through a cache": (
        function(
            {"A": (5,), "C": (5,)},
            """
            S = T.sblock_alloc_buffer((5,), "int32")
            for o in range(2):
                with T.sblock("tile"):
                    T.reads(A[o * 4:o * 4 + 4])
                    T.writes(S[o * 4:o * 4 + 4])
                    for i in range(4):
                        with T.sblock("S"):
                            v = T.axis.spatial(5, o * 4 + i)
                            T.where(o * 4 + i < 5)
                            S[v] = A[v]
            for i in range(5):
                with T.sblock("C"):
                    v = T.axis.spatial(5, i)
                    C[v] = S[v]
            """,
        ),
        lambda s: s.cache_write("S", 0, "local"),
    ),
    "iterators of two types": (
        """
@T.prim_func(s_tir=True)
def main(A: T.Buffer((T.int64(5),), "int32"), C: T.Buffer((T.int64(3),), "int32")):
    S = T.sblock_alloc_buffer((T.int64(5),), "int32")
    for i, u in T.grid(T.int64(5), 1):
        with T.sblock("S"):
            w, v = T.axis.remap("RS", [u, i])
            with T.init():
                S[v] = 0
            S[v] = S[v] + A[v]
    for i, k in T.grid(T.int64(3), T.int64(3)):
        with T.sblock("C"):
            v, w = T.axis.remap("SR", [i, k])
            with T.init():
                C[v] = 0
            C[v] = C[v] + S[v + w]
""",
        lambda s: s.compute_at("S", s.get_loops("C")[0], keep_tiling=True),
    ),
    "a place that a block looks up in a table of its own": (
        function(
            {"A": (8, 4), "C": (4,)},
            """
            for i in range(4):
                with T.sblock("outer"):
                    v = T.axis.spatial(4, i)
                    T.reads(A[v * 2, v])
                    T.writes(C[v])
                    place = T.sblock_alloc_buffer((1,), "int32")
                    with T.sblock("place"):
                        place[0] = v * 2
                    with T.sblock("C"):
                        T.reads(A[place[0], v], place[0])
                        T.writes(C[v])
                        C[v] = A[place[0], v]
            """,
        ),
        lambda s: (s.set_axis_separator("outer", ("read", 0), [1]), s.cache_read("outer", 0, "local")),
    ),
    "an init under a condition on a loop outside and on one of one trip inside, which it does not stand in": (
        function(
            {"A": (2,), "C": (1,)},
            """
            for i, j, k in T.grid(2, 1, 2):
                with T.sblock("C"):
                    v = T.axis.spatial(1, 0)
                    vk = T.axis.reduce(2, k)
                    T.where(i + j < 1)
                    with T.init():
                        C[v] = 0
                    C[v] = C[v] + A[vk]
            """,
        ),
        lambda s: s.decompose_reduction("C", s.get_loops("C")[1]),
    ),
    "a buffer that a call made, given as itself": (
        function(
            {"A": (4,), "C": (4,)},
            """
            for i in range(4):
                with T.sblock("C"):
                    v = T.axis.spatial(4, i)
                    C[v] = A[v]
            """,
        ),
        lambda s: (s.cache_read("C", 0, "local"), s.set_scope("C", s.get("C").reads[0].buffer, "shared")),
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_law_changed_wild_programs_compute_the_same(name):
    text, call = KEPT[name]
    sch = Schedule(parse(text).program)
    generator = np.random.default_rng(0)
    arrays = {b.name: generator.integers(-9, 9, [e.value for e in b.shape], "int32") for b in sch.func.buffers}
    before = run(sch.func, arrays)
    call(sch)
    after = run(sch.func, arrays)
    assert all((before[name] == after[name]).all() for name in before)
    assert sch.verify().status == "tested"
    assert first_difference(parse(to_script(sch.func)).program, sch.func) is None
    assert first_difference(sch.replayed().func, sch.func) is None
    lowered = run(lower(sch.func), arrays)
    assert all((before[name] == lowered[name]).all() for name in before)
