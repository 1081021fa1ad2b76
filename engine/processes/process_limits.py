"""Limits that the system enforces on this process: of its memory, where the system reports its size (Linux), and of its processor time."""

from __future__ import annotations

import os

STATM = "/proc/self/statm"


def resident_bytes() -> int | None:
    """Return the resident memory of this process; None where the system does not report it."""
    return _statm(1)


def limit_memory(more_bytes: int) -> None:
    """Limit the address space to `more_bytes` above its present size (0: no limit). A later call may raise the limit again."""
    has = _statm(0)
    if not more_bytes or has is None:
        return
    import resource  # not on Windows

    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = has + more_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def limit_processor_time(seconds: float) -> None:
    """Let the system end this process, by SIGXCPU, soon after it has used `seconds` more of processor time, even in a call into C. A later
    call sets another limit."""
    try:
        import resource  # not on Windows
    except ModuleNotFoundError:
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    most = int(used.ru_utime + used.ru_stime + seconds) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def _statm(field: int) -> int | None:
    try:
        with open(STATM, encoding="ascii") as statm:
            return int(statm.read().split()[field]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


__all__ = ["limit_memory", "limit_processor_time", "resident_bytes"]
