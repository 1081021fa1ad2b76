"""Random programs of stages: each fills one buffer from some of the earlier ones, so that the lifetimes of the buffers differ.

The last stage reads the buffers that no other stage reads."""

from __future__ import annotations

from random import Random


def staged(rng: Random, scope: str, sizes: tuple[int, ...] = (16, 64, 80, 256)) -> str:
    """TVMScript of up to ten stages, one after the other; the buffers are of int32 in `scope`. No stage can run in place."""
    count = rng.randint(2, 10)
    extents = [rng.choice(sizes) for _ in range(count)]
    lines = ["@T.prim_func", f'def main(A: T.Buffer((64,), "int32"), Y: T.Buffer(({extents[-1]},), "int32")):']
    lines += [f'    X{n} = T.alloc_buffer(({extents[n]},), "int32", scope="{scope}")' for n in range(count - 1)]
    unread = set(range(count - 1))
    for n, extent in enumerate(extents):
        read = sorted(unread) if n == count - 1 else rng.sample(range(n), min(n, rng.choice((1, 1, 2))))
        unread -= set(read)
        terms = [f"X{m}[({extents[m]} - 1) - v % {extents[m]}]" for m in read] or ["A[v % 64]"]
        lines += [
            f"    for i in range({extent}):",
            f'        with T.block("B{n}"):',
            '            v = T.axis.remap("S", [i])',
            f"            {'Y' if n == count - 1 else f'X{n}'}[v] = {' + '.join(terms)}",
        ]
    return "\n".join(lines)
