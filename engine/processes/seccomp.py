"""A filter of system calls of Linux: this process opens no socket, starts no process and signals none; threads are allowed."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Iterator
from typing import NamedTuple

from .landlock import allow_no_new_privileges

PR_SET_SECCOMP, MODE_FILTER = 22, 2
LOAD, JUMP_IF_EQUAL, JUMP_IF_AT_LEAST, JUMP_IF_SET, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
ALLOW, FAIL, KILL = 0x7FFF0000, 0x00050000, 0x80000000
CALL_NUMBER, PROCESSOR, FIRST_ARGUMENT = 0, 4, 16
"""Offsets in the kernel's `struct seccomp_data`."""

CLONE_THREAD = 0x00010000
OTHER_NUMBERS = 0x40000000
"""From here on numbers are those of x32, a second table of x86-64."""


class SystemCalls(NamedTuple):
    """The numbers of system calls on a processor: of those that fail, and of the two that start threads and processes."""

    audit: int
    denied: tuple[int, ...]
    clone: int
    clone3: int


CALLS = {
    "x86_64": SystemCalls(
        0xC000003E,
        # socket, fork, vfork, execve, kill, ptrace, rt_sigqueueinfo, process_vm_writev, execveat, pidfd_send_signal, io_uring_setup
        (41, 57, 58, 59, 62, 101, 129, 311, 322, 424, 425, 438),
        clone=56,
        clone3=435,
    ),
    "aarch64": SystemCalls(
        0xC00000B7,
        # socket, execve, kill, ptrace, rt_sigqueueinfo, process_vm_writev, execveat, pidfd_send_signal, io_uring_setup, pidfd_getfd
        (198, 221, 129, 117, 138, 271, 281, 424, 425, 438),
        clone=220,
        clone3=435,
    ),
}


def restrict_calls() -> bool:
    """Deny this thread and its later ones sockets, new processes and signals; returns whether the filter is known for this system.

    Raises OSError if the kernel does not apply it.
    """
    calls = CALLS.get(platform.machine())
    if sys.platform != "linux" or calls is None:
        return False
    instructions = list(_filter(calls))
    code = ctypes.create_string_buffer(b"".join(instructions))
    program = struct.pack("HP", len(instructions), ctypes.addressof(code))
    allow_no_new_privileges()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, MODE_FILTER, program, 0, 0) != 0:
        code_of_error = ctypes.get_errno()
        if code_of_error in (errno.EINVAL, errno.ENOSYS):  # a kernel without filters
            return False
        raise OSError(code_of_error, "seccomp")
    return True


def _filter(calls: SystemCalls) -> Iterator[bytes]:
    """Yield the instructions of the filter. A jump counts the instructions to skip if true, and if false."""
    yield _instruction(LOAD, PROCESSOR)
    yield _instruction(JUMP_IF_EQUAL, calls.audit, 1, 0)
    yield _instruction(RETURN, KILL)
    yield _instruction(LOAD, CALL_NUMBER)
    yield _instruction(JUMP_IF_AT_LEAST, OTHER_NUMBERS, 0, 1)
    yield _instruction(RETURN, KILL)
    for number in calls.denied:
        yield _instruction(JUMP_IF_EQUAL, number, 0, 1)
        yield _instruction(RETURN, FAIL | errno.EPERM)
    yield _instruction(JUMP_IF_EQUAL, calls.clone3, 0, 1)
    yield _instruction(RETURN, FAIL | errno.ENOSYS)  # the C library then uses clone, whose flags are in a register
    yield _instruction(JUMP_IF_EQUAL, calls.clone, 0, 3)
    yield _instruction(LOAD, FIRST_ARGUMENT)
    yield _instruction(JUMP_IF_SET, CLONE_THREAD, 1, 0)
    yield _instruction(RETURN, FAIL | errno.EPERM)
    yield _instruction(RETURN, ALLOW)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


__all__ = ["restrict_calls"]
