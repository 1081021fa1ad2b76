"""The inside of a confined process: it restricts itself before it imports a library that reads a file, answers once, and ends.

Linux enforces the limits on files by Landlock and those on sockets and processes by a filter of system calls; on every system a hook of
Python refuses them to Python code. docs/security.md lists what holds where.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

import msgspec

from ..ir import TilewrightError
from .audit import refuse_effects
from .landlock import restrict_files
from .process import answering_pipe
from .process_limits import limit_memory, limit_processor_time
from .seccomp import restrict_calls

SYSTEM = (
    "/usr", "/lib", "/lib64", "/bin", "/opt", "/nix/store", "/etc/ld.so.cache", "/etc/localtime", "/etc/alternatives",
    "/dev/urandom", "/dev/zero", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system",
)  # fmt: skip
"""Paths of the system that Python and its libraries read: programs, libraries, and facts about the processor."""

LIBRARIES = ("TVM_LIBRARY_PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables with folders of libraries."""

PR_SET_PDEATHSIG = 1


class ConfinedRequest(msgspec.Struct, frozen=True):
    """The file to read, the folder to write in, and the limits: `memory_bytes` and `processor_seconds` beyond those of the imports."""

    file: str
    folder: str
    parent: int
    memory_bytes: int
    processor_seconds: int
    file_bytes: int


class ConfinedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The text that the file becomes; with a code, the refusal."""

    text: str = ""
    code: str = ""
    message: str = ""
    found: str = ""
    expected: str = ""
    fix: tuple[str, ...] = ()


Work = Callable[[ConfinedRequest, Callable[[], None]], str]
"""Imports the libraries, calls its second argument, which starts the limits of time and memory, and returns the text of the file."""


def serve(work: Work, packages: Iterable[str]) -> int:
    """Answer the request on the command line. `packages` are the top-level packages that the work imports."""
    request = msgspec.json.decode(sys.argv[1], type=ConfinedRequest)
    answers = answering_pipe()
    end_with_parent(request.parent)
    confine(request, packages)

    def start_limits() -> None:
        limit_memory(request.memory_bytes)
        limit_processor_time(request.processor_seconds)

    try:
        answer = ConfinedAnswer(text=work(request, start_limits))
    except TilewrightError as error:
        why = error.refusal
        answer = ConfinedAnswer(code=why.code, message=why.message, found=why.found, expected=why.expected, fix=why.fix)
    answers.write(msgspec.json.encode(answer))
    answers.flush()
    os._exit(0)  # no cleanup of libraries, which can take seconds or hang


def confine(request: ConfinedRequest, packages: Iterable[str]) -> None:
    """Restrict this process for the rest of its life. Only its first thread may run."""
    folder = Path(request.folder)
    os.chdir(folder)
    readable = [*map(Path, SYSTEM), *_libraries(packages), Path(request.file)]
    _limit_files(request.file_bytes)
    restrict_files(readable, (folder, Path(os.devnull)))
    restrict_calls()
    refuse_effects(folder)


def end_with_parent(parent: int) -> None:
    """End this process when the parent ends, also when that is killed: by the kernel on Linux, else by the end of standard input."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
    else:
        threading.Thread(target=_wait_for_end, daemon=True).start()


def _wait_for_end() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def _libraries(packages: Iterable[str]) -> set[Path]:
    """The folders of Python, of its modules, also those that are links, of this package and of the packages."""
    named = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sys.path}
    for variable in LIBRARIES:
        named.update(os.environ.get(variable, "").split(os.pathsep))
    for name in (__name__.partition(".")[0], *packages):
        found = find_spec(name)
        named.update((found.submodule_search_locations if found is not None else None) or ())
    engine = Path(__file__).resolve().parents[1]
    linked = (entry for name in sys.path if os.path.isdir(name) for entry in os.scandir(name) if entry.is_symlink())
    return {Path(name).resolve() for name in (*named, *linked) if name} | {engine}


def _limit_files(file_bytes: int) -> None:
    """No core dumps, and no file of more than `file_bytes`."""
    import resource  # not on Windows

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))


__all__ = ["ConfinedAnswer", "ConfinedRequest", "Work", "confine", "end_with_parent", "serve"]
