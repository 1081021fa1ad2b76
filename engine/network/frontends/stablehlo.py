"""StableHLO as MLIR text through TVM's frontend, extended by calls of private functions and by array attributes."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any


def load_stablehlo(path: Path) -> Any:
    """Return the relax module of a file's function `main`. MLIR's own parser reads the text; nothing in it is run."""
    mlir = import_module("jax._src.interpreters.mlir")
    module = mlir.ir.Module.parse(path.read_text(), mlir.make_ir_context())
    return _importer().from_stablehlo(module, None)


def _importer() -> Any:
    """An importer of TVM that also reads `func.call`, as jax writes inner `jit` functions, and `array<i64: 1, 1>` (TVM 0.27 does not)."""
    ir = import_module("jaxlib.mlir.ir")
    base = import_module("tvm.relax.frontend.stablehlo.stablehlo_translator").StableHLOImporter

    class Importer(base):
        def create_convert_map(self) -> None:
            base.create_convert_map(self)
            self.convert_map["func.call"] = self._called

        def from_stablehlo(self, model: Any, input_info: Any) -> Any:
            self._functions = {op.name.value: op for op in model.body.operations if op.operation.name == "func.func"}
            return base.from_stablehlo(self, model, input_info)

        def _called(self, node: Any) -> Any:
            """The value of a call: the operations of the function with the call's operands as its arguments."""
            operands = self.retrieve_operands(node)
            outer = self._nodes
            self._nodes = {f"arg{n}": operand for n, operand in enumerate(operands)}
            try:
                block = self._functions[node.attributes["callee"].value].regions[0].blocks[0]
                for operation in block.operations:
                    name = operation.operation.name
                    if name == "func.return":
                        (result,) = self._retrieve_operands(list(operation.operands))
                        return result
                    if name not in self.convert_map:
                        raise ValueError(f"Unsupported operation {name}")
                    self._nodes[operation] = self.convert_map[name](operation)
            finally:
                self._nodes = outer
            raise ValueError("the function has no return")

        def _attr2value(self, node: Any) -> Any:
            if isinstance(node, ir.DenseI64ArrayAttr | ir.DenseBoolArrayAttr):
                return list(node)
            return base._attr2value(self, node)

    return Importer()


__all__ = ["load_stablehlo"]
