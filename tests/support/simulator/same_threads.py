"""Rows staged by threads in a private buffer or in shared memory, with or without an outer loop bound to the same threads."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st


class StagedRows(NamedTuple):
    """`blocks` rows of `threads * each` elements."""

    tag: str
    scope: str
    blocks: int
    threads: int
    each: int

    def text(self, *, around: bool) -> str:
        """The program, with a loop over the threads around the buffer and both stages if `around`."""
        n, each, tag = self.threads, self.each, self.tag
        row = n * each
        loop = f'    for t in T.thread_binding({n}, thread="{tag}"):' if around else "# no loop around"
        axes = 'vg, vt = T.axis.remap("SS", [g, t])' if around else f"vg = T.axis.spatial({self.blocks}, g)"
        return f"""
@T.prim_func(s_tir=True)
def rows(A: T.Buffer(({self.blocks * row},), "float32"), B: T.Buffer(({self.blocks * row},), "float32")):
    for g in T.thread_binding({self.blocks}, thread="blockIdx.x"):
    {loop}
            with T.sblock("row"):
                {axes}
                T.reads(A[vg * {row}:vg * {row} + {row}])
                T.writes(B[vg * {row}:vg * {row} + {row}])
                S = T.sblock_alloc_buffer(({row},), "float32", scope="{self.scope}")
                for u in T.thread_binding({n}, thread="{tag}"):
                    for e in range({each}):
                        with T.sblock("load"):
                            vu = T.axis.spatial({row}, u * {each} + e)
                            S[vu] = A[vg * {row} + vu]
                for u in T.thread_binding({n}, thread="{tag}"):
                    for e in range({each}):
                        with T.sblock("store"):
                            vu = T.axis.spatial({row}, u * {each} + e)
                            B[vg * {row} + vu] = S[vu] * T.float32(2)
"""


def staged_rows() -> st.SearchStrategy[StagedRows]:
    return st.builds(
        StagedRows,
        st.sampled_from(["threadIdx.x", "threadIdx.y", "vthread.x", "vthread"]),
        st.sampled_from(["local", "shared", "global"]),
        st.integers(1, 5),
        st.integers(2, 70),
        st.integers(1, 5),
    )
