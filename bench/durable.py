"""What durability adds to an answer of the API: `python bench/durable.py [EDITS]`.

A server as `tilewright serve` makes it answers edits of one notebook, in turn: with the history synced at each commit, with commits
that are not synced, and without waiting for the history at all. Prints median and 95th percentile in milliseconds, and the disk's own sync.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.notebooks import MATMUL_NOTEBOOK  # noqa: E402
from support.served import served  # noqa: E402

from tilewright.app import api  # noqa: E402
from tilewright.app.document import history  # noqa: E402

opened, until_durable = history._opened, api.until_durable


def main(edits: int = 300) -> None:
    """Measure the three in turn, several times: a disk and a shared machine are never the same twice."""
    ways: dict[str, Callable[[], None]] = {
        "synced": _synced,
        "not synced": _not_synced,
        "not waited for": _not_waited_for,
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(5):
        for name, begin in ways.items():
            begin()
            times[name] += answers(edits // 5)
    times["sync of the disk"] = syncs(edits)
    for name, found in times.items():
        print(f"{name:>16}: median {median(found):6.2f} ms, 95 % {quantiles(found, n=20)[-1]:6.2f} ms")
    print(f"added at the median: {median(times['synced']) - median(times['not waited for']):.2f} ms")


def _synced() -> None:
    history._opened, api.until_durable = opened, until_durable


def _not_synced() -> None:
    def quick(path: Path) -> object:
        db = opened(path)
        db.execute("PRAGMA synchronous = OFF")
        return db

    history._opened = quick  # pyright: ignore[reportAttributeAccessIssue]


def _not_waited_for() -> None:
    async def at_once(*_: object, **__: object) -> None:
        pass

    history._opened, api.until_durable = opened, at_once  # pyright: ignore[reportAttributeAccessIssue]


def answers(edits: int) -> list[float]:
    """Milliseconds of so many edits, at the pace of a program that looks at each answer."""
    folder = Path(tempfile.mkdtemp())
    os.environ["TILEWRIGHT_STATE_DIR"] = tempfile.mkdtemp()
    (folder / "mine.py").write_text(MATMUL_NOTEBOOK)
    found: list[float] = []
    with served(folder) as server:
        session = server.opened("mine.py")
        for number in range(edits):
            begin = time.perf_counter()
            answer = server.ask("POST", session, {"intent": "EditProse", "index": 0, "text": f"# Edit {number}"})
            found.append((time.perf_counter() - begin) * 1000)
            assert answer.status == 200
            time.sleep(0.01)
    return found


def syncs(count: int) -> list[float]:
    """Milliseconds that the disk takes to sync a write of 8 KiB at the end of a file."""
    found: list[float] = []
    with tempfile.TemporaryFile() as file:
        for _ in range(count):
            begin = time.perf_counter()
            file.write(b"x" * 8192)
            file.flush()
            os.fdatasync(file.fileno())
            found.append((time.perf_counter() - begin) * 1000)
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
