"""States of a disk after a power cut, derived from the system calls of a real process.

`strace` records the file operations of the process. A cut falls between two calls: synced data are on the disk; of unsynced data, either a
prefix is (in order), or any subset (out of order): pages of writes, truncations, entries of folders. A file whose entry was not
synced may have no name, even if its content was synced.

`python -m support.faults.power_cuts FILE` is the recorded process: it edits a notebook and writes `sent DIGEST` and `kept DIGEST` lines.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

PAGE = 4096

CALLS = "openat,mkdir,mkdirat,write,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,link,linkat,rmdir"

_LINE = re.compile(r"(?P<at>\d+\.\d+) (?P<name>\w+)\((?P<arguments>.*)\) = (?P<result>-?\d+)(?P<rest>.*)")
_FILE = re.compile(r"^(\d+)<(?P<path>[^>]*)>")
_TEXT = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


class Operation(msgspec.Struct, frozen=True):
    """A recorded call: "make" (`data` is b"d" for a folder), "write" at `offset`, "cut" to a size, "sync", "rename" to `target`, "remove",
    "say" (a line of the process)."""

    kind: str
    path: str
    data: bytes = b""
    offset: int = 0
    target: str = ""


def can_trace() -> bool:
    """Whether strace is installed and may trace."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-f", "-o", os.devnull, "true"], capture_output=True, check=False).returncode == 0


def recorded(command: list[str], environment: dict[str, str], folders: tuple[Path, ...]) -> list[Operation]:
    """Run a command; return its operations on files below the folders and its output lines, in order."""
    with tempfile.TemporaryDirectory() as place:
        options = ["-ff", "-ttt", "-y", "-xx", "-s", "10000000", "-e", f"trace={CALLS}", "-e", "signal=none"]
        run = ["strace", *options, "-o", f"{place}/calls", *command]
        subprocess.run(run, env=environment, stdout=subprocess.DEVNULL, check=True, timeout=300)
        lines = [line for file in Path(place).iterdir() for line in file.read_text(errors="replace").splitlines()]
    calls = sorted(filter(None, map(_LINE.match, lines)), key=lambda call: float(call["at"]))
    below = tuple(f"{folder}/" for folder in folders)
    return [op for call in calls for op in _operations(call) if op.kind == "say" or f"{op.path}/".startswith(below)]


def _operations(call: re.Match[str]) -> list[Operation]:
    name, arguments, result = call["name"], call["arguments"], int(call["result"])
    if result < 0:
        return []
    texts = [bytes.fromhex(text.replace("\\x", "")) for text in _TEXT.findall(arguments)]
    file = _FILE.match(arguments)
    path = "" if file is None else _unescaped(file["path"])
    if name in ("write", "pwrite64"):
        if arguments.startswith("1<"):
            return [Operation("say", "", texts[0])]
        offset = int(arguments.rpartition(", ")[2]) if name == "pwrite64" else -1
        return [Operation("write", path, texts[0][:result], offset)]
    if name == "ftruncate":
        return [Operation("cut", path, offset=int(arguments.rpartition(", ")[2]))]
    if name in ("fsync", "fdatasync"):
        return [Operation("sync", path)]
    if name == "openat":
        match = re.search(r"<([^>]*)>", call["rest"])
        flags = arguments
        if match is None or not re.search("O_CREAT|O_TRUNC", flags):
            return []
        real = _unescaped(match[1])
        cut = [Operation("cut", real)] if "O_TRUNC" in flags else []
        return ([Operation("make", real)] if "O_CREAT" in flags else []) + cut
    names = [text.decode() for text in texts]
    if name.startswith("mkdir"):
        return [Operation("make", names[0], b"d")]
    if name.startswith("rename"):
        return [Operation("rename", names[0], target=names[1])]
    if name.startswith(("unlink", "rmdir")):
        return [Operation("remove", names[0])]
    raise AssertionError(f"no model of {name}")


def _unescaped(path: str) -> str:
    return bytes.fromhex(path.replace("\\x", "")).decode() if path.startswith("\\x") else path


class Inode:
    """A file's durable content and its pending changes."""

    def __init__(self, is_folder: bool = False) -> None:
        self.is_folder = is_folder
        self.synced = b""
        self.changes: list[tuple[int, Operation]] = []  # time and change
        self.end = 0

    def content(self, keep: set[tuple[int, int]] | None, until: int) -> bytes:
        """With the unsynced pages in `keep` (None: all that came before `until`)."""
        data = bytearray(self.synced)
        for at, change in self.changes:
            if change.kind == "cut":
                if at < until if keep is None else (at, 0) in keep:
                    data[:] = data[: change.offset].ljust(change.offset, b"\0")
                continue
            for page, (offset, piece) in enumerate(pages(change)):
                if at < until if keep is None else (at, page) in keep:
                    data.extend(b"\0" * (offset - len(data)))
                    data[offset : offset + len(piece)] = piece
        return bytes(data)


def pages(write: Operation) -> list[tuple[int, bytes]]:
    """The parts of a write that reach the disk separately."""
    found, at = [], 0
    while at < len(write.data):
        size = PAGE - (write.offset + at) % PAGE
        found.append((write.offset + at, write.data[at : at + size]))
        at += size
    return found


class Disk:
    """The files below some folders after operations, and their durable state. Initial files are durable."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self.folders = folders
        self.now: dict[str, Inode] = {}
        for folder in folders:
            for path in (folder, *folder.rglob("*")):
                self.now[str(path)] = made = Inode(path.is_dir())
                if path.is_file():
                    made.synced = path.read_bytes()
                    made.end = len(made.synced)
        self.entries: dict[str, Inode] = dict(self.now)  # durable
        self.moves: list[tuple[int, Operation, Inode]] = []  # of entries that are not durable

    def do(self, at: int, op: Operation) -> None:
        """Operation number `at`."""
        if op.kind == "make":
            if op.path not in self.now:
                self.now[op.path] = made = Inode(op.data == b"d")
                self.moves.append((at, op, made))
        elif op.kind in ("write", "cut"):
            inode = self.now[op.path]
            change = Operation("write", op.path, op.data, inode.end) if op.kind == "write" and op.offset < 0 else op
            inode.changes.append((at, change))
            inode.end = op.offset if op.kind == "cut" else max(inode.end, change.offset + len(op.data))
        elif op.kind == "sync":
            self._sync(op.path, at)
        elif op.kind in ("rename", "remove"):
            inode = self.now.pop(op.path)
            if op.kind == "rename":
                self.now[op.target] = inode
            self.moves.append((at, op, inode))

    def _sync(self, path: str, at: int) -> None:
        inode = self.now.get(path)
        if inode is None:  # renamed or removed since it was opened
            return
        if not inode.is_folder:
            inode.synced, inode.changes = inode.content(None, at), []
            return
        done = [move for move in self.moves if os.path.dirname(move[1].path) == path]
        self.moves = [move for move in self.moves if move not in done]
        for _, op, moved in done:
            _move(self.entries, op, moved)

    def rebuild(self, rng: random.Random, until: int, in_order: bool) -> None:
        """Write to the real disk, in the same folders, a possible state after a cut before operation `until`."""
        first = rng.randint(0, until)
        entries = dict(self.entries)
        for at, op, moved in self.moves:
            if at < first if in_order else rng.random() < 0.5:
                _move(entries, op, moved)
        for folder in self.folders:
            shutil.rmtree(folder)
            folder.mkdir(mode=0o700, exist_ok=True)  # an ending thread scans for searches and creates the state folder
        for path in sorted(entries):  # folders before their entries
            self._write(Path(path), entries, rng, first if in_order else None)

    def _write(self, path: Path, entries: dict[str, Inode], rng: random.Random, first: int | None) -> None:
        inode = entries[str(path)]
        if path in self.folders or not path.parent.is_dir():  # the latter: its folder has no name
            return
        if inode.is_folder:
            path.mkdir(mode=0o700)
            return
        keep = None
        if first is None:
            keep = {
                (at, page)
                for at, change in inode.changes
                for page in range(len(pages(change)) or 1)
                if rng.random() < 0.5
            }
        if not path.name.endswith("-shm"):  # an index in shared memory, which is discarded at a restart
            path.write_bytes(inode.content(keep, first or 0))


def _move(entries: dict[str, Inode], op: Operation, moved: Inode) -> None:
    if op.kind == "make":
        entries[op.path] = moved
        return
    if entries.get(op.path) is moved:
        del entries[op.path]
    if op.kind == "rename":
        entries[op.target] = moved


def edit_and_say(path: Path) -> None:
    """The recorded process."""
    from support.faults.killed_editor import FAST, name_of, say
    from support.sessions.filed import Desk, filed, send, text_of

    rng = random.Random(20261123)
    desk = Desk(path.parent, FAST)
    page = desk.page(path)
    for number in range(60):
        ways = ["edit", "undo", "redo"] if page.state.past and page.state.future else ["edit"]
        way = rng.choices(ways, [6, 2, 2][: len(ways)])[0]
        if way == "edit":
            send(page, "edit_prose", cell=0, text=f"# Edit {number} " + "x" * rng.choice([0, 10, 5_000]))
        else:
            send(page, way)
        say("sent", name_of(text_of(page)))
        desk.until(lambda: filed(page).save.durable)
        say("kept", name_of(text_of(page)))
        if rng.random() < 0.3:
            desk.settle()
    os._exit(0)


if __name__ == "__main__":
    edit_and_say(Path(sys.argv[1]))
