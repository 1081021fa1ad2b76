"""Builds a schedule with holes out of calls: each is tried, with its parameters at their first values, before it is added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from msgspec.structs import replace as replace_fields

from ...adopt import QUERIES, call_of, make_call
from ...ir import IRModule, Parameter, PrimFunc, ScheduleCall, TilewrightError, Var
from ...schedule import Handle, Intrinsics, Schedule, unique_name
from ...script import CallStep
from .schedule_lines import BuiltCall, BuiltLine, built_lines

T = TypeVar("T")

RESERVED = frozenset({"tilewright", "machine", "report"})
"""Names that no variable of a derived schedule has."""


class ScheduleBuilder:
    """The calls so far, with comments between them, and the schedule that they build. `names` has the variables of handles."""

    def __init__(self, program: IRModule | PrimFunc, name: str, intrinsics: Intrinsics | None) -> None:
        self.name = name
        self.schedule = Schedule(program, intrinsics=intrinsics)
        self.built: list[BuiltCall | str] = []
        self.names: dict[Handle, str] = {}
        self._taken = {*RESERVED, name}
        self._choices: list[Parameter] = []

    @property
    def lines(self) -> tuple[BuiltLine, ...]:
        """The lines of text and what they say: each choice in front of the first call that uses it."""
        return built_lines(self.built, self.name)

    @property
    def calls(self) -> tuple[CallStep, ...]:
        """The statements of the lines."""
        return tuple(line.statement for line in self.lines if line.statement is not None)

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters that the calls use, in order."""
        calls = (one for one in self.built if isinstance(one, BuiltCall))
        return tuple(dict.fromkeys(parameter for call in calls for parameter in call.parameters))

    def call(
        self, method: str, *args: Any, into: Sequence[str] = (), at: int | None = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Makes and adds a call, and returns the handles of its results, or only the one `at` a position. Raises TilewrightError.

        `into` are the variables wanted for them; a result without a variable is "_".
        """
        return self.make(call_of(method, args, kwargs), into, at)

    def make(self, call: ScheduleCall, into: Sequence[str] = (), at: int | None = None) -> tuple[Any, ...]:
        """Makes and adds a call; see `call`."""
        schedule, parameters = self.schedule.copy(), sorted(call.parameters, key=self._choices.index)
        made = make_call(schedule, call.with_handles({p: p.values[0] for p in parameters}))
        unpacks = isinstance(made, list | tuple)
        results = tuple(cast("Sequence[Any]", made)) if unpacks else () if made is None else (made,)
        targets = self._named(into)
        found = results if at is None else (results[at],)
        self.names |= {handle: name for handle, name in zip(found, targets, strict=False) if name != "_"}
        self.schedule = schedule
        call = replace_fields(call, results=results, changes=call.method not in QUERIES)
        self.built.append(BuiltCall(call, tuple(parameters), targets, at, unpacks=unpacks and at is None))
        return found

    def split(self, loop: Var, factors: Sequence[Any], into: Sequence[str]) -> tuple[Var, ...]:
        """Splits a loop into loops with the names of their variables. Raises TilewrightError."""
        names = self.fresh(*into)
        return self.call("split", loop, tuple(factors), names=names, into=names)

    def name_loops(self, block: str, *, anew: bool = False) -> tuple[Var, ...]:
        """Gives each loop around a block a variable, `anew` or if it has none, and returns the loops."""
        loops = tuple(f.loop_var for f in self.schedule.index.loops_of(block))
        wanted = ["_" if v in self.names and not anew else v.name for v in loops]
        if any(name != "_" for name in wanted):
            self.call("get_loops", block, into=wanted)
        return loops

    def attempt(self, calls: Callable[[], T]) -> T | None:
        """What `calls` returns, which adds calls; None, and none of its calls is added, if one is refused."""
        before = self.schedule, len(self.built), dict(self.names), set(self._taken)
        try:
            return calls()
        except TilewrightError:
            self._restore(*before)
            return None

    def accepts(self, method: str, *args: Any, into: Sequence[str] = (), **kwargs: Any) -> bool:
        """Adds a call unless it is refused; returns whether it was added."""
        return self.attempt(lambda: self.call(method, *args, into=into, **kwargs)) is not None

    def would(self, method: str, *args: Any, **kwargs: Any) -> bool:
        """Whether a call would be accepted; adds nothing."""
        before = self.schedule, len(self.built), dict(self.names), set(self._taken)
        legal = self.accepts(method, *args, **kwargs)
        self._restore(*before)
        return legal

    def choice(self, variable: str, name: str, values: Sequence[Any], first: int = 0) -> Parameter:
        """A choice among values, the one at `first` in front, as an argument of calls. Without a second value it is no hole."""
        (variable,) = self.fresh(variable)
        self._taken.add(variable)
        if len(values) > 1 and any(known.name == name and len(known.values) > 1 for known in self.parameters):
            name = f"{name} ({variable})"
        rest = (value for n, value in enumerate(values) if n != first)
        self._choices.append(Parameter(name, variable, (values[first], *rest)))
        return self._choices[-1]

    def fresh(self, *wanted: str) -> tuple[str, ...]:
        """Names that no variable has yet, each similar to one of these."""
        taken, found = set(self._taken), list[str]()
        for name in wanted:
            found.append(unique_name(name, taken))
            taken.add(found[-1])
        return tuple(found)

    def _named(self, wanted: Sequence[str]) -> tuple[str, ...]:
        fresh = iter(self.fresh(*(name for name in wanted if name != "_")))
        targets = tuple("_" if name == "_" else next(fresh) for name in wanted)
        self._taken |= {*targets}
        return targets

    def _restore(self, schedule: Schedule, count: int, names: dict[Handle, str], taken: set[str]) -> None:
        self.schedule, self.names, self._taken = schedule, names, taken
        del self.built[count:]


__all__ = ["ScheduleBuilder"]
