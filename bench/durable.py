"""The cost of durability in an answer of the API: `python bench/durable.py [EDITS]`.

`tilewright serve` answers edits of one notebook in a separate process: with the history synced at each commit, with commits that are not
synced, and without waiting for the history at all. Prints the median and the 95th percentile in milliseconds, and the sync time of the
disk.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from urllib.parse import urlsplit

TOKEN = "a-token-for-the-bench"
WAYS = ("synced", "not synced", "not waited for")

NOTEBOOK = Path(__file__).parents[1] / "static" / "examples" / "place_the_copies.py"


def main(edits: int = 300) -> None:
    """Measure the modes alternately, several times: the load of a shared machine varies."""
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(5):
        for way in WAYS:
            times[way] += answers(way, edits // 5)
    times["sync of the disk"] = syncs(edits)
    for name, found in times.items():
        print(f"{name:>16}: median {median(found):6.2f} ms, 95 % {quantiles(found, n=20)[-1]:6.2f} ms")
    print(f"added at the median: {median(times['synced']) - median(times['not waited for']):.2f} ms")


def answers(way: str, edits: int) -> list[float]:
    """Milliseconds of `edits` edits, at the pace of a client that waits for each answer."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as state:
        (Path(folder) / "mine.py").write_text(NOTEBOOK.read_text())
        command = [sys.executable, __file__, "--serve", way, folder]
        environment = {**os.environ, "TILEWRIGHT_STATE_DIR": state}
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:
            assert server.stdout is not None
            connection = http.client.HTTPConnection(urlsplit(server.stdout.readline().strip()).netloc)
            session = _ask(connection, "/api/sessions", {"name": "mine.py"})["session"]
            found = [_timed(connection, f"/api/sessions/{session}", number) for number in range(edits)]
            server.terminate()
    return found[5:]  # the first ones create the history


def _timed(connection: http.client.HTTPConnection, address: str, number: int) -> float:
    time.sleep(0.02)
    begin = time.perf_counter()
    _ask(connection, address, {"intent": "EditProse", "index": 0, "text": f"# Edit {number}"})
    return (time.perf_counter() - begin) * 1000


def _ask(connection: http.client.HTTPConnection, address: str, body: dict[str, object]) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection.request("POST", address, json.dumps(body), headers)
    answer = connection.getresponse()
    answered = json.loads(answer.read())
    assert answer.status < 300, answered
    return answered


def syncs(count: int) -> list[float]:
    """Milliseconds to sync a write of 8 KiB at the end of a file."""
    found: list[float] = []
    with tempfile.TemporaryFile() as file:
        for _ in range(count):
            begin = time.perf_counter()
            file.write(b"x" * 8192)
            file.flush()
            os.fdatasync(file.fileno())
            found.append((time.perf_counter() - begin) * 1000)
    return found


def serve_one_way(way: str, folder: Path) -> int:
    """The measured server."""
    from tilewright.app.document.files import history
    from tilewright.app.server import api
    from tilewright.app.server.access import make_policy
    from tilewright.app.server.run import Serving, serve

    opened = history._opened

    def quick(path: Path) -> object:
        db = opened(path)
        db.execute("PRAGMA synchronous = OFF")
        return db

    async def at_once(*_: object, **__: object) -> None:
        pass

    if way == "not synced":
        history._opened = quick  # pyright: ignore[reportAttributeAccessIssue]
    if way == "not waited for":
        api.until_durable = at_once  # pyright: ignore[reportAttributeAccessIssue]
    return serve(Serving(folder, 0, make_policy(token=TOKEN)), lambda address: print(address, flush=True))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        sys.exit(serve_one_way(sys.argv[2], Path(sys.argv[3])))
    main(*map(int, sys.argv[1:]))
