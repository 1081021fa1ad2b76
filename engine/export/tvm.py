"""A schedule as a Python file for Apache TVM 0.26 or newer: the program, then the same calls with readable variables.

Run under TVM the file leaves `sch`, whose module is structurally equal to ours. What TVM has no word for is written another way, with a
comment: loop names of `split` are dropped, axis separators (gone from TVM 0.26) are left out of index maps, and `double_buffer` becomes the
annotation that TVM's own pipeline passes read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..ir import IndexMap, IRModule, PrimFunc, Refusal, TilewrightError, Var
from ..schedule import Schedule, Step, Trace
from ..script import to_script
from .calls import BLOCK_PARAMETERS, Handle, call_text, index_map_text, loop_position, unique_name

_RESERVED = ("sch", "s_tir", "tvm", "T", "I", "Module", "print")
_LISTS = frozenset({"split", "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks"})
"""Methods that give a list in TVM, of one element too."""

_HEADER = '''\
"""{title} for Apache TVM 0.26 or newer, exported by Tilewright.

`sch.mod` is the scheduled module; run this file to print it.
"""

from tvm import s_tir
from tvm.script import ir as I
from tvm.script import tirx as T


{module}

sch = s_tir.Schedule(Module)
'''

_FOOTER = """
if __name__ == "__main__":
    print(sch.mod.script())
"""


def to_tvm_python(original: IRModule | PrimFunc, trace: Trace, names: Mapping[str, Any] | None = None) -> str:
    """The file's text. `names` (variable -> handle) keeps the user's variables; other handles are called after their loop or block."""
    module = original if isinstance(original, IRModule) else IRModule((original,))
    writer = _Writer(module, names or {})
    for step in trace.steps:
        writer.write(step)
    functions = [f.name for f in module.functions]
    text = _HEADER.format(title=f"The schedule of {', '.join(functions)}", module=_class_text(module))
    calls = "\n".join(writer.lines)
    return f"{text}{calls}\n{_FOOTER}"


def _class_text(module: IRModule) -> str:
    """The module without the import comments above it."""
    text = to_script(module)
    return text[text.index("@I.ir_module") :].rstrip() + "\n"


class _Writer:
    """The lines written so far and the variable of each handle."""

    def __init__(self, module: IRModule, names: Mapping[str, Any]) -> None:
        self.lines: list[str] = []
        self._replay = _Replay(module)
        self._wanted: dict[Handle, str] = {value: name for name, value in names.items() if isinstance(value, Var | str)}
        self._variables: dict[Handle, str] = {}
        self._taken: set[str] = {*_RESERVED}
        worked_on = self._replay.schedule.func.name
        if worked_on != "main":
            self.lines.append(f'sch.work_on("{worked_on}")')

    def write(self, step: Step) -> None:
        """Append the line of `step`, and what it needs before it."""
        arguments = dict(step.arguments)
        match step.method:
            case "get_block" | "get_sblock":
                self._assign(step, f'sch.get_sblock("{arguments["name"]}")')
            case "double_buffer":
                self.lines.append("# Tilewright's double_buffer: TVM acts on it only in a software pipeline.")
                self.lines.append(f'sch.annotate({self._text_of(arguments["block"])}, "double_buffer_scope", 0)')
            case _:
                self._comment(arguments)
                if step.method == "split":
                    arguments.pop("names", None)
                self._assign(step, call_text("sch", step.method, arguments, self._text_of, separator=None))
        self._replay.follow(step)

    def _comment(self, arguments: Mapping[str, Any]) -> None:
        for value in arguments.values():
            if isinstance(value, IndexMap) and value.separators:
                self.lines.append("# TVM 0.26 dropped axis separators; the map with them was")
                self.lines.append(f"#   {index_map_text(value)}")

    def _assign(self, step: Step, call: str) -> None:
        variables = [self._variable(handle) for handle in step.results]
        if not variables:
            self.lines.append(call)
        elif step.method in _LISTS and len(variables) == 1:
            self.lines.append(f"{variables[0]} = {call}[0]")
        else:
            self.lines.append(f"{', '.join(variables)} = {call}")

    def _variable(self, handle: Handle) -> str:
        if handle not in self._variables:
            name = self._wanted.get(handle) or (handle.name if isinstance(handle, Var) else handle)
            self._variables[handle] = unique_name(name, self._taken)
            self._taken.add(self._variables[handle])
        return self._variables[handle]

    def _text_of(self, handle: Handle) -> str:
        """The variable of a handle; one that no call gave is looked up in a line before."""
        if handle in self._variables:
            return self._variables[handle]
        if isinstance(handle, str):
            self.lines.append(f'{self._variable(handle)} = sch.get_sblock("{handle}")')
        else:
            block, position = self._replay.position(handle)
            lookup = f"sch.get_loops({self._text_of(block)})[{position}]"
            self.lines.append(f"{self._variable(handle)} = {lookup}")
        return self._variables[handle]


class _Replay:
    """The program before each step, for handles that the trace did not name; calls are made only when one is asked for."""

    def __init__(self, module: IRModule) -> None:
        self.schedule = Schedule(module)
        self._waiting: list[Step] = []
        self._ours: dict[Handle, Handle] = {}

    def follow(self, step: Step) -> None:
        self._waiting.append(step)

    def position(self, loop: Var) -> tuple[str, int]:
        """A block below `loop` and the loop's position above it, in the trace's handles."""
        for step in self._waiting:
            self._apply(step)
        self._waiting.clear()
        ours = self._ours.get(loop, loop)
        found = loop_position(self.schedule.func, ours) if isinstance(ours, Var) else None
        if found is None:
            raise TilewrightError(
                Refusal("unknown-loop", f"the trace uses loop {loop.name!r}, which is not in the program there")
            )
        back = {v: k for k, v in self._ours.items()}
        block = back.get(found[0], found[0])
        assert isinstance(block, str)
        return block, found[1]

    def _apply(self, step: Step) -> None:
        args, kwargs = positional(step, self._ours)
        results = getattr(self.schedule, step.method)(*args, **kwargs)
        made = [results] if isinstance(results, Var | str) else list(results or ())
        self._ours.update(zip(step.results, made, strict=True))


def positional(step: Step, handles: Mapping[Handle, Handle]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a traced call to make it again, with handles replaced: loops that a method takes as `*loops` are spread."""

    def visit(value: Any, blocks: bool) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(visit(v, blocks) for v in value)
        if isinstance(value, Var) or (blocks and isinstance(value, str)):
            return handles.get(value, value)
        return value

    spread: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    for name, value in step.arguments:
        new = visit(value, name in BLOCK_PARAMETERS)
        if name in ("loops", "ordered_loops"):
            spread = tuple(new)
        else:
            kwargs[name] = new
    return spread, kwargs


__all__ = ["positional", "to_tvm_python"]
