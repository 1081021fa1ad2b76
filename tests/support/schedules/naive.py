"""A program's meaning, one element at a time: the oracle for `execute.run`. Deliberately naive, and shares no code with it.

`run_naive(func, arrays)` returns every parameter buffer by name. Raises IndexError outside a buffer, UnwrittenError for an element
without a value. Integers are Python integers, wrapped after each operation; floats are NumPy scalars of the declared width.
"""

from __future__ import annotations

import math

import numpy as np

from tilewright.engine import ir


class UnwrittenError(Exception):
    pass


def run_naive(func, arrays):
    memory = {}
    sizes = {}
    for buffer in func.buffers:
        shape = tuple(e.value for e in buffer.shape)
        memory[buffer] = {}
        if buffer.name in arrays:
            array = np.asarray(arrays[buffer.name]).reshape(shape)
            memory[buffer] = {i: array[i].item() if is_exact(buffer.dtype) else array[i] for i in np.ndindex(*shape)}
    _Interpreter(memory).stmt(func.body, sizes)
    return {b.name: to_array(b, memory[b]) for b in func.buffers}


def to_array(buffer, elements):
    result = np.zeros(tuple(e.value for e in buffer.shape), buffer.dtype)
    for index, value in elements.items():
        result[index] = value
    return result


def is_exact(dtype):
    return dtype == "bool" or "int" in dtype


def fit(value, dtype):
    """`value` in `dtype`: integers wrap, floats round."""
    if dtype == "bool":
        return bool(value)
    if not is_exact(dtype):
        return np.dtype(dtype).type(value)
    width = int(dtype.lstrip("uint"))
    value = int(value) % 2**width
    return value - 2**width if dtype.startswith("int") and value >= 2 ** (width - 1) else value


class _Interpreter:
    def __init__(self, memory):
        self.memory = memory
        self.matches = {}

    # statements

    def stmt(self, s, env):
        match s:
            case ir.SeqStmt():
                for each in s.seq:
                    self.stmt(each, env)
            case ir.For():
                first = self.expr(s.min, env)
                for i in range(first, first + self.expr(s.extent, env)):
                    self.stmt(s.body, {**env, s.loop_var: i})
            case ir.BlockRealize():
                if self.expr(s.predicate, env):
                    self.block(s, env)
            case ir.BufferStore():
                value = self.expr(s.value, env)
                buffer, index = self.place(s.buffer, s.indices, env)
                self.memory[buffer][index] = fit(value, buffer.dtype)
            case ir.IfThenElse():
                if self.expr(s.condition, env):
                    self.stmt(s.then_case, env)
                elif s.else_case is not None:
                    self.stmt(s.else_case, env)
            case ir.LetStmt():
                self.stmt(s.body, {**env, s.var: self.expr(s.value, env)})
            case ir.AssertStmt():
                assert self.expr(s.condition, env), s.message
                self.stmt(s.body, env)
            case ir.Allocate():
                self.memory.update((b, {}) for b in s.buffers)
                self.stmt(s.body, env)
            case ir.Evaluate():
                self.expr(s.value, env)
            case _:
                raise NotImplementedError(type(s).__name__)

    def block(self, s, env):
        block = s.block
        env = {**env, **{iv.var: self.expr(v, env) for iv, v in zip(block.iter_vars, s.iter_values, strict=True)}}
        for match in block.match_buffers:
            self.matches[match.buffer] = (match.source.buffer, [self.expr(r.min, env) for r in match.source.region])
        for buffer in block.alloc_buffers:
            self.memory[buffer] = {}
        starts = [env[iv.var] == self.expr(iv.dom.min, env) for iv in block.iter_vars if iv.iter_type == "reduce"]
        if block.init is not None and all(starts):
            self.stmt(block.init, env)
        self.stmt(block.body, env)

    def place(self, buffer, indices, env):
        index = [self.expr(i, env) for i in indices]
        self.require_inside(buffer, index, env)
        while buffer in self.matches:
            buffer, base = self.matches[buffer]
            index = [b + i for b, i in zip(base, [0] * (len(base) - len(index)) + index, strict=True)]
            self.require_inside(buffer, index, env)
        return buffer, tuple(index)

    def require_inside(self, buffer, index, env):
        for i, extent in zip(index, buffer.shape, strict=True):
            if not 0 <= i < self.expr(extent, env):
                raise IndexError(f"{buffer.name}{index}")

    # expressions

    def expr(self, e, env):
        match e:
            case ir.IntImm() | ir.FloatImm():
                return fit(e.value, e.dtype)
            case ir.Var():
                return env[e]
            case ir.BufferLoad():
                buffer, index = self.place(e.buffer, e.indices, env)
                if index not in self.memory[buffer]:
                    raise UnwrittenError(f"{buffer.name}{list(index)}")
                return self.memory[buffer][index]
            case ir.Cast():
                return fit(self.expr(e.value, env), e.dtype)
            case ir.Select():
                yes, no = self.expr(e.true_value, env), self.expr(e.false_value, env)
                return yes if self.expr(e.condition, env) else no
            case ir.Not():
                return not self.expr(e.a, env)
            case ir.And():
                return self.expr(e.a, env) and self.expr(e.b, env)
            case ir.Or():
                return self.expr(e.a, env) or self.expr(e.b, env)
            case ir.Let():
                return self.expr(e.body, {**env, e.var: self.expr(e.value, env)})
            case ir.Call(op="if_then_else"):
                return self.expr(e.args[1] if self.expr(e.args[0], env) else e.args[2], env)
            case ir.Call():
                return fit(CALLS[e.op](*(self.expr(a, env) for a in e.args)), e.dtype)
            case ir.BinaryOp() | ir.Predicate():
                with np.errstate(all="ignore"):
                    value = OPERATORS[type(e)](self.expr(e.a, env), self.expr(e.b, env))
                return fit(value, e.dtype)
            case _:
                raise NotImplementedError(type(e).__name__)


def divide(a, b):
    return int(math.copysign(1, a) * math.copysign(1, b)) * (abs(a) // abs(b)) if isinstance(a, int) else a / b


OPERATORS = {
    ir.Add: lambda a, b: a + b,
    ir.Sub: lambda a, b: a - b,
    ir.Mul: lambda a, b: a * b,
    ir.Div: divide,
    ir.Mod: lambda a, b: a - b * divide(a, b) if isinstance(a, int) else np.fmod(a, b),
    ir.FloorDiv: lambda a, b: a // b if isinstance(a, int) else np.floor(a / b),
    ir.FloorMod: lambda a, b: a % b if isinstance(a, int) else a - np.floor(a / b) * b,
    ir.Min: lambda a, b: a if a < b else b,
    ir.Max: lambda a, b: a if a > b else b,
    ir.EQ: lambda a, b: a == b,
    ir.NE: lambda a, b: a != b,
    ir.LT: lambda a, b: a < b,
    ir.LE: lambda a, b: a <= b,
    ir.GT: lambda a, b: a > b,
    ir.GE: lambda a, b: a >= b,
}
CALLS = {
    **{name: getattr(np, name) for name in ("exp", "log", "sqrt", "tanh", "sin", "cos", "floor", "ceil")},
    "abs": abs,
    "fabs": abs,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "pow": lambda a, b: a**b,
    "max": max,
    "min": min,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "shift_left": lambda a, b: a << b,
    "shift_right": lambda a, b: a >> b,
    "likely": lambda a: a,
    "popcount": lambda a: (a % 2**64).bit_count(),
}


def equal_arrays(ours, theirs):
    """Bit-equal integers; floats within a few units in the last place of the largest (NumPy rounds `tanh` of one and of many apart)."""
    if ours.dtype.kind != "f":
        return bool((ours == theirs).all())
    scale = max(1.0, float(np.max(np.abs(theirs[np.isfinite(theirs)]), initial=0.0)))
    return bool(np.allclose(ours, theirs, rtol=1e-5, atol=8 * float(np.finfo(ours.dtype).eps) * scale, equal_nan=True))
