"""Reader of TE text: calls of TE's functions, of methods of schedules, and of functions of the text."""

from __future__ import annotations

import ast

from ..ir import build
from ..script.subset.scope import Value
from . import functions, reductions, stage_calls, stages
from .model import Attributes, Function, Operation, Reducer, Runtime, Tensor
from .operators import topi
from .statements import TeStatementReader


class TECallReader(TeStatementReader):
    """Reads calls too."""

    def _call(self, node: ast.Call) -> Value:
        found = self._called(node)
        if isinstance(found, Runtime):
            self.forget_call(node)
        return found

    def _called(self, node: ast.Call) -> Value:
        name = self.called(node)
        read = functions.FUNCTIONS.get(name.removeprefix("T.")) if name is not None else None
        if read is not None:
            return read(self, node)
        dotted = self.dotted(node.func)
        if dotted is not None and topi.is_topi(dotted):
            if topi.is_schedule(dotted):
                return functions.create_schedule(self, topi.read_schedule(self, node), node)
            return topi.read_topi(self, node)
        if self.is_running(node.func):
            return self._run(node)
        if name is not None:
            return super()._call(node)
        if isinstance(node.func, ast.Attribute):
            return self._method_of(self.value(node.func.value), node.func.attr, node)
        if isinstance(node.func, ast.Name) and node.func.id not in self.scope:
            read = functions.BUILTINS.get(node.func.id)
            if read is not None:
                return read(self, node)
        return self._applied(self.value(node.func), node)

    def _run(self, node: ast.Call) -> Value:
        """Pass over code that runs. A task of a tuner, `SearchTask(func=matmul, args=(128, "float32"))`, calls a function of the text."""
        keywords = {k.arg: k.value for k in node.keywords}
        if {"func", "args"} <= keywords.keys():
            function, args = self.value(keywords["func"]), self.value(keywords["args"])
            if isinstance(function, Function) and isinstance(args, tuple):
                self.call(function, args, node)
        return Runtime()

    def _operation(self, node: ast.BinOp | ast.Compare | ast.UnaryOp) -> Value:
        if isinstance(node, ast.BinOp) and topi.is_tensor(self, node):
            return topi.tensor_operator(self, node)
        return super()._operation(node)

    def _applied(self, callee: Value, node: ast.Call) -> Value:
        """Call a value of the text."""
        match callee:
            case Runtime():
                return callee
            case Attributes() if not node.args and not node.keywords:
                return callee
            case Function():
                return self.call(
                    callee, self.items(node.args), node, {k.arg: self.value(k.value) for k in node.keywords}
                )
            case Reducer():
                return reductions.reduced(self, callee, node)
            case Tensor():
                found = tuple(self._index(v, node) for v in self.items(node.args))
                if len(found) != len(callee.buffer.shape):
                    raise self.error(node, "wrong-arguments", f"{len(found)} indices do not match the rank of tensor {callee.op.name}",
                                     expected=f"{len(callee.buffer.shape)} indices")  # fmt: skip
                return self._load(callee, found, node)
            case _:
                raise self.error(
                    node.func, "unsupported", "this cannot be called", expected="a function of tvm or of the text"
                )

    def _method_of(self, owner: Value, method: str, node: ast.Call) -> Value:
        match owner:
            case Runtime():
                return owner
            case stages.TESchedule():
                return stage_calls.schedule_call(self, owner, method, node)
            case stages.Stage():
                return stage_calls.stage_call(self, owner, method, node)
            case Operation() if method == "output":
                return Tensor(owner, self.constant_int(node.args[0]) if node.args else 0)
            case _ if method == "astype" and len(node.args) == 1 and not node.keywords:
                return build.cast(self.as_expr(owner, node), self.dtype(node.args[0]))
            case _:
                raise self.error(node.func, "unsupported", f".{method}() is not part of the supported subset of TE",
                                 expected="te.… functions, methods of a schedule and its stages, .astype")  # fmt: skip
