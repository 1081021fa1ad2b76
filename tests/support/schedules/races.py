"""Races between concurrent iterations: every access of a run is recorded."""

from __future__ import annotations

from support.schedules.naive import _Interpreter

from tilewright.engine import ir
from tilewright.engine.lower import plan

CONCURRENT = ("parallel", "vectorized")


def find_race(func, arrays) -> str:
    """Empty if no iteration of a parallel or vectorised loop writes an element that another one accesses; else the place.

    Buffers are assumed to live where `plan` puts them: a buffer allocated inside an iteration is private to it.
    """
    planned = plan(func)
    memory = {}
    for buffer in planned.buffers:
        given = arrays[buffer.name]
        memory[buffer] = {i: given[i].item() for i in _places(given.shape)}
    watch = _Watch(memory)
    watch.stmt(planned.body, {})
    return watch.race


def _places(shape):
    if not shape:
        return [()]
    return [(i, *rest) for i in range(shape[0]) for rest in _places(shape[1:])]


class _Watch(_Interpreter):
    def __init__(self, memory):
        super().__init__(memory)
        self.race = ""
        self.open = []  # of each concurrent loop: (iteration, {place: (values by writing iteration, readers)}, own buffers)

    def stmt(self, s, env):
        match s:
            case ir.For() if s.kind in CONCURRENT:
                seen = {}
                first = self.expr(s.min, env)
                for i in range(first, first + self.expr(s.extent, env)):
                    self.open.append((i, seen, set()))
                    self.stmt_of_loop(s, {**env, s.loop_var: i})
                    self.open.pop()
            case ir.BufferStore():
                super().stmt(s, env)
                self.touched(*self.place(s.buffer, s.indices, env), wrote=True)
            case _:
                super().stmt(s, env)

    def stmt_of_loop(self, loop, env):
        self.stmt(loop.body, env)

    def block(self, s, env):
        for _, _, own in self.open:
            own.update(s.block.alloc_buffers)
        super().block(s, env)

    def expr(self, e, env):
        if isinstance(e, ir.BufferLoad):
            self.touched(*self.place(e.buffer, e.indices, env), wrote=False)
        return super().expr(e, env)

    def touched(self, buffer, index, *, wrote):
        value = self.memory[buffer].get(index) if wrote else None
        for iteration, seen, own in self.open:
            if buffer in own:
                continue
            # Two iterations may write the same value; but no iteration may read the write of another one.
            writers, readers = seen.setdefault((buffer, index), ({}, set()))
            if wrote:
                writers.setdefault(iteration, set()).add(value)
            elif iteration not in writers:
                readers.add(iteration)
            values = set().union(*writers.values())
            if (len(writers) > 1 and len(values) > 1) or any(w != r for w in writers for r in readers):
                self.race = self.race or f"{buffer.name}{list(index)} in iterations {sorted({*writers, *readers})}"
