"""Export of a schedule as a Python file for Apache TVM: the program, then the same calls with readable variables.

Under TVM the file defines `sch`, whose module is structurally equal to ours. `generations.METHODS` determines the spelling of calls, so a
method of TVM needs no code here. Comments mark features that a version lacks, with the closest substitute: names of loops are left out,
`EQUIVALENTS` expands Tilewright's own primitives to TVM calls, and after any other call the file restarts from the resulting program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace as replace_fields

from ..analysis import ProgramIndex
from ..ir import (
    Buffer,
    Expr,
    IndexMap,
    IntImm,
    IRModule,
    PrimFunc,
    Refusal,
    ScheduleCall,
    TilewrightError,
    Var,
    free_vars,
    refusing_depth,
    rewrite,
    walk,
)
from ..schedule import PRIMITIVES, Handle, Schedule, assignment, quoted, unique_name, value_text
from ..script import to_script
from .calls import call_text, is_default, loop_position
from .generations import METHODS, RECORDED, generation_of, read_version, version_text
from .sized import sizes_lines
from .tvm_deviations import tvm_deviation

_RESERVED = ("sch", "s_tir", "tir", "tirx", "tvm", "T", "I", "Module", "print")
_HARMLESS = frozenset({"names", "name"})
"""Parameters that only Tilewright has and that change only names."""

_HEADER = '''\
"""{title} for Apache TVM {versions}, exported by Tilewright.{remark}

`sch.mod` is the scheduled module; run this file to print it.
"""

{imports}


{module}

sch = {schedule}(Module)
'''

_FOOTER = """
if __name__ == "__main__":
    print(sch.mod.script())
"""


@refusing_depth(TilewrightError)
def to_tvm_python(
    schedule: Schedule,
    names: Mapping[str, Any] | None = None,
    version: str = "0.27",
    *,
    sizes: Mapping[str, int] | None = None,
) -> str:
    """Return the file's text for a version of TVM ("0.22").

    `names` (variable -> handle) keeps the user's variables; other handles are named after their loop or block. With `sizes`, the file also
    defines `sized`, the module with numbers for its symbolic sizes. Raises TilewrightError "unknown-version", "unknown-size".
    """
    writer = _written(schedule, version, names)
    generation = writer.generation
    remark = ""
    if writer.version < RECORDED:
        remark = f"\nThe calls follow {version_text(RECORDED)}; an older TVM may lack some."
    text = _HEADER.format(
        title=f"Schedule of {', '.join(f.name for f in schedule.original.functions)}",
        versions=generation.versions,
        remark=remark,
        imports="\n".join(generation.imports),
        module=writer.module_text(schedule.original, "Module") + writer.intrinsics_text(),
        schedule=generation.schedule,
    )
    if not sizes:
        return "\n".join([text.rstrip("\n"), *writer.lines, _FOOTER])
    lines = sizes_lines(schedule.func, sizes, generation)
    return "\n".join([text.rstrip("\n"), *writer.lines, *lines, _FOOTER.replace("sch.mod", "sized")])


def restarts(schedule: Schedule, version: str, names: Mapping[str, Any] | None = None) -> tuple[str, ...]:
    """Return the calls that the file leaves out since it continues from the program after them, each with the reason."""
    return tuple(_written(schedule, version, names).restarts)


def _written(schedule: Schedule, version: str, names: Mapping[str, Any] | None) -> _Writer:
    writer = _Writer(schedule, names or {}, version)
    for position in range(len(schedule.trace.steps)):
        writer.write(position)
    return writer


class _Writer:
    """The lines written so far and the variable of each handle."""

    def __init__(self, schedule: Schedule, names: Mapping[str, Any], version: str) -> None:
        self.version = read_version(version)
        self.generation = generation_of(self.version)
        self.lines: list[str] = []
        self.restarts: list[str] = []
        """Calls that the file leaves out, with reasons."""
        self._number = 0
        self._steps = schedule.trace.steps
        self._states = schedule.states
        self._func = self._func_at(0)
        self._wanted: dict[Handle, str] = {}
        for name, value in names.items():
            if isinstance(value, Var | str) and name != "_":  # "_" marks an unused result
                self._wanted[value] = name
        self._variables: dict[Handle, str] = {}
        self._earlier: dict[Handle, str] = {}  # variables from before a restart
        self._used: set[str] = {*_RESERVED}
        self._work_on()

    def write(self, position: int) -> None:
        """Append a comment and the call of a step, after the lines that it needs."""
        step = self._steps[position]
        self._func = self._func_at(position)
        if step.method in ("get_block", "get_sblock", "get_loop"):
            for handle in step.results:
                self.text_of(handle)
            return
        arguments = dict(step.arguments)
        if step.changes:
            self._number += 1
            self.lines.append(f"# {self._number}. {_summary(step.method)}")
        equivalent = EQUIVALENTS.get(step.method)
        lacking = self._lacking(step.method, arguments) or self._misleads(position)
        if equivalent is not None and (written := equivalent(self, step, arguments)):
            self.lines += written
        elif lacking:
            self._go_on(position, lacking)
        else:
            self._call(step, arguments)

    # -- missing features

    def _misleads(self, position: int) -> str:
        """Describe the effect of TVM's call that would break later calls; empty if TVM produces the same program."""
        step = self._steps[position]
        if step.method == "loop_partition" and any(later.changes for later in self._steps[position + 1 :]):
            return f"TVM's {step.method} hides the accesses of its parts from later calls"
        return tvm_deviation(step, self._func, self._func_at(position + 1))

    def remark(self, text: str) -> None:
        """Append a comment below the step's own."""
        self.lines.append(f"#    {text}")

    @property
    def tvm(self) -> str:
        return f"TVM {version_text(self.version)}"

    def _lacking(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return the reason why this version cannot make the call; empty if it can."""
        method = METHODS.get(name)
        if method is None:
            return f"{self.tvm} has no {name}"
        if not method.is_in(self.version):
            since = f"added in {version_text(method.first)}" if method.first > self.version else ""
            until = f"removed after {version_text(method.last)}" if method.last else ""
            return f"{self.tvm} has no {name} ({since or until})"
        for key, value in arguments.items():
            if not method.has(key, self.version) and key not in _HARMLESS and not is_default(name, key, value):
                return f"{name} of {self.tvm} has no {key}="
            if any(isinstance(node, Var) for expr in _sizes(value) for node in walk(expr)):
                return f"{key}= uses a size of the program, for which {self.tvm} has no handle"
        return ""

    def _go_on(self, position: int, why: str) -> None:
        """Restart from the program after the step with a new schedule and new handle lookups."""
        state = self._states[position + 1]
        self.remark(f"{why}: the schedule continues from the program after this call.")
        self.restarts.append(f"{self._steps[position].method}: {why}")
        name = f"Module_{len(self.restarts)}"
        self.lines += ["", "", self.module_text(state.mod, name), "", f"sch = {self.generation.schedule}({name})"]
        self._earlier |= self._variables
        self._variables = {}
        self._func = state.mod[state.func_name]
        self._work_on()
        for handle in self._steps[position].results:
            self.text_of(handle)

    def module_text(self, module: IRModule, name: str) -> str:
        """Return the class of a module, without the import comments above it."""
        said = ""
        if self.generation.separator is None and (flat := without_separators(module)) is not module:
            module, said = flat, f"# {self.tvm} has no axis separators; the buffers omit them.\n"
        text = to_script(module, self.generation.dialect)
        body = text[text.index("@I.ir_module") :].rstrip().replace("class Module:", f"class {name}:", 1)
        return f"{said}{body}\n"

    def intrinsics_text(self) -> str:
        """Return the two functions of each tensor intrinsic that the calls use, and its registration."""
        used = (step.argument("tensor_intrin") for step in self._steps if step.method == "tensorize")
        owner = self.generation.schedule.rpartition(".")[0]
        parts: list[str] = []
        for intrin in dict.fromkeys(used):
            names = [unique_name(f"{intrin.name}_{part}", _RESERVED) for part in ("desc", "impl")]
            for func, name in zip((intrin.desc, intrin.impl), names, strict=True):
                text = to_script(replace_fields(func, name=name), self.generation.dialect)
                parts.append(text[text.index("@T.prim_func") :].rstrip())
            parts.append(f"{owner}.TensorIntrin.register({quoted(intrin.name)}, {', '.join(names)}, override=True)")
        return "".join(f"\n\n{part}\n" for part in parts)

    # -- calls

    def _call(self, step: ScheduleCall, arguments: dict[str, Any]) -> None:
        method = METHODS[step.method]
        for key in [k for k in arguments if not method.has(k, self.version)]:
            value = arguments.pop(key)
            if not is_default(step.method, key, value):
                self.remark(f"TVM's {step.method} has no argument {key}={value_text(value, self.text_of)}.")
        if isinstance(arguments.get("buffer"), int):
            arguments["buffer"] = ("read", arguments["buffer"])
        for key, value in arguments.items():
            if isinstance(value, IndexMap) and value.separators and self.generation.separator is None:
                self.remark(
                    f"{self.tvm} has no axis separators; with them, {key} was {value_text(value, self.text_of)}"
                )
        call = ScheduleCall(step.method, tuple(arguments.items()))
        self.assign(step, call_text(call, self.text_of, separator=self.generation.separator))

    def assign(self, step: ScheduleCall, call: str) -> None:
        """Append the call with assignments for the results of `step`."""
        gives = METHODS[step.method].gives
        if gives == "nothing" or not step.results:
            self.lines.append(call)
            return
        variables = [self.variable(handle) for handle in step.results]
        if gives == "list" and len(variables) == 1:
            self.lines.append(f"{variables[0]} = {call}[0]")
        else:
            self.lines.append(assignment(variables, call))

    # -- handles

    def variable(self, handle: Handle) -> str:
        """Return the variable of a handle; create it if necessary."""
        if handle not in self._variables:
            wanted = self._wanted.get(handle)
            name = handle.name if isinstance(handle, Var) else handle
            used = self._used if wanted else self._used | {*self._wanted.values()}
            self._variables[handle] = self._earlier.get(handle) or unique_name(wanted or name, used)
            self._used.add(self._variables[handle])
        return self._variables[handle]

    def text_of(self, handle: Handle) -> str:
        """Return the variable of a handle; a lookup line comes first if no call returned the handle.

        A block is looked up once: later TVM calls may rename it, but its variable stays valid.
        """
        if handle in self._variables:
            return self._variables[handle]
        if isinstance(handle, str):
            lookup = f"sch.{self.generation.get_block}({quoted(handle)})"
        else:
            block, position = self._position(handle)
            lookup = f"sch.get_loops({self.text_of(block)})[{position}]"
        self.lines.append(f"{self.variable(handle)} = {lookup}")
        return self._variables[handle]

    def _position(self, loop: Var) -> tuple[str, int]:
        """Return a block below `loop` and the loop's position above it."""
        found = loop_position(self._func, loop)
        if found is None:
            raise TilewrightError(
                Refusal("unknown-loop", f"the trace uses loop {loop.name!r}, which is not in the program there")
            )
        return found

    def _func_at(self, position: int) -> PrimFunc:
        """Return the current function before a step."""
        state = self._states[position]
        return state.mod[state.func_name]

    def notes_after(self, step: ScheduleCall, handle: Handle) -> dict[str, int | list[int]]:
        """Return the annotations of a loop or a block that are numbers or lists of them, as of the end of the step."""
        position = next(n for n, other in enumerate(self._steps) if other is step)
        index = ProgramIndex(self._func_at(position + 1))
        node = index.block(handle) if isinstance(handle, str) else index.loop(handle)
        return {
            key: value.value if isinstance(value, IntImm) else [v.value for v in value if isinstance(v, IntImm)]
            for key, value in node.annotations
            if isinstance(value, IntImm | tuple)
        }

    def _work_on(self) -> None:
        if self._func.name != "main":
            self.lines.append(f"sch.work_on({quoted(self._func.name)})")


def _summary(method: str) -> str:
    """Return the first sentence of a primitive's doc."""
    return re.split(r"[.;:] |[.:]$", PRIMITIVES[method].summary)[0] + "."


def _sizes(value: Any) -> list[Expr]:
    """Return the expressions in an argument that are not handles: factors, values."""
    if isinstance(value, list | tuple):
        return [expr for item in value for expr in _sizes(item)]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, IndexMap):
        return [v for index in value.indices for v in free_vars(index) if v not in value.params]
    return [value] if isinstance(value, Expr) and not isinstance(value, Var) else []


def without_separators(module: IRModule) -> IRModule:
    """Return the program for TVM 0.26, which has no axis separators; the module itself if it has none."""
    return rewrite(
        module, lambda n: replace_fields(n, axis_separators=()) if isinstance(n, Buffer) and n.axis_separators else n
    )


# Primitives that only Tilewright has, as one or several TVM calls.


def _double_buffer(writer: _Writer, step: ScheduleCall, arguments: Mapping[str, Any]) -> list[str]:
    """Write the annotation that TVM's pipeline passes read; Tilewright's double buffering is the same annotation."""
    block, notes = writer.text_of(arguments["block"]), writer.notes_after(step, arguments["block"])
    if arguments.get("slots") == 1:
        return ["# One slot: nothing changes."]
    writer.remark("TVM uses this annotation only in a software pipeline; without one, the second slot is lost.")
    lines = [f'sch.annotate({block}, "double_buffer_scope", 0)']
    for key, what in (("double_buffer_slots", "has two slots at most here"), ("double_buffer_banks", "has no banks")):
        if key in notes:
            writer.remark(f"TVM {what}; the annotation {key} is for Tilewright only.")
            lines.append(f'sch.annotate({block}, "{key}", {notes[key]})')
    return lines


def _pipeline(writer: _Writer, step: ScheduleCall, arguments: Mapping[str, Any]) -> list[str]:
    """Write the annotations that TVM's InjectSoftwarePipeline reads."""
    writer.remark("TVM has no pipeline call; these are the annotations of InjectSoftwarePipeline, which proves less.")
    loop = writer.text_of(arguments["loop"])
    notes = writer.notes_after(step, arguments["loop"]).items()
    return [f'sch.annotate({loop}, "{key}", {value})' for key, value in notes if key.startswith("software_pipeline")]


def _tile(writer: _Writer, step: ScheduleCall, arguments: Mapping[str, Any]) -> list[str]:
    """Write splits and a reorder to the tile's loop order."""
    loops = [writer.text_of(loop) for loop in arguments["loops"]]
    writer.remark("TVM has no tile; this uses splits and a reorder.")
    made = [writer.variable(handle) for handle in step.results]
    lines = [
        f"{made[n]}, {made[n + len(loops)]} = sch.split({loop}, factors=[None, {factor}])"
        for n, (loop, factor) in enumerate(zip(loops, arguments["factors"], strict=True))
    ]
    return [*lines, f"sch.reorder({', '.join(made)})"]


def _set_layout(writer: _Writer, step: ScheduleCall, arguments: Mapping[str, Any]) -> list[str]:
    """Write an axis order as an index map; strides have no equivalent."""
    order: list[int] = list(arguments["order_or_strides"])
    if sorted(order) != list(range(len(order))):
        return []
    writer.remark("TVM has no set_layout; this is the order as an index map.")
    axes = [f"i{k}" for k in range(len(order))]
    index_map = f"lambda {', '.join(axes)}: [{', '.join(axes[k] for k in order)}]"
    buffer = arguments["buffer"]
    where = value_text(("read", buffer) if isinstance(buffer, int) else buffer, writer.text_of)
    return [f"sch.transform_layout({writer.text_of(arguments['block'])}, {where}, {index_map})"]


Equivalent = Callable[[_Writer, ScheduleCall, Mapping[str, Any]], list[str]]
"""A function that returns the lines in place of a call; none if these arguments have no equivalent."""
EQUIVALENTS: Mapping[str, Equivalent] = {
    "double_buffer": _double_buffer,
    "pipeline": _pipeline,
    "tile": _tile,
    "set_layout": _set_layout,
}
