"""The schema of torch.export's JSON (major version 8, as PyTorch 2.9 to 2.14 write it), closed: an unknown field is an error.

PyTorch evaluates sizes as Python, resolves operators by name, imports modules that tree specifications name, and writes the names of
values into the text of functions that it runs. Here such texts have closed forms: operators of ATen, arithmetic on sizes, identifiers.
The numbers of fields are PyTorch's (`torch/_export/serde/schema.py`). What is decoded is encoded again, so that PyTorch reads no other text.
"""

from __future__ import annotations

import keyword
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

Size = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_ +*/,()-]{1,500}\Z")]
"""A symbol or an expression as the key of a range; PyTorch compares such keys and does not evaluate them."""

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
            raise ValueError(f"one field of {', '.join(self.__struct_fields__[:3])}… is expected, {len(given)} are given")


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
    graph: Graph


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


class Node(Closed):
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


class Graph(Closed):
    inputs: list[Argument]
    outputs: list[Argument]
    nodes: list[Node]
    tensor_values: dict[Name, TensorMeta]
    sym_int_values: dict[Name, SymInt]
    sym_bool_values: dict[Name, SymBool]
    is_single_tensor_return: bool = False
    custom_obj_values: Annotated[dict[str, Any], Meta(max_length=0)] = {}
    sym_float_values: dict[Name, SymFloat] = {}


class UserInput(Closed):
    arg: Argument


class Constant(Union):
    as_none: bool | UnsetType = UNSET
    as_int: Int | UnsetType = UNSET
    as_float: Real | UnsetType = UNSET
    as_string: Text | UnsetType = UNSET
    as_bool: bool | UnsetType = UNSET


class ConstantInput(Closed):
    name: Name
    value: Constant


class Parameter(Closed):
    arg: Named
    parameter_name: Path


class Buffer(Closed):
    arg: Named
    buffer_name: Path
    persistent: bool


class TensorConstant(Closed):
    arg: Named
    tensor_constant_name: Path


class Token(Closed):
    arg: Named


class InputSpec(Union):
    user_input: UserInput | UnsetType = UNSET
    parameter: Parameter | UnsetType = UNSET
    buffer: Buffer | UnsetType = UNSET
    tensor_constant: TensorConstant | UnsetType = UNSET
    token: Token | UnsetType = UNSET
    constant_input: ConstantInput | UnsetType = UNSET


class UserOutput(Closed):
    arg: Argument


class BufferMutation(Closed):
    arg: Named
    buffer_name: Path


class ParameterTarget(Closed):
    arg: Named
    parameter_name: Path


class InputTarget(Closed):
    arg: Named
    user_input_name: Name


class OutputSpec(Union):
    user_output: UserOutput | UnsetType = UNSET
    loss_output: Named | UnsetType = UNSET
    buffer_mutation: BufferMutation | UnsetType = UNSET
    gradient_to_parameter: ParameterTarget | UnsetType = UNSET
    gradient_to_user_input: InputTarget | UnsetType = UNSET
    user_input_mutation: InputTarget | UnsetType = UNSET
    token: Token | UnsetType = UNSET
    parameter_mutation: ParameterTarget | UnsetType = UNSET


class Signature(Closed):
    input_specs: list[InputSpec]
    output_specs: list[OutputSpec]


class Range(Closed):
    min_val: Int | None
    max_val: Int | None


Key = Annotated[str, Meta(pattern=r"^[\w.:/ -]{1,500}\Z")] | Int


class Tree(Closed):
    """How values are nested. PyTorch imports modules that other types of nodes name."""

    type: Literal["builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"] | None
    context: str | None
    children_spec: list[Tree]

    def __post_init__(self) -> None:
        if self.context is not None:
            keys = msgspec.json.decode(self.context, type=list[Key] | None)
            self.context = msgspec.json.encode(keys).decode()


class CallSignature(Closed):
    inputs: list[Argument]
    outputs: list[Argument]
    in_spec: str
    out_spec: str
    forward_arg_names: list[Name] | None = None

    def __post_init__(self) -> None:
        self.in_spec, given = _tree(self.in_spec)
        self.out_spec, _ = _tree(self.out_spec)
        keywords = given.children_spec[1].context if len(given.children_spec) > 1 else None
        names = msgspec.json.decode(keywords or "null") or []
        for name in (*names, *(self.forward_arg_names or ())):  # they are the parameters of a function that PyTorch writes
            if not (isinstance(name, str) and name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
                raise ValueError(f"the input {str(name)[:60]!r} is no identifier")


def _tree(text: str) -> tuple[str, Tree]:
    """The text of a tree, encoded again, and the tree."""
    try:
        version, tree = msgspec.json.decode(text, type=tuple[Literal[1], Tree])
    except msgspec.DecodeError as error:
        raise ValueError(f"the nesting of values is not read: {error}") from error
    return msgspec.json.encode((version, tree)).decode(), tree


class CallEntry(Closed):
    fqn: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.@]*\Z", max_length=2000)]
    signature: CallSignature | None = None


class NamedTuple(Closed):
    field_names: list[Name]


class GraphModule(Closed):
    """The graph of a model. Its metadata is not given to PyTorch."""

    graph: Graph
    signature: Signature
    module_call_graph: list[CallEntry]
    metadata: dict[str, str] = {}
    treespec_namedtuple_fields: dict[str, NamedTuple] = {}

    def __post_init__(self) -> None:
        self.metadata = {}
        self.treespec_namedtuple_fields = {}


class SchemaVersion(Closed):
    major: Literal[8]
    minor: Int


class Program(Closed):
    """An exported program. Its guards, which PyTorch compiles as Python, are not given to it: they check inputs of a call alone."""

    graph_module: GraphModule
    opset_version: dict[Annotated[str, Meta(pattern=r"^[a-z_0-9]{1,60}\Z")], Int]
    range_constraints: dict[Size, Range]
    schema_version: SchemaVersion
    verifiers: list[Literal["", "TRAINING", "ATEN", "CORE_ATEN", "EDGE"]] = []
    torch_version: Annotated[str, Meta(pattern=r"^[0-9A-Za-z.+_<=-]{1,100}\Z")] = "<=2.4"
    guards_code: list[str] = []

    def __post_init__(self) -> None:
        self.guards_code = []


class Payload(Closed):
    """Where the bytes of a tensor are, and how they are read. Pickled tensors are refused."""

    path_name: Annotated[str, Meta(pattern=r"^(?:weight|tensor)_\d{1,7}\Z")]
    is_param: bool
    use_pickle: Literal[False]
    tensor_meta: TensorMeta


class Payloads(Closed):
    config: dict[Path, Payload]


__all__ = ["Payloads", "Program"]
