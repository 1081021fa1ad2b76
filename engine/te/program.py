"""Entry points of the TE reader: from TE text to a program and its schedule."""

from __future__ import annotations

import ast
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ..ir import FAULTS, Place, PrimFunc, Var, free_vars, walk
from ..schedule import Schedule
from ..script import Note, Parsed, Positions
from ..script import parse as parse_script
from ..script.errors import parse_error
from ..script.language import is_te
from ..script.reading.source import Source
from ..script.subset.scope import Value
from ..script.subset.values import Function
from .dialect import te_reader
from .model import Compute, Operation, Placeholder, Scan, Tensor
from .prim_func import MadeProgram, inputs, make_prim_func, needed
from .reader import TEReader
from .translate import translate


class TEProgram(msgspec.Struct, frozen=True, eq=False):
    """The content of TE text: its program and schedule (`schedule.trace` has the calls).

    `names` are the text's variables for loops and blocks, `sources` the places of the lines that created the steps of the trace.
    `positions` are places of the program's nodes in the text, `notes` the reader's assumptions, `schedules` the number of schedules that
    the text makes.
    """

    program: PrimFunc
    schedule: Schedule
    names: Mapping[str, Var | str]
    sources: tuple[Place, ...]
    positions: Positions
    notes: tuple[Note, ...] = ()
    schedules: int = 0


def parse(text: str, filename: str = "") -> Parsed:
    """Return the program of TVMScript or of TE text (before its schedule); the language is detected. Raises ParseError."""
    if not is_te(text):
        return parse_script(text, filename)
    source = Source(text, filename)
    with _refusing_faults(source):
        reader = _read(source, {})
        return Parsed(made_program(reader).func, reader.positions.freeze())


def read_te(
    text: str,
    filename: str = "",
    sizes: Mapping[str, int | str] | None = None,
    *,
    assumes: bool = False,
    home: Path | None = None,
    chosen: int | None = None,
) -> TEProgram:
    """Return the program and the schedule of TE text. `sizes` are numbers for variables of te.var, by name, and values of variables that
    the text leaves unknown. If it `assumes`, undefined names in shapes are sizes, as in a quoted part of a program. `home` is the file of
    the text, beside which its imports are read. `chosen` is the number, from 0, of the schedule to read if the text makes several.

    Raises ParseError for unreadable text, and ScheduleError, with the line of the text, for an illegal schedule step.
    """
    source = Source(text, filename, home=home)
    with _refusing_faults(source):
        reader = _read(source, sizes or {}, assumes=assumes, chosen=chosen)
        made = made_program(reader)
        found = translate(reader, made)
        return TEProgram(
            made.func, found.schedule, found.names, found.sources, reader.positions.freeze(), tuple(reader.notes),
            reader.schedules,
        )  # fmt: skip


@contextmanager
def _refusing_faults(source: Source) -> Generator[None]:
    """Convert Python's exceptions to refusals; the place is the whole text if no statement is the cause."""
    try:
        yield
    except RecursionError:
        raise source.too_deep(source.place(source.tree)) from None
    except FAULTS as error:
        raise source.refused(source.tree, error) from error


def _read(
    source: Source, sizes: Mapping[str, int | str], *, assumes: bool = False, chosen: int | None = None
) -> TEReader:
    reader = te_reader(source, sizes, assumes=assumes, chosen=chosen)
    reader.python.run(source.tree.body)
    return reader


def made_program(reader: TEReader, tensors: Sequence[Tensor] | None = None) -> MadeProgram:
    """Return the program with the text's parameters, else with these tensors, or else with all inputs and the outputs."""
    if reader.assumes and not any(isinstance(op, Compute) for op in reader.operations):
        _call_uncalled(reader)
    parameters = _without_moved(reader, reader.record.parameters or tuple(tensors or ()) or _default_parameters(reader))
    end = reader.source.tree.body[-1] if reader.source.tree.body else reader.source.tree
    if not _has_output(parameters) and reader.record.schedule is not None:
        parameters += tuple(Tensor(op, n) for op in reader.record.schedule.outputs for n in range(len(op.buffers)))
    if not _has_output(parameters):
        raise reader.error(
            end, "not-a-program", "the text computes nothing", expected="C = te.compute(…) among the parameters"
        )
    made = make_prim_func(parameters, reader.operations)
    scalars = _unbound(made.func) if reader.record.parameters is None else set[Var]()
    if scalars:
        in_order = sorted(scalars, key=lambda scalar: scalar.name)
        made = make_prim_func((*parameters, *in_order), reader.operations)
    _require_inputs(reader, made, parameters, end)
    _require_sizes(reader, made.func, end)
    for names in made.blocks.values():
        for name in names:
            _place_block(reader, made, name)
    reader.positions.add(made.func, reader.source.place(reader.source.tree))
    return made


def _call_uncalled(reader: TEReader) -> None:
    """Call the last function of the text that computes, with sizes for its parameters: a text may only define it."""
    for name, function in reversed(reader.python.scope.items()):
        if isinstance(function, Function) and isinstance(function.node, ast.FunctionDef) and _computes(function.node):
            taken = [a.arg for a in function.node.args.args]
            taken = taken[: len(taken) - len(function.node.args.defaults)]
            args: list[Value] = ["float32" if "dtype" in n else _size(reader, n) for n in taken]
            given = ", ".join(f"{n}={'float32' if 'dtype' in n else 'a size'}" for n in taken)
            text = f"{name} is never called in the text: it is read as {name}({given})"
            reader.notes.append(Note(text, reader.source.header(function.node)))
            reader.call(function, args, function.node)
            return


def _computes(node: ast.FunctionDef) -> bool:
    calls = (part.func for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(isinstance(call, ast.Attribute) and call.attr in ("compute", "create_schedule") for call in calls)


def _size(reader: TEReader, name: str) -> Value:
    return reader.sizes[name] if name in reader.sizes else Var(name, "int32")


def _has_output(parameters: Sequence[Tensor | Var]) -> bool:
    return any(isinstance(p, Tensor) and isinstance(p.op, Compute) for p in parameters)


def _place_block(reader: TEReader, made: MadeProgram, name: str) -> None:
    op = next(op for op, names in made.blocks.items() if name in names)
    for var in made.loops[name]:
        reader.positions.add(var, reader.source.place(op.node))


def _without_moved(reader: TEReader, parameters: tuple[Tensor | Var, ...]) -> tuple[Tensor | Var, ...]:
    """Return the parameters without the intermediate tensors that the schedule inlines or computes inside another stage: TE writes only
    a part of these, or nothing."""
    schedule = reader.record.schedule
    if schedule is None:
        return parameters

    def is_moved(parameter: Tensor | Var) -> bool:
        if not isinstance(parameter, Tensor) or not isinstance(parameter.op, Compute):
            return False
        stage = schedule.stages.get(parameter.op)
        return stage is not None and stage.attach != "root" and stage.op not in schedule.outputs

    for moved in filter(is_moved, parameters):
        stage = schedule.stages[moved.op] if isinstance(moved, Tensor) else None
        assert stage is not None
        text = f"{stage.op.name} is computed inside another stage, so it is an intermediate buffer and not a parameter"
        reader.notes.append(Note(text, reader.source.place(stage.attached_by)))
    return tuple(parameter for parameter in parameters if not is_moved(parameter))


def _default_parameters(reader: TEReader) -> tuple[Tensor | Var, ...]:
    """Return the default parameters: the inputs in order of definition, then the scheduled outputs, or else the unread tensors."""
    schedule = reader.record.schedule
    computes = [op for op in reader.operations[reader.first :] if isinstance(op, Compute)]
    read = {buffer for op in computes for buffer in inputs(op)}
    ends: Sequence[Operation] = schedule.outputs if schedule else [op for op in computes if not read & {*op.buffers}]
    owners = {buffer: op for op in reader.operations for buffer in op.buffers}
    parts = [stage.op for stage in schedule.order] if schedule else needed(ends, owners)
    used = {buffer for op in parts for buffer in op.buffers}
    states = _states(reader)
    starts = [
        op for op in reader.operations if isinstance(op, Placeholder) and used & {*op.buffers} and op not in states
    ]
    return tuple(Tensor(op, i) for op in (*starts, *ends) for i in range(len(op.buffers)))


def _states(reader: TEReader) -> set[Operation]:
    """Return the placeholders that are the states of scans, which are no inputs."""
    return {state for op in reader.operations if isinstance(op, Scan) for state in op.states}


def _require_inputs(reader: TEReader, made: MadeProgram, parameters: Sequence[Tensor | Var], end: ast.AST) -> None:
    given: set[Operation] = {p.op for p in parameters if isinstance(p, Tensor)}
    used = {buffer for op in made.blocks for buffer in inputs(op)}
    given |= _states(reader)
    for op in reader.operations:
        if isinstance(op, Placeholder) and op not in given and used & {*op.buffers}:
            names = ", ".join([*(p.op.name for p in parameters if isinstance(p, Tensor)), op.name])
            raise reader.error(op.node, "not-a-program", f"the input {op.name} is not one of the parameters",
                               expected=f"[{names}] in tvm.lower")  # fmt: skip


def _unbound(func: PrimFunc) -> set[Var]:
    """Return the variables that are neither parameters nor sizes of parameters."""
    known = {*func.params, *(v for b in func.buffers for e in b.shape for v in walk(e) if isinstance(v, Var))}
    return free_vars(func.body) - known


def _require_sizes(reader: TEReader, func: PrimFunc, end: ast.AST) -> None:
    """Require a value for each variable, from a parameter or from the shape of one."""
    unbound = _unbound(func)
    if unbound:
        name = min(v.name for v in unbound)
        raise parse_error("unknown-name", f"the variable {name} has no value", reader.source.place(end), found=name,
                          expected="a parameter in tvm.lower, or a size of one")  # fmt: skip
