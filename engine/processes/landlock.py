"""Landlock of Linux: this process reads below some paths alone, writes in one folder alone, and executes no program.

The calls are those of the kernel's documentation (userspace-api/landlock), through ctypes. Later threads and processes inherit the rules.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from pathlib import Path

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls, with the same numbers on all processors."""

VERSION_FLAG, PATH_BENEATH = 1, 1
PR_SET_NO_NEW_PRIVS = 38

WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 1, 1 << 2, 1 << 3, 1 << 14
READ = READ_FILE | READ_DIR
ON_FILES = WRITE_FILE | READ_FILE | TRUNCATE
"""The rights of a rule for a file; others are for folders."""

FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
"""All rights on files that a version handles, by the first version."""

NETWORK_SINCE, BIND_AND_CONNECT = 4, 0b11
SCOPES_SINCE, SOCKETS_AND_SIGNALS = 6, 0b11


def kernel_call(number: int, *arguments: object) -> int:
    """The result of a system call. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def allow_no_new_privileges() -> None:
    """Set-user-id programs give no rights to this process. The kernel demands it before it confines a process. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "no_new_privs")


def landlock_version() -> int:
    """The version of Landlock; 0 without it."""
    if sys.platform != "linux":
        return 0
    try:
        return kernel_call(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION_FLAG))
    except OSError:
        return 0


def restrict_files(readable: Iterable[Path], writable: Iterable[Path]) -> bool:
    """Deny this thread all files but those below the paths, all programs and TCP; returns whether the kernel has Landlock.

    Raises OSError if the kernel has it and does not apply the rules.
    """
    version = landlock_version()
    if not version:
        return False
    rights = FILE_RIGHTS[max(v for v in FILE_RIGHTS if v <= version)]
    network = BIND_AND_CONNECT if version >= NETWORK_SINCE else 0
    scopes = SOCKETS_AND_SIGNALS if version >= SCOPES_SINCE else 0
    attributes = struct.pack("QQQ", rights, network, scopes)
    size = 24 if scopes else 16 if network else 8
    rules = kernel_call(CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path in readable:
            _allow(rules, path, READ)
        for path in writable:
            _allow(rules, path, rights & ~1)  # bit 0 executes
        allow_no_new_privileges()
        kernel_call(RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint32(0))
    finally:
        os.close(rules)
    return True


def _allow(rules: int, path: Path, rights: int) -> None:
    """Add a rule for a path and all below it; a path that does not exist needs none."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = rights if path.is_dir() else rights & ON_FILES
        rule = struct.pack("=Qi", allowed, opened)
        kernel_call(ADD_RULE, ctypes.c_int(rules), ctypes.c_int(PATH_BENEATH), rule, ctypes.c_uint32(0))
    finally:
        os.close(opened)


__all__ = ["allow_no_new_privileges", "kernel_call", "landlock_version", "restrict_files"]
