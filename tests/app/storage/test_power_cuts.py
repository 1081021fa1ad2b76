"""A power cut at any moment: no edit reported durable is lost, and the file is never torn."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import pytest
from support.faults.killed_editor import name_of
from support.faults.power_cuts import Disk, Operation, can_trace, recorded
from support.profile import IS_DEEP
from support.sessions.filed import Desk, text_of
from support.sessions.notebooks import SMALL

ROOT = Path(__file__).parents[2]

CUTS = 1_000 if IS_DEEP else 15


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A folder of notebooks and the user's state folder, which the recorded process also has."""
    inside, state = tmp_path / "notebooks", tmp_path / "state"
    inside.mkdir(mode=0o700)
    state.mkdir(mode=0o700)
    (inside / "mine.py").write_text(SMALL)
    monkeypatch.setenv("TILEWRIGHT_STATE_DIR", str(state))
    return inside, state


@pytest.mark.slow
@pytest.mark.skipif(not can_trace(), reason="needs strace, and the right to trace")
@pytest.mark.deep
def test_power_cuts_lose_no_durable_edit_and_tear_no_file(folders: tuple[Path, Path]) -> None:
    inside, _ = folders
    path = inside / "mine.py"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    before = Disk(folders)
    operations = recorded([sys.executable, "-m", "support.faults.power_cuts", str(path)], environment, folders)
    kinds = {kind: sum(op.kind == kind for op in operations) for kind in ("write", "sync", "rename", "say")}
    assert kinds["say"] == 120 and kinds["sync"] > 60 and kinds["write"] > 120 and kinds["rename"] > 5
    rng = random.Random(7)
    lost: list[int] = []
    disk, known, possible = before, {name_of(SMALL)}, {name_of(SMALL)}
    cuts = sorted(rng.randrange(len(operations)) for _ in range(CUTS))
    for at, op in enumerate(operations):
        while cuts and cuts[0] == at:
            disk.rebuild(rng, at, in_order=len(cuts) % 2 == 0)
            lost += [at] if not _is_there(path, possible, known) else []
            cuts.pop(0)
        if op.kind == "say":
            word, _, name = op.data.decode().strip().partition(" ")
            known.add(name)
            possible = {name} if word == "kept" else {*possible, name}
        else:
            disk.do(at, op)
    assert not cuts and not lost
    print(f"{CUTS} cuts of {len(operations)} calls ({kinds}): none lost")


def _is_there(path: Path, possible: set[str], known: set[str]) -> bool:
    """Whether the file is whole, and a page shows durable text or text sent later."""
    assert name_of(path.read_text()) in known, "the file is no text that there ever was"
    desk = Desk(path.parent)
    page = desk.page(path)
    found = name_of(text_of(page))
    desk.close()
    return found in possible


def test_law_a_disk_may_lose_only_unsynced_data(folders: tuple[Path, Path]) -> None:
    """The disk model itself: it must be able to lose the writes of a careless program."""
    inside, state = folders
    name = str(inside / "new.py")
    careless = [
        Operation("make", name + ".tmp"),
        Operation("write", name + ".tmp", b"x" * 10_000, -1),
        Operation("rename", name + ".tmp", target=name),
    ]
    careful = [*careless[:2], Operation("sync", name + ".tmp"), careless[2], Operation("sync", str(inside))]
    for operations, is_safe in ((careless, False), (careful, True)):
        seen: set[bytes | None] = set()
        rng = random.Random(1)
        for _ in range(200):
            disk = Disk(folders)
            for at, op in enumerate(operations):
                disk.do(at, op)
            disk.rebuild(rng, len(operations), in_order=rng.random() < 0.5)
            seen.add((inside / "new.py").read_bytes() if (inside / "new.py").exists() else None)
            assert (inside / "mine.py").read_text() == SMALL and state.is_dir()
            (inside / "new.py").unlink(missing_ok=True)
            (inside / "new.py.tmp").unlink(missing_ok=True)
        assert (seen == {b"x" * 10_000}) == is_safe
        assert is_safe or (None in seen and len(seen) > 3), "no name, and torn pages"
