"""Confined processes: a module reads one file in a process of its own, without the user's variables, and within limits.

The process writes in a private folder alone, which is removed afterwards, and has no network; see `confined`.
"""

from __future__ import annotations

import os
import select
import signal
import site
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from ..cancellation import checkpoint
from ..ir import Refusal, TilewrightError
from .confined import ConfinedAnswer, ConfinedRequest

MEBI = 1 << 20

CHECK_SECONDS = 0.2
"""Time between two checks of whether the caller is cancelled, which ends the process."""

INHERITED = (
    "DYLD_LIBRARY_PATH", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "TVM_LIBRARY_PATH", "TZ",
)  # fmt: skip
"""The only variables that the process inherits: where programs and libraries are, and the language of the system."""

SET = {
    "CUDA_VISIBLE_DEVICES": "",
    "JAX_PLATFORMS": "cpu",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "TVM_NUM_THREADS": "1",
}
"""One thread, no accelerator, no writing beside modules."""


class SandboxLimits(msgspec.Struct, frozen=True):
    """Limits of a confined process. Those of memory and processor time begin after its imports; `seconds` is wall-clock time of all.

    `memory_bytes` grows by `memory_per_byte` for each byte of the file.
    """

    file_bytes: int = 4096 * MEBI
    memory_bytes: int = 2048 * MEBI
    memory_per_byte: int = 4
    processor_seconds: int = 120
    seconds: float = 300.0
    answer_bytes: int = 16 * MEBI

    def memory_for(self, size_bytes: int) -> int:
        """The memory that a file of this size may need."""
        return self.memory_bytes + self.memory_per_byte * size_bytes


LIMITS = SandboxLimits()


def confined_text(module: str, file: Path, limits: SandboxLimits = LIMITS) -> str:
    """Return the text that the process `python -m module` makes of a file; its main function is `confined.serve`.

    Raises TilewrightError with the refusal of the process, or "too-large", "too-slow" and "reader-ended" by the limits.
    """
    size_bytes = file.stat().st_size
    if size_bytes > limits.file_bytes:
        found, expected = f"{size_bytes:,} B", f"at most {limits.file_bytes:,} B"
        raise TilewrightError(Refusal("too-large", f"{file.name} is too large", found=found, expected=expected))
    with tempfile.TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True) as folder:
        request = ConfinedRequest(
            str(file.resolve()), str(Path(folder).resolve()), os.getpid(), limits.memory_for(size_bytes),
            limits.processor_seconds, size_bytes + 64 * MEBI,
        )  # fmt: skip
        process = _started(module, request)
        try:
            answer = _decoded(_received(process, file, limits))
            if answer is None:
                raise _ended(process, file, limits, request.memory_bytes)
        finally:
            _kill(process)
    if answer.code:
        raise TilewrightError(Refusal(answer.code, answer.message, answer.found, answer.expected, answer.fix))
    return answer.text


def _decoded(data: bytes) -> ConfinedAnswer | None:
    try:
        return msgspec.json.decode(data, type=ConfinedAnswer)
    except msgspec.DecodeError:
        return None


def _started(module: str, request: ConfinedRequest) -> subprocess.Popen[bytes]:
    """Start the process in a session of its own: an interrupt from the keyboard reaches only this process, which kills it."""
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    homes = dict.fromkeys(("HOME", "TMPDIR", "XDG_CACHE_HOME"), request.folder)
    return subprocess.Popen(
        [sys.executable, "-P", "-m", module, msgspec.json.encode(request).decode()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=request.folder,
        env={**kept, **SET, **homes, "PYTHONUSERBASE": site.getuserbase()},
    )


def _received(process: subprocess.Popen[bytes], file: Path, limits: SandboxLimits) -> bytes:
    """All that the process writes; empty if it ends without an answer."""
    assert process.stdout is not None
    deadline = time.monotonic() + limits.seconds
    parts: list[bytes] = []
    size_bytes = 0
    while True:
        checkpoint()
        left = deadline - time.monotonic()
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, min(left, CHECK_SECONDS)))
        if not ready and left > 0:
            continue
        if not ready:
            raise _refused("too-slow", file, f"more than {limits.seconds:g} s")
        part = os.read(process.stdout.fileno(), MEBI)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size_bytes += len(part)
        if size_bytes > limits.answer_bytes:
            raise _refused("too-large", file, f"more than {limits.answer_bytes:,} B for its text")


def _ended(process: subprocess.Popen[bytes], file: Path, limits: SandboxLimits, memory_bytes: int) -> TilewrightError:
    """The refusal of a process that ended without an answer."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(limits.seconds)
    status = process.poll()
    if status == -signal.SIGXCPU:
        return _refused("too-slow", file, f"more than {limits.processor_seconds} s of processor time")
    how = f"status {status}" if status is None or status >= 0 else signal.Signals(-status).name
    return TilewrightError(
        Refusal(
            "reader-ended", f"the process that reads {file.name} ended without an answer", found=how,
            expected=f"a file that needs at most {memory_bytes:,} B of memory and {limits.processor_seconds} s",
        )
    )  # fmt: skip


def out_of_memory(file: Path, memory_bytes: int) -> TilewrightError:
    """The refusal of a file that needs more memory than the limit."""
    return _refused("too-large", file, f"more than {memory_bytes:,} B of memory")


def _refused(code: str, file: Path, need: str) -> TilewrightError:
    return TilewrightError(Refusal(code, f"{file.name} needs {need}", expected="a file within the limits"))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and what it may have started, and close its pipes."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


__all__ = ["LIMITS", "SandboxLimits", "confined_text", "out_of_memory"]
