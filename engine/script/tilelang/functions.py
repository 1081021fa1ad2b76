"""TileLang's functions: a kernel that is a prim_func, and an eager kernel, which declares its tensors in its body."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from ...ir import BlockRealize, PrimFunc, Stmt, Var
from ..reading.functions import FunctionReader
from ..subset.scope import Foreign, Scope, Value
from .declarations import TENSORS, tensor
from .pipelines import with_own_tiles, with_tiles_in_branches
from .statements import TileReader

MAKING = ("compile", "get_tir")
"""Methods of an eager kernel that make a program of it, for sizes and values given by name."""


class EagerKernel(msgspec.Struct, Foreign, frozen=True, eq=False):
    """An eager kernel of the text, with its scope and the defaults of its parameters."""

    node: ast.FunctionDef
    scope: Scope
    defaults: Mapping[str, Value]


class TileFunctionReader(FunctionReader):
    """Reads the kernels of TileLang."""

    reader: TileReader
    buffer_types = TENSORS

    def _buffer_parameter(self, argument: ast.arg) -> Var:
        assert argument.annotation is not None
        buffer = tensor(self.reader.exprs, argument.arg, argument.annotation)
        if buffer is None:
            return super()._buffer_parameter(argument)
        handle = Var(f"{argument.arg}_handle", "handle")
        self.exprs.define(argument.arg, buffer, argument)
        self.reader.handles[handle] = buffer
        return handle

    def _body(self, node: ast.FunctionDef) -> Stmt:
        body = super()._body(node)
        if not isinstance(body, BlockRealize):
            return self.reader.leave_groups(body)
        inside, made = with_own_tiles(self.reader.leave_groups(body.block.body))
        inside, moved = with_tiles_in_branches(inside, self.reader.block_names)
        if inside is body.block.body:
            return body
        allocated = tuple(b for b in (*body.block.alloc_buffers, *made) if b not in moved)
        root = replace(body.block, body=inside, alloc_buffers=allocated)
        self.reader.positions.add(root, self.source.header(node))
        return replace(body, block=root)

    def _options(self, node: ast.FunctionDef) -> dict[str, bool]:
        return {**super()._options(node), "s_tir": True}

    def read_eager(self, node: ast.FunctionDef, given: Mapping[str, Value]) -> PrimFunc:
        """Read an eager kernel with `given` values of the parameters that are no tensors. Its outputs follow its parameters."""
        self.reader.begin_function()
        self.reader.constants = given
        with self.exprs.scope.nested():
            for name, value in given.items():
                self.exprs.scope.define(name, value)
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            for argument in arguments:
                if argument.annotation is not None and self._is_buffer(argument.annotation):
                    buffer = tensor(self.reader.exprs, argument.arg, argument.annotation)
                    assert buffer is not None
                    self.reader.tensors[argument.arg] = buffer
                    self.exprs.define(argument.arg, buffer, argument)
            body = self._body(node)
        tensors = [self.reader.tensors[a.arg] for a in arguments if a.arg in self.reader.tensors]
        buffers = [*tensors, *self.reader.outputs]
        if not buffers:
            raise self.source.error(
                node, "not-a-program", f"{node.name} declares no tensor", expected="A: T.Tensor((M, N), dtype)"
            )
        params = tuple(Var(f"{buffer.name}_handle", "handle") for buffer in buffers)
        func = PrimFunc(node.name, params, tuple(zip(params, buffers, strict=True)), body, ())
        self._require_small(node, func)
        self.reader.positions.add(func, self.source.header(node))
        return func


__all__ = ["MAKING", "EagerKernel", "TileFunctionReader"]
