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
from ..schedule import PRIMITIVES, Schedule, Step
from ..script import to_script
from .calls import Handle, call_text, index_map_text, loop_position, quoted, unique_name

_RESERVED = ("sch", "s_tir", "tvm", "T", "I", "Module", "print")
_LISTS = frozenset(
    {"split", "loop_partition", "get_loops", "get_child_blocks", "get_producers", "get_consumers", "get_output_blocks"}
)
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


def to_tvm_python(schedule: Schedule, names: Mapping[str, Any] | None = None) -> str:
    """The file's text. `names` (variable -> handle) keeps the user's variables; other handles are called after their loop or block."""
    writer = _Writer(schedule, names or {})
    for position in range(len(schedule.trace.steps)):
        writer.write(position)
    title = f"The schedule of {', '.join(f.name for f in schedule.original.functions)}"
    text = _HEADER.format(title=title, module=_class_text(schedule.original))
    return "\n".join([text.rstrip("\n"), *writer.lines, _FOOTER])


def _class_text(module: IRModule) -> str:
    """The module without the import comments above it."""
    text = to_script(module)
    return text[text.index("@I.ir_module") :].rstrip() + "\n"


class _Writer:
    """The lines written so far and the variable of each handle."""

    def __init__(self, schedule: Schedule, names: Mapping[str, Any]) -> None:
        self.lines: list[str] = []
        self._number = 0
        self._steps = schedule.trace.steps
        self._states = schedule.states
        self._func = self._func_at(0)
        self._wanted: dict[Handle, str] = {value: name for name, value in names.items() if isinstance(value, Var | str)}
        self._variables: dict[Handle, str] = {}
        self._taken: set[str] = {*_RESERVED}
        if self._func.name != "main":
            self.lines.append(f"sch.work_on({quoted(self._func.name)})")

    def write(self, position: int) -> None:
        """Append the line of a step with a comment, and before it what it needs."""
        step = self._steps[position]
        self._func = self._func_at(position)
        if step.method in ("get_block", "get_sblock"):
            self._look_up(step)
        elif step.method == "get_loop":
            self._text_of(step.results[0])
        else:
            arguments = dict(step.arguments)
            if step.method == "tile":
                self._tile(step, arguments)
                return
            call = self._call_of(step, arguments)
            self.lines += [f"# {line}" for line in self._comment(step, arguments)]
            self._assign(step, call)

    def _tile(self, step: Step, arguments: Mapping[str, Any]) -> None:
        """A tile as TVM's splits, with their loops put into its order."""
        loops = [self._text_of(loop) for loop in arguments["loops"]]
        self.lines += [f"# {line}" for line in self._comment(step, arguments)]
        made = [self._variable(handle) for handle in step.results]
        for n, (loop, factor) in enumerate(zip(loops, arguments["factors"], strict=True)):
            self.lines.append(f"{made[n]}, {made[n + len(loops)]} = sch.split({loop}, factors=[None, {factor}])")
        self.lines.append(f"sch.reorder({', '.join(made)})")

    def _func_at(self, position: int) -> PrimFunc:
        """The function that is worked on, before a step."""
        state = self._states[position]
        return state.mod[state.func_name]

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
            case (("split" | "loop_partition" | "fuse"), _):
                arguments = {key: value for key, value in arguments.items() if key not in ("names", "name")}
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
        names = arguments.get("names") or [n for n in (arguments.get("name"),) if n]
        if names and step.method != "tile":
            lines.append(f"   TVM's {step.method} takes no names: {', '.join(names)}.")
        if step.method == "tile":
            lines.append("   TVM has no tile: splits and a reorder.")
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
            block, position = self._position(handle)
            lookup = f"sch.get_loops({self._text_of(block)})[{position}]"
            self.lines.append(f"{self._variable(handle)} = {lookup}")
        return self._variables[handle]

    def _position(self, loop: Var) -> tuple[str, int]:
        """A block below `loop` and the loop's position above it."""
        found = loop_position(self._func, loop)
        if found is None:
            raise TilewrightError(
                Refusal("unknown-loop", f"the trace uses loop {loop.name!r}, which is not in the program there")
            )
        return found
