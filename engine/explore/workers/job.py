"""The serialised tasks of a study: all that a worker process needs, as text and numbers, sent once."""

from __future__ import annotations

import msgspec

from ...adopt import KernelText
from ...hwsim import Machine
from ...schedule import Intrinsics, process_intrinsics
from ...script import parse, read_calls, to_script
from ..search.local_search import EstimatedPoint, LocalSearch
from ..space.model import Space, space_of
from ..trials.evaluator import Answer, EvaluationLimits, EvaluationRequest, Evaluator, Task
from ..trials.outcome import Outcome
from ..trials.study import Settings


class Intrin(msgspec.Struct, frozen=True):
    """A tensor intrinsic as text."""

    name: str
    desc: str
    impl: str


class Job(msgspec.Struct, frozen=True):
    """A space on a machine, with the objectives, budgets and limits of its candidates."""

    program: str
    kernel: KernelText | None
    lines: tuple[str, ...]
    schedule_name: str
    sizes: dict[str, int]
    intrinsics: tuple[Intrin, ...]
    machine: Machine
    objectives: tuple[str, ...]
    budgets: dict[str, float]
    limits: EvaluationLimits

    @property
    def bench(self) -> Evaluator:
        """The evaluator that performs the tasks."""
        intrinsics = Intrinsics()
        for intrin in self.intrinsics:
            intrinsics.register(intrin.name, intrin.desc, intrin.impl)
        space = space_of(
            parse(self.kernel.text if self.kernel is not None else self.program).program,
            read_calls("\n".join(self.lines)),
            schedule_name=self.schedule_name,
            sizes=self.sizes,
            intrinsics=intrinsics,
            kernel=self.kernel,
        )
        return Evaluator(space, self.machine, self.objectives, self.budgets, self.limits)


def job_of(space: Space, machine: Machine, settings: Settings) -> Job:
    """The job of a study's workers."""
    known = process_intrinsics() if space.intrinsics is None else space.intrinsics
    found = (known.get(name) for name in known)
    return Job(
        to_script(space.program) if space.kernel is None else "",
        space.kernel,
        tuple(line.text for line in space.lines),
        space.schedule_name,
        dict(space.sizes),
        tuple(Intrin(i.name, to_script(i.desc), to_script(i.impl)) for i in found),
        machine,
        settings.objectives,
        settings.budgets,
        settings.limits,
    )


def encoded(value: Job | Task | Answer) -> bytes:
    """A message between a study and its workers."""
    return msgspec.msgpack.encode(value)


def job_from(data: bytes) -> Job:
    return msgspec.msgpack.decode(data, type=Job)


def task_from(data: bytes) -> Task:
    return msgspec.msgpack.decode(data, type=EvaluationRequest | LocalSearch)


def answer_from(task: Task, data: bytes) -> Answer:
    """Decodes the answer to a task."""
    if isinstance(task, LocalSearch):
        return msgspec.msgpack.decode(data, type=tuple[EstimatedPoint, ...])
    return msgspec.msgpack.decode(data, type=Outcome)
