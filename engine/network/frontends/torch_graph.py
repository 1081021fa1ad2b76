"""Graphs of torch.export's JSON: calls of operators on tensors, sizes and numbers. An unknown field is an error.

PyTorch evaluates sizes as Python, resolves operators by name, and writes the names of values into the text of functions that it runs. Here
such texts have closed forms: operators of ATen, arithmetic on sizes, identifiers. The fields are those of PyTorch 2.14.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from .torch_sizes import require_arithmetic

Int = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Real = float | Literal["Infinity", "-Infinity", "NaN"]
Name = Annotated[str, Meta(pattern=r"^(?:[A-Za-z_][A-Za-z0-9_]{0,500})?\Z")]
"""The name of a value, which becomes a variable of Python; empty for values without one."""

Path = Annotated[str, Meta(pattern=r"^(?:(?!__)[A-Za-z0-9_]+(?:\.(?!__)[A-Za-z0-9_]+)*)?\Z", max_length=2000)]
"""The name of a parameter or module: attributes from module to module."""

Text = Annotated[str, Meta(max_length=20_000)]

_ATEN = r"torch\.ops\.(?:aten|prims)\.(?!from_file\.)(?:_?[A-Za-z][A-Za-z0-9_]*|__i?(?:and|or|xor|lshift|rshift)__)\.[A-Za-z][A-Za-z0-9_]*"
_SCOPES = r"torch\.ops\.higher_order\.wrap_with_(?:set_grad_enabled|autocast)"
_SCALARS = (
    r"_operator\.(?:eq|ne|le|ge|lt|gt|neg|pos|mul|add|sub|floordiv|mod|pow|truediv|and_|or_|lshift|rshift|getitem)"
    r"|math\.trunc|torch\.sym_(?:not|int|float|ite|max|min|sqrt)|torch\._sym_sqrt"
)
OPERATOR = re.compile(f"{_ATEN}|{_SCOPES}|{_SCALARS}")
"""An operator of ATen or prims, a scope of gradients or precision, or a function of sizes. `from_file` reads another file."""


class Closed(msgspec.Struct, forbid_unknown_fields=True):
    """A record with known fields alone."""


class Union(Closed, omit_defaults=True):
    """A record with exactly one of its fields."""

    def __post_init__(self) -> None:
        given = [name for name in self.__struct_fields__ if getattr(self, name) is not UNSET]
        if len(given) != 1:
            raise ValueError(
                f"one field of {', '.join(self.__struct_fields__[:3])}… is expected, {len(given)} are given"
            )


class Device(Closed):
    """Where a tensor is; read as the CPU, because models are read without an accelerator."""

    type: Literal["cpu", "cuda", "mps", "xpu", "hip", "xla", "hpu"]
    index: Int | None = None

    def __post_init__(self) -> None:
        self.type, self.index = "cpu", None


class Hint(Union):
    as_int: Int | UnsetType = UNSET
    as_bool: bool | UnsetType = UNSET
    as_float: Real | UnsetType = UNSET


class SymExpr(Closed):
    expr_str: str
    hint: Hint | None = None

    def __post_init__(self) -> None:
        require_arithmetic(self.expr_str)


class SymInt(Union):
    as_expr: SymExpr | UnsetType = UNSET
    as_int: Int | UnsetType = UNSET


class SymFloat(Union):
    as_expr: SymExpr | UnsetType = UNSET
    as_float: Real | UnsetType = UNSET


class SymBool(Union):
    as_expr: SymExpr | UnsetType = UNSET
    as_bool: bool | UnsetType = UNSET


class TensorMeta(Closed):
    dtype: Int
    sizes: list[SymInt]
    requires_grad: bool
    device: Device
    strides: list[SymInt]
    storage_offset: SymInt
    layout: Int


class SymIntArgument(Union):
    as_name: Name | UnsetType = UNSET
    as_int: Int | UnsetType = UNSET


class SymFloatArgument(Union):
    as_name: Name | UnsetType = UNSET
    as_float: Real | UnsetType = UNSET


class SymBoolArgument(Union):
    as_name: Name | UnsetType = UNSET
    as_bool: bool | UnsetType = UNSET


class Named(Closed):
    """A tensor or token by its name."""

    name: Name


class OptionalTensor(Union):
    as_tensor: Named | UnsetType = UNSET
    as_none: bool | UnsetType = UNSET


class GraphArgument(Closed):
    name: Name
    graph: TorchGraph


class Complex(Closed):
    real: Real
    imag: Real


class Argument(Union):
    """A value; objects of other classes (`as_custom_obj`) and operators as values (`as_operator`) are not known."""

    as_none: bool | UnsetType = UNSET
    as_tensor: Named | UnsetType = UNSET
    as_tensors: list[Named] | UnsetType = UNSET
    as_int: Int | UnsetType = UNSET
    as_ints: list[Int] | UnsetType = UNSET
    as_float: Real | UnsetType = UNSET
    as_floats: list[Real] | UnsetType = UNSET
    as_string: Text | UnsetType = UNSET
    as_strings: list[Text] | UnsetType = UNSET
    as_sym_int: SymIntArgument | UnsetType = UNSET
    as_sym_ints: list[SymIntArgument] | UnsetType = UNSET
    as_scalar_type: Int | UnsetType = UNSET
    as_memory_format: Int | UnsetType = UNSET
    as_layout: Int | UnsetType = UNSET
    as_device: Device | UnsetType = UNSET
    as_bool: bool | UnsetType = UNSET
    as_bools: list[bool] | UnsetType = UNSET
    as_sym_bool: SymBoolArgument | UnsetType = UNSET
    as_sym_bools: list[SymBoolArgument] | UnsetType = UNSET
    as_graph: GraphArgument | UnsetType = UNSET
    as_optional_tensors: list[OptionalTensor] | UnsetType = UNSET
    as_sym_float: SymFloatArgument | UnsetType = UNSET
    as_sym_floats: list[SymFloatArgument] | UnsetType = UNSET
    as_optional_tensor: OptionalTensor | UnsetType = UNSET
    as_complex: Complex | UnsetType = UNSET
    as_nested_tensors: list[list[Named]] | UnsetType = UNSET
    as_int_lists: list[list[Int]] | UnsetType = UNSET
    as_float_lists: list[list[Real]] | UnsetType = UNSET


class NamedArgument(Closed):
    name: Name
    arg: Argument
    kind: Int | None = None


class TorchNode(Closed):
    """A call. Its metadata (traces of the stack, names of classes) is not given to PyTorch."""

    target: str
    inputs: list[NamedArgument]
    outputs: list[Argument]
    metadata: dict[str, str]
    is_hop_single_tensor_return: bool | None = None
    name: Name | None = None

    def __post_init__(self) -> None:
        if OPERATOR.fullmatch(self.target) is None:
            raise ValueError(f"the operator {self.target[:100]!r} is not one of ATen")
        self.metadata = {}


class TorchGraph(Closed):
    inputs: list[Argument]
    outputs: list[Argument]
    nodes: list[TorchNode]
    tensor_values: dict[Name, TensorMeta]
    sym_int_values: dict[Name, SymInt]
    sym_bool_values: dict[Name, SymBool]
    is_single_tensor_return: bool = False
    custom_obj_values: Annotated[dict[str, Any], Meta(max_length=0)] = {}
    sym_float_values: dict[Name, SymFloat] = {}


__all__ = [
    "Argument",
    "Closed",
    "Int",
    "Name",
    "Named",
    "Path",
    "Real",
    "TensorMeta",
    "Text",
    "TorchGraph",
    "Union",
]
