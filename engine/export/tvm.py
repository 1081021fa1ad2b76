"""A schedule as a Python file for Apache TVM 0.26 or newer: the program, then the same calls with readable variables.

Run under TVM the file leaves `sch`, whose module is structurally equal to ours. What TVM has no word for is left out or written another
way, and a comment in place says so: loop names of `split`, axis separators (gone from TVM 0.26), and `double_buffer`, which becomes the
annotation that TVM's own pipeline passes read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..ir import IndexMap, IRModule, PrimFunc, Refusal, TilewrightError, Var
from ..schedule import PRIMITIVES, Schedule, Step, Trace
from ..script import to_script
from .calls import BLOCK_PARAMETERS, Handle, call_text, index_map_text, loop_position, quoted, unique_name

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
        self._number = 0
        self._replay = _Replay(module)
        self._wanted: dict[Handle, str] = {value: name for name, value in names.items() if isinstance(value, Var | str)}
        self._variables: dict[Handle, str] = {}
        self._taken: set[str] = {*_RESERVED}
        worked_on = self._replay.schedule.func.name
        if worked_on != "main":
            self.lines.append(f"sch.work_on({quoted(worked_on)})")

    def write(self, step: Step) -> None:
        """Append the line of `step` with a comment, and before it what it needs."""
        if step.method in ("get_block", "get_sblock"):
            self._look_up(step)
        else:
            arguments = dict(step.arguments)
            call = self._call_of(step, arguments)
            self.lines += [f"# {line}" for line in self._comment(step, arguments)]
            self._assign(step, call)
        self._replay.follow(step)

    def _look_up(self, step: Step) -> None:
        """A block by its name, once: later calls in TVM may have renamed it, its variable stays good."""
        (block,) = step.results
        if block not in self._variables:
            self._assign(step, f"sch.get_sblock({quoted(str(block))})")

    def _call_of(self, step: Step, arguments: dict[str, Any]) -> str:
        """The call as TVM spells it."""
        match step.method, arguments:
            case "double_buffer", {"block": block}:
                return f'sch.annotate({self._text_of(block)}, "double_buffer_scope", 0)'
            case "split", _:
                arguments = {key: value for key, value in arguments.items() if key != "names"}
            case "transform_layout", {"buffer": int(position)}:
                arguments = arguments | {"buffer": ("read", position)}
            case _:
                pass
        return call_text("sch", step.method, arguments, self._text_of, separator=None)

    def _comment(self, step: Step, arguments: Mapping[str, Any]) -> list[str]:
        """What the step does, and what of it TVM has no word for."""
        if not step.changes:
            return []
        self._number += 1
        summary = PRIMITIVES[step.method].summary
        lines = [f"{self._number}. {re.split(r'[.;:] |[.:]$', summary)[0]}."]
        if step.method == "double_buffer":
            lines.append("   TVM reads this annotation only in a software pipeline: the second slot is lost.")
        if arguments.get("names"):
            lines.append(f"   TVM's split takes no names=[{', '.join(quoted(n) for n in arguments['names'])}].")
        index_map = arguments.get("index_map")
        if isinstance(index_map, IndexMap) and index_map.separators:
            lines.append(f"   TVM 0.26 dropped axis separators; with them the map was {index_map_text(index_map)}")
        return lines

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
            wanted = self._wanted.get(handle)
            name = handle.name if isinstance(handle, Var) else handle
            taken = self._taken if wanted else self._taken | {*self._wanted.values()}
            self._variables[handle] = unique_name(wanted or name, taken)
            self._taken.add(self._variables[handle])
        return self._variables[handle]

    def _text_of(self, handle: Handle) -> str:
        """The variable of a handle; one that no call gave is looked up in a line before."""
        if handle in self._variables:
            return self._variables[handle]
        if isinstance(handle, str):
            self.lines.append(f"{self._variable(handle)} = sch.get_sblock({quoted(handle)})")
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
