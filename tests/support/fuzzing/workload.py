"""The server's work on a posted notebook (evaluation, simulation, verification, drawings), and its costs."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from support.sessions.hostile import all_views

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.jobs.background_analysis import verdict_of
from tilewright.app.limits import LIMITS
from tilewright.app.state.derived import Store, sizes_of
from tilewright.app.state.model import State
from tilewright.engine.ir import TilewrightError
from tilewright.engine.processes import Budget, OverBudgetError, remaining_seconds, within

T = TypeVar("T")

TICK_SECONDS = 0.005


class Cost(NamedTuple):
    """The cost of a piece of work: seconds of processor time including child processes; the longest time during which no other thread ran;
    and the code of the refusal, "" for a result."""

    work: str
    seconds: float
    silence: float
    code: str


def worked(text: str) -> list[Cost]:
    """Do the server's work on a text, and return the cost of each piece."""
    costs: list[Cost] = []
    store, state = Store(), State()

    def opened() -> State:
        with within(Budget(LIMITS.change_seconds, LIMITS.memory_bytes), "the change"):
            return act(state, OpenText(text))

    after = _measured("open", opened, costs)
    if after is None or after.moment is None:
        return costs
    schedule = after.moment.schedule
    _measured("report", lambda: _raised(store.simulated(after)), costs)
    _measured("verdict", lambda: verdict_of(schedule, sizes_of(after, schedule.func)), costs)
    _measured("views", lambda: all_views(after, store), costs)
    return costs


def _raised(found: T) -> T:
    if isinstance(found, TilewrightError):
        raise found
    return found


def _measured(name: str, work: Callable[[], T], costs: list[Cost]) -> T | None:
    code, result = "", None
    with _silences() as silences, within(Budget(10_000.0, 0), name):
        before = remaining_seconds()
        try:
            result = work()
        except OverBudgetError as error:
            code = error.code
        except TilewrightError as error:
            code = error.code
        used = before - remaining_seconds()
    costs.append(Cost(name, used, max(silences), code))
    return result


@contextmanager
def _silences() -> Generator[list[float]]:
    """Collect the processor time that this thread uses between two turns of another thread. The garbage collector does not visit the
    objects of earlier tests, of which a server has none."""
    found, ended = [0.0], threading.Event()
    clock = time.pthread_getcpuclockid(threading.get_ident())

    def tick() -> None:
        before = time.clock_gettime(clock)
        while not ended.wait(TICK_SECONDS):
            now = time.clock_gettime(clock)
            found.append(now - before)
            before = now

    ticker = threading.Thread(target=tick, daemon=True)
    gc.freeze()
    ticker.start()
    try:
        yield found
    finally:
        ended.set()
        ticker.join()
        gc.unfreeze()


__all__ = ["Cost", "worked"]
