"""Causal attention; and random loop nests with triangular, trapezoidal and shifted inner loops, staged through a scratchpad."""

from __future__ import annotations

from random import Random

from tilewright.engine.ir import PrimFunc
from tilewright.engine.script import parse

HEAD = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def nest(X: T.Buffer((8192, 8), "float32"), Y: T.Buffer((8192, 8), "float32")):
    with T.sblock("root"):
{buffers}
{body}
"""


ATTENTION = """from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def attention(Q: T.Buffer(({n}, 64), "float32"), K: T.Buffer(({n}, 64), "float32"),
              V: T.Buffer(({n}, 64), "float32"), O: T.Buffer(({n}, 64), "float32")):
    for q in range({nq}):
        with T.sblock("row"):
            vq = T.axis.spatial({nq}, q)
            T.reads(Q[vq * {t}:vq * {t} + {t}, 0:64], K[0:{n}, 0:64], V[0:{n}, 0:64])
            T.writes(O[vq * {t}:vq * {t} + {t}, 0:64])
            ql = T.sblock_alloc_buffer(({t}, 64), scope="local.vtcm")
            kl = T.sblock_alloc_buffer(({t}, 64), scope="local.vtcm")
            vl = T.sblock_alloc_buffer(({t}, 64), scope="local.vtcm")
            s = T.sblock_alloc_buffer(({t}, {t}), scope="local.vtcm")
            p = T.sblock_alloc_buffer(({t}, {t}), scope="local.vtcm")
            o = T.sblock_alloc_buffer(({t}, 64), scope="local.vtcm")
            for i, d in T.grid({t}, 64):
                with T.sblock("load_q"):
                    vi, vd = T.axis.remap("SS", [i, d])
                    ql[vi, vd] = Q[vq * {t} + vi, vd]
            for i, d in T.grid({t}, 64):
                with T.sblock("zero"):
                    vi, vd = T.axis.remap("SS", [i, d])
                    o[vi, vd] = T.float32(0)
            for k in range(vq + 1):
                for i, d in T.grid({t}, 64):
                    with T.sblock("load_k"):
                        vi, vd = T.axis.remap("SS", [i, d])
                        kl[vi, vd] = K[k * {t} + vi, vd]
                for i, d in T.grid({t}, 64):
                    with T.sblock("load_v"):
                        vi, vd = T.axis.remap("SS", [i, d])
                        vl[vi, vd] = V[k * {t} + vi, vd]
                for i, j in T.grid({t}, {t}):
                    with T.sblock("s_init"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        s[vi, vj] = T.float32(0)
                for i, j, d in T.grid({t}, {t}, 64):
                    with T.sblock("qk"):
                        vi, vj, vd = T.axis.remap("SSR", [i, j, d])
                        s[vi, vj] = s[vi, vj] + ql[vi, vd] * kl[vj, vd]
                for i, j in T.grid({t}, {t}):
                    with T.sblock("mask"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        p[vi, vj] = {weight}
                for i, j, d in T.grid({t}, {t}, 64):
                    with T.sblock("pv"):
                        vi, vd, vj = T.axis.remap("SSR", [i, d, j])
                        o[vi, vd] = o[vi, vd] + p[vi, vj] * vl[vj, vd]
            for i, d in T.grid({t}, 64):
                with T.sblock("store"):
                    vi, vd = T.axis.remap("SS", [i, d])
                    O[vq * {t} + vi, vd] = o[vi, vd]
"""


def causal_attention(n: int, tile: int, *, mask: bool = False) -> str:
    """The text of causal attention on `n` rows of 64 in tiles: each row of tiles up to the diagonal, whose tiles may have a mask."""
    weight = "T.exp(s[vi, vj])"
    if mask:
        weight = f"T.if_then_else(k * {tile} + vj <= vq * {tile} + vi, {weight}, T.float32(0))"
    return ATTENTION.format(n=n, t=tile, nq=n // tile, weight=weight)


IN_TRIANGLE = """        for p in range({n}):
            for q in range({middle}):
                for k in range({inner}):
                    for i, j in T.grid(8, 8):
                        with T.sblock("load"):
                            vi, vj = T.axis.remap("SS", [i, j])
                            b0[vi, vj] = X[k * 8 + vi, vj]
                    for i, j in T.grid(8, 8):
                        with T.sblock("add"):
                            vi, vj = T.axis.remap("SS", [i, j])
                            b1[vi, vj] = b0[vi, vj] + b1[vi, vj]
                for i, j in T.grid(8, 8):
                    with T.sblock("store"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        Y[q * 8 + vi, vj] = b1[vi, vj]"""


def triangle_in_triangle(n: int, middle: str, inner: str) -> str:
    """The text of a nest over `p`, `q` and `k` with these trip counts of `q` and `k`."""
    buffers = "\n".join(f'        b{m} = T.sblock_alloc_buffer((8, 8), scope="local")' for m in range(2))
    return HEAD.format(buffers=buffers, body=IN_TRIANGLE.format(n=n, middle=middle, inner=inner))


def triangular(rng: Random, scope: str = "local") -> PrimFunc:
    """A nest over `q`, perhaps inside of a loop, with inner loops whose trip counts follow it."""
    return parse(triangular_text(rng, scope)).program


def triangular_text(rng: Random, scope: str = "local") -> str:
    """The same, as text."""
    return _Maker(rng, scope).text()


def doubly_triangular(rng: Random) -> PrimFunc:
    """A nest over `q` with a triangle in each iteration: a loop `k` that follows `q`, with loops that follow `q` and `k`."""
    return parse(_Maker(rng, "local").nested()).program


class _Maker:
    def __init__(self, rng: Random, scope: str) -> None:
        self.rng = rng
        self.count = rng.choice([6, 16, 30, 45, 64])
        self.buffers = [f"b{n}" for n in range(rng.randint(2, 4))]
        self.scope = scope
        self.lines: list[str] = []
        self.blocks = 0

    def text(self) -> str:
        depth = 2
        loops: list[str] = []
        if self.rng.random() < 0.3:
            self.line(depth, f"for b in range({self.rng.choice([2, 3, 7])}):")
            depth, loops = depth + 1, ["b"]
        self.line(depth, f"for q in range({self.count}):")
        loops = [*loops, "q"]
        for _ in range(self.rng.randint(1, 4)):
            if self.rng.random() < 0.55:
                self.inner(depth + 1, loops)
            else:
                self.task(depth + 1, loops)
        if not any("for k" in line for line in self.lines):
            self.inner(depth + 1, loops)
        if self.rng.random() < 0.3:
            self.task(2, [])
        return self.program()

    def program(self) -> str:
        buffers = "\n".join(
            f'        {name} = T.sblock_alloc_buffer((8, 8), scope="{self.scope}")' for name in self.buffers
        )
        return HEAD.format(buffers=buffers, body="\n".join(self.lines))

    def nested(self) -> str:
        """A nest whose inner loops have inner loops with trip counts that follow them."""
        rng = self.rng
        self.count = n = rng.choice([6, 16, 22, 30])
        depth, loops = 2, ["q"]
        if rng.random() < 0.15:
            self.line(depth, "for b in range(2):")
            depth, loops = depth + 1, ["b", "q"]
        self.line(depth, f"for q in range({n}):")
        for _ in range(rng.randint(1, 2)):
            if rng.random() < 0.3:
                self.task(depth + 1, loops)
            self.line(depth + 1, f"for k in range({self.follows('q', n)}):")
            for part in range(rng.randint(1, 2)):
                if rng.random() < 0.3:
                    self.task(depth + 2, [*loops, "k"])
                var = f"k{part}"
                self.line(depth + 2, f"for {var} in range({rng.choice([self.follows('k', 2 * n), self.both(n)])}):")
                for kind in rng.sample(range(4), 2):
                    self.task(depth + 3, [*loops, "k", var], kind)
        if rng.random() < 0.3:
            self.task(depth + 1, loops)
        return self.program()

    def follows(self, var: str, most: int) -> str:
        """A trip count that follows a loop of at most `most` iterations."""
        rng, more = self.rng, self.rng.randint(0, 3)
        return rng.choice([f"{var} + {more}", f"{var} + {more}", f"{most} - {var}", f"2 * {var} + {more}",
                           f"({var} + {more}) // 2", f"T.min({var} + {more}, {rng.randint(3, most)})"])  # fmt: skip

    def both(self, n: int) -> str:
        """A trip count that follows the loops `q` and `k`."""
        more = self.rng.randint(0, 3)
        return self.rng.choice([f"q + k + {more}", f"T.max(q - k + {more}, 0)", f"T.max(k - q + {more}, 0)",
                                f"T.max({n} - q - k, 0)", f"T.min(q, k) + {more}"])  # fmt: skip

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def inner(self, depth: int, loops: list[str]) -> None:
        """A loop `k` with a trip count of one of many forms, perhaps inside another loop, with one to three tasks."""
        rng, n = self.rng, self.count
        if rng.random() < 0.25:
            self.line(depth, f"for h in range({rng.choice([2, 3, 6])}):")
            depth, loops = depth + 1, [*loops, "h"]
        step, more = rng.choice([1, 1, 1, 2, 3]), rng.randint(0, 6)
        form = rng.randrange(7)
        if form == 0:
            self.line(depth, f"for k in range({step} * q + {more}):")
        elif form == 1:
            self.line(depth, f"for k in range(q, {n + more}):")
        elif form == 2:
            self.line(depth, f"for k in range({step * n + more} - {step} * q):")
        elif form == 3:
            self.line(depth, f"for k in range((q + {more}) // 2):")
        elif form == 4:
            self.line(depth, f"for k in range({step * n}):")
            depth += 1
            self.line(depth, f"if k <= {step} * q + {more}:")
        elif form == 5:
            self.line(depth, f"for k in range({n + more}):")
            depth += 1
            self.line(depth, f"if q - {more} <= k and k <= q + {rng.randint(0, 3)}:")
        else:
            self.line(depth, f"for k in range(T.min({step} * q + {more}, {rng.randint(5, 2 * n)})):")
        # One engine alone would run the loop as one task.
        kinds = [rng.randrange(2), rng.randrange(2, 4)] if rng.random() < 0.9 else [rng.randrange(4)]
        for kind in kinds:
            self.task(depth + 1, [*loops, "k"], kind)
        if rng.random() < 0.4:
            self.task(depth + 1, [*loops, "k"])

    def task(self, depth: int, loops: list[str], kind: int | None = None) -> None:
        """A load, a store, or work on the scratchpad; perhaps with a mask along the diagonal."""
        rng = self.rng
        self.blocks += 1
        source, target = rng.choice(self.buffers), rng.choice(self.buffers)
        row = " + ".join(f"{rng.choice([0, 1, 1])} * {v}" for v in loops) or "0"
        self.line(depth, "for i, j in T.grid(8, 8):")
        self.line(depth + 1, f'with T.sblock("t{self.blocks}"):')
        self.line(depth + 2, 'vi, vj = T.axis.remap("SS", [i, j])')
        kind = rng.randrange(4) if kind is None else kind
        if kind == 0:
            self.line(depth + 2, f"{target}[vi, vj] = X[({row}) * 8 + vi, vj]")
        elif kind == 1:
            self.line(depth + 2, f"Y[({row}) * 8 + vi, vj] = {source}[vi, vj]")
        elif kind == 2 and "k" in loops:
            self.line(depth + 2, "if k * 8 + vj <= q * 8 + vi:")
            self.line(depth + 3, f"{target}[vi, vj] = {source}[vi, vj] * T.float32(2)")
        else:
            self.line(depth + 2, f"{target}[vi, vj] = {source}[vi, vj] + {target}[vi, vj]")
