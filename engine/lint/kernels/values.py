"""Fixes by other values of a kernel: the literals of its text that feed stages, threads and tiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ...adopt import KernelValue, read_statements
from ...ir import TilewrightError
from ...prove import tested
from ..subject import Subject

MOST_TILES = 2
"""The maximum number of fixes by smaller tiles: each is run on random inputs."""
_SMALLER: Mapping[str, bool] = {"stages": True, "threads": False, "tile": True, "split": False}
"""Whether a smaller value of a kind needs less room, in the order in which the kinds are tried."""


def value_fixes(subject: Subject, holds: Callable[[Subject], bool], *, both: bool = False) -> Iterator[Subject | None]:
    """Yield the subject with fewer stages, more threads, a smaller tile or more parts of a sum for which a condition `holds`, the nearest
    values first. `both`: also with more stages, fewer threads, a larger tile or fewer parts."""
    kernel, tiles = subject.kernel, 0
    values = kernel.values if kernel is not None and not subject.text else ()
    for value in sorted(values, key=lambda v: list(_SMALLER).index(v.role)):
        for text in _nearest(value, both=both):
            assert kernel is not None
            chosen = [text if other is value else other.texts[0] for other in kernel.values]
            try:
                written = kernel.with_values(chosen)
                after = subject.with_text(written, read_statements(written).func)
            except TilewrightError:
                yield None
                continue
            fits = holds(after)
            if value.role in ("tile", "split") and fits:
                if tiles >= MOST_TILES:
                    return
                tiles += 1
                same = tested(after.schedule.func, subject.schedule.func, ()).status
                yield after if same in ("tested", "proved") else None
            else:
                yield after
            if fits:
                break


def _nearest(value: KernelValue, *, both: bool) -> Sequence[str]:
    numbers = [int(text) for text in value.texts if text.isdecimal()]
    now = int(value.texts[0]) if value.texts[0].isdecimal() else 0
    found = (n for n in numbers if n != now and (both or (n < now) == _SMALLER[value.role]))
    return [str(n) for n in sorted(found, key=lambda n: abs(n - now))]


__all__ = ["value_fixes"]
