"""The schema of torch.export's JSON (major version 8, as PyTorch 2.9 to 2.14 write it), closed: an unknown field is an error.

What is decoded is encoded again, so that PyTorch reads no other text. It imports modules that specifications of trees name, and writes the
names of inputs into the text of functions; here such texts have closed forms. Guards, which it compiles, and metadata are left out.
"""

from __future__ import annotations

import keyword
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from .torch_graph import Argument, Closed, Int, Name, Named, Path, Real, TensorMeta, Text, TorchGraph, Union

Size = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_ +*/,()-]{1,500}\Z")]
"""A symbol or an expression as the key of a range; PyTorch compares such keys and does not evaluate them."""


class UserInput(Closed):
    arg: Argument


class TorchConstant(Union):
    as_none: bool | UnsetType = UNSET
    as_int: Int | UnsetType = UNSET
    as_float: Real | UnsetType = UNSET
    as_string: Text | UnsetType = UNSET
    as_bool: bool | UnsetType = UNSET


class ConstantInput(Closed):
    name: Name
    value: TorchConstant


class Parameter(Closed):
    arg: Named
    parameter_name: Path


class TorchBuffer(Closed):
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
    buffer: TorchBuffer | UnsetType = UNSET
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


class TorchRange(Closed):
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
            self.context = msgspec.json.encode(self._decoded()).decode()

    @property
    def keys(self) -> list[Key]:
        """The keys of a dictionary."""
        return self._decoded() or []

    def _decoded(self) -> list[Key] | None:
        return msgspec.json.decode(self.context or "null", type=list[Key] | None)


class CallSignature(Closed):
    inputs: list[Argument]
    outputs: list[Argument]
    in_spec: str
    out_spec: str
    forward_arg_names: list[Name] | None = None

    def __post_init__(self) -> None:
        self.in_spec, given = _tree(self.in_spec)
        self.out_spec, _ = _tree(self.out_spec)
        keywords = given.children_spec[1].keys if len(given.children_spec) > 1 else []
        # They are the parameters of a function that PyTorch writes.
        for name in (*map(str, keywords), *(self.forward_arg_names or ())):
            if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
                raise ValueError(f"the input {name[:60]!r} is no identifier")


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

    graph: TorchGraph
    signature: Signature
    module_call_graph: list[CallEntry]
    metadata: dict[str, str] = msgspec.field(default_factory=dict)
    treespec_namedtuple_fields: dict[str, NamedTuple] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        self.metadata = {}
        self.treespec_namedtuple_fields = {}


class SchemaVersion(Closed):
    major: Literal[8]
    minor: Int


class ExportedProgram(Closed):
    """An exported program. Its guards, which PyTorch compiles as Python, are not given to it: they check inputs of a call alone."""

    graph_module: GraphModule
    opset_version: dict[Annotated[str, Meta(pattern=r"^[a-z_0-9]{1,60}\Z")], Int]
    range_constraints: dict[Size, TorchRange]
    schema_version: SchemaVersion
    verifiers: list[Literal["", "TRAINING", "ATEN", "CORE_ATEN", "EDGE"]] = msgspec.field(default_factory=list)
    torch_version: Annotated[str, Meta(pattern=r"^[0-9A-Za-z.+_<=-]{1,100}\Z")] = "<=2.4"
    guards_code: list[str] = msgspec.field(default_factory=list)

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


__all__ = ["ExportedProgram", "Payloads"]
