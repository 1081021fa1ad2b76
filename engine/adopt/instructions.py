"""Instructions of a TVM trace, read from its Python text or from its JSON."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from ..ir import Place, Refusal, TilewrightError, Var, refusing_faults
from ..script import CallStep, Ref, read_calls

MAX_INSTRUCTIONS = 2_000
"""Each instruction creates a new program, in time proportional to the size of the program so far."""

_HEAD = re.compile(r"^def \w+\((\w+)\b[^\n]*:[ \t]*$", re.MULTILINE)


class Instruction(msgspec.Struct, frozen=True, eq=False):
    """One call of a trace: `outputs = sch.method(*args, **kwargs)`; Refs are outputs of earlier instructions."""

    method: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    outputs: tuple[str, ...]
    where: str
    text: str
    place: Place | None = None
    index: int | None = None
    unpacks: bool = True


@refusing_faults(TilewrightError, "reading the trace")
def instructions_of(trace: Any, sizes: Mapping[str, Var] | None = None) -> tuple[Instruction, ...]:
    """Return the instructions of a trace: a TVM object, its text, or its JSON. Raises ParseError, "not-a-trace", "too-many-steps".

    `sizes` are the symbolic sizes of the program, which index maps may use, by name.
    """
    found = _read(trace, sizes or {})
    if len(found) > MAX_INSTRUCTIONS:
        raise TilewrightError(
            Refusal(
                "too-many-steps", "the trace is too long", f"{len(found)} instructions", f"at most {MAX_INSTRUCTIONS}"
            )
        )
    return found


def _read(trace: Any, sizes: Mapping[str, Var]) -> tuple[Instruction, ...]:
    if isinstance(trace, str):
        text = trace.strip()
        return _of_json(_loaded(text)) if text.startswith("[") else _of_text(trace, sizes)
    if callable(getattr(trace, "as_python", None)):
        return _of_text("\n".join(str(line) for line in trace.as_python()), sizes)
    if isinstance(trace, Sequence):
        items = cast("Sequence[Any]", trace)
        if items and all(isinstance(item, str) for item in items):
            return _of_text("\n".join(items), sizes)
        return _of_json(items)
    raise _no_trace(type(trace).__name__)


def _no_trace(found: str) -> TilewrightError:
    expected = "sch.trace, its Python text, or its JSON: [instructions, decisions]"
    return TilewrightError(Refusal("not-a-trace", "this is not a TVM trace", found=found[:80], expected=expected))


# -- Python text


def _of_text(text: str, sizes: Mapping[str, Var]) -> tuple[Instruction, ...]:
    """Return the calls in the text, or the calls inside `def apply_trace(sch):` if the text contains that function."""
    head = _HEAD.search(text)
    first_line = 1
    if head is not None:
        first_line += text.count("\n", 0, head.end()) + 1
        text = textwrap.dedent(text[head.end() + 1 :])
    return tuple(map(of_call, read_calls(text, "<trace>", first_line, sizes)))


def of_call(step: CallStep) -> Instruction:
    """Convert a statement of schedule code to an instruction."""
    where = f"line {step.place.line}"
    return Instruction(
        step.method, step.args, step.kwargs, step.targets, where, step.text[:80], step.place, step.index, step.unpacks
    )


# -- JSON


class _Kind(msgspec.Struct, frozen=True):
    """The order of an instruction's inputs and attributes; `many` names the input that receives all remaining values as one list."""

    method: str
    inputs: tuple[str, ...] = ()
    attrs: tuple[str, ...] = ()
    many: str = ""


def _kind(method: str, inputs: str = "", attrs: str = "", many: str = "") -> _Kind:
    return _Kind(method, tuple(inputs.split()), tuple(attrs.split()), many)


_KINDS: dict[str, _Kind] = {
    "GetSBlock": _kind("get_sblock", "", "name func_name"),
    "GetBlock": _kind("get_sblock", "", "name func_name"),
    "GetLoops": _kind("get_loops", "block"),
    "GetChildBlocks": _kind("get_child_blocks", "block_or_loop"),
    "GetProducers": _kind("get_producers", "block"),
    "GetConsumers": _kind("get_consumers", "block"),
    "GetOutputBlocks": _kind("get_output_blocks", "scope_block"),
    "SamplePerfectTile": _kind("sample_perfect_tile", "loop", "n max_innermost_factor"),
    "SamplePartitionedTile": _kind("sample_partitioned_tile", "loop", "n partition_pos innerpart_factor"),
    "SampleCategorical": _kind("sample_categorical", "", "candidates probs"),
    "SampleComputeLocation": _kind("sample_compute_location", "block"),
    "Split": _kind("split", "loop", "preserve_unit_iters disable_predication", "factors"),
    "LoopPartition": _kind("loop_partition", "loop", "preserve_unit_iters", "factors"),
    "Fuse": _kind("fuse", "", "preserve_unit_iters", "*"),
    "Merge": _kind("merge", "", "", "*"),
    "Reorder": _kind("reorder", "", "", "*"),
    "ReorderBlockIterVar": _kind("reorder_block_iter_var", "block new_order"),
    "AddUnitLoop": _kind("add_unit_loop", "block_or_loop"),
    "Parallel": _kind("parallel", "loop"),
    "Vectorize": _kind("vectorize", "loop"),
    "Bind": _kind("bind", "loop", "thread_axis"),
    "Unroll": _kind("unroll", "loop"),
    "CacheRead": _kind("cache_read", "block consumer_blocks", "read_buffer_index storage_scope"),
    "CacheWrite": _kind("cache_write", "block consumer_blocks", "write_buffer_index storage_scope"),
    "CacheInplace": _kind("cache_inplace", "block", "read_buffer_index storage_scope"),
    "CacheIndex": _kind("cache_index", "block", "storage_scope cse_thresh"),
    "ReIndex": _kind("reindex", "block", "buffer_index buffer_index_type"),
    "ReadAt": _kind("read_at", "loop block", "read_buffer_index storage_scope"),
    "WriteAt": _kind("write_at", "loop block", "write_buffer_index storage_scope"),
    "ComputeAt": _kind("compute_at", "block loop", "preserve_unit_loops index"),
    "ReverseComputeAt": _kind("reverse_compute_at", "block loop", "preserve_unit_loops index"),
    "ComputeInline": _kind("compute_inline", "block"),
    "ReverseComputeInline": _kind("reverse_compute_inline", "block"),
    "FuseReductionEpilogue": _kind("fuse_reduction_epilogue", "reduction_block epilogue_block"),
    "DecomposeReduction": _kind("decompose_reduction", "block loop"),
    "RFactor": _kind("rfactor", "loop", "factor_axis"),
    "StorageAlign": _kind("storage_align", "block", "buffer_index axis factor offset"),
    "SetScope": _kind("set_scope", "block", "buffer_index storage_scope"),
    "Blockize": _kind("blockize", "target", "preserve_unit_iters"),
    "Tensorize": _kind("tensorize", "block_or_loop", "tensor_intrin preserve_unit_iters"),
    "Annotate": _kind("annotate", "block_or_loop ann_val", "ann_key"),
    "Unannotate": _kind("unannotate", "block_or_loop", "ann_key"),
    "DecomposePadding": _kind("decompose_padding", "block loop"),
    "PadEinsum": _kind("pad_einsum", "block", "padding"),
    "RollingBuffer": _kind("rolling_buffer", "block", "write_buffer_index"),
    "EnterPostproc": _kind("enter_postproc"),
}
"""TVM's instruction kinds by name. Kinds with index maps are excluded: their JSON contains TVM's internal graph of the map."""

_TRUTHS = frozenset({"preserve_unit_iters", "disable_predication", "preserve_unit_loops"})


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _no_trace(text[:80]) from error


def _plain(value: Any) -> Any:
    """Convert TVM's strings, numbers, lists and maps to Python's."""
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value)
        return {str(key): _plain(item) for key, item in items.items()}
    if isinstance(value, Sequence):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    return _plain(value.value) if hasattr(value, "value") else value


def _of_json(data: Any) -> tuple[Instruction, ...]:
    data = _plain(data)
    match data:
        case [insts, decisions] if _is_list(insts) and _is_list(decisions):
            decided = _decided(decisions)
            return tuple(_instruction(item, position, decided) for position, item in enumerate(insts))
        case _:
            raise _no_trace(_short(data))


def _decided(decisions: Sequence[Any]) -> dict[int, Any]:
    """Return the decisions by instruction number."""
    found: dict[int, Any] = {}
    for item in decisions:
        match item:
            case [int(position), value]:
                found[position] = value
            case _:
                raise _bad_trace(f"{_short(item)} is not a decision", item, "[number of the instruction, value]")
    return found


def _instruction(item: Any, position: int, decided: Mapping[int, Any]) -> Instruction:
    where = f"instruction {position}"
    match item:
        case [str(name), inputs, attrs, outputs] if all(map(_is_list, (inputs, attrs, outputs))):
            pass
        case _:
            expected = "[name, inputs, attributes, outputs]"
            raise _bad_trace(f"{where} of the trace is not an instruction", item, expected)
    kind = _KINDS.get(str(name))
    if kind is None:
        raise TilewrightError(
            Refusal(
                "unsupported-instruction",
                f"the instruction {name} is not supported in JSON ({where} of the trace)",
                expected=", ".join(_KINDS),
                fix=("use the text of the trace, as_python()",),
            )
        )
    values = [_input(value, where) for value in inputs]
    kwargs = dict(zip(kind.inputs, values, strict=False))
    rest = values[len(kind.inputs) :]
    args = tuple(rest) if kind.many == "*" else ()
    if kind.many and kind.many != "*":
        kwargs[kind.many] = rest
    for key, value in zip(kind.attrs, attrs, strict=False):
        kwargs[key] = bool(value) if key in _TRUTHS else value
    if "buffer_index_type" in kwargs:
        side, index = kwargs.pop("buffer_index_type"), kwargs.pop("buffer_index")
        if side not in (0, 1) or not isinstance(index, int):
            expected = "an index, then 0 for a buffer that is read or 1 for one that is written"
            raise _bad_trace(f"{where} of the trace does not name a buffer", attrs, expected)
        kwargs["buffer"] = (("read", "write")[int(side)], index)
    if kind.method.startswith("sample_"):
        kwargs["decision"] = decided.get(position)
    if "consumer_blocks" in kwargs:
        kwargs["consumer_blocks"] = kwargs["consumer_blocks"] or None
    return Instruction(kind.method, args, kwargs, tuple(map(_short, outputs)), where, _short(item))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _input(value: Any, where: str) -> Any:
    """Convert an input: a variable's name, a string in quotes, "None", a number, or a list or dict of these."""
    match value:
        case "None":
            return None
        case str():
            return _quoted(value, where) if value.startswith('"') else Ref(value)
        case dict():
            return {key: _input(item, where) for key, item in cast("dict[str, Any]", value).items()}
        case _ if _is_list(value):
            return [_input(item, where) for item in value]
        case _:
            return value


def _quoted(value: str, where: str) -> str:
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if isinstance(found, str):
        return found
    raise _bad_trace(f"{where} of the trace has an unterminated string", value, 'a string in quotes: "\\"global\\""')


def _bad_trace(message: str, found: Any, expected: str) -> TilewrightError:
    return TilewrightError(Refusal("not-a-trace", message, found=_short(found), expected=expected))


def _short(value: Any) -> str:
    try:
        return str(value)[:80]
    except (ValueError, RecursionError):  # an integer with thousands of digits, a deeply nested list
        return type(value).__name__
