"""Limits on the size and number of one user's requests. A request over a limit is refused with a message before it costs much.

The engine's own limits (nesting depth, elements, iterations) are listed here too, so that all limits are in one place.
"""

from __future__ import annotations

import msgspec

from ..engine.execute.memory import MAX_ELEMENTS
from ..engine.hwsim.replay.timeline import MAX_COUNT
from ..engine.processes.sandbox import LIMITS as MODEL_FILES
from ..engine.processes.sandbox import SandboxLimits as ConfinedLimits
from ..engine.script import MAX_CARRIER_BYTES, MAX_DEPTH

MEBI = 1 << 20


class Limits(msgspec.Struct, frozen=True):
    """Texts in characters, files and messages in bytes. docs/security.md gives the purpose of each limit."""

    # Texts.
    text_characters: int = 500_000  # Python's parser holds the GIL for up to 3.5 µs per character, so up to 2 s
    text_lines: int = 20_000
    nesting: int = MAX_DEPTH
    file_bytes: int = 2_000_000
    carrier_bytes: int = (
        MAX_CARRIER_BYTES  # a notebook of Jupyter, a web page and the like, whose code has the limits above
    )
    upload_bytes: int = 512 * MEBI  # the files of one drop, which are on the disk until they are opened
    steps: int = 2_000

    # Programs and work.
    verified_elements: int = MAX_ELEMENTS
    iterations: int = MAX_COUNT
    tasks: int = 300_000
    undo: int = 500
    trials: int = 5_000
    searches: int = 2
    search_workers: int = 1

    # Processor time of one piece of work, and the memory by which it may make its process grow.
    command_seconds: float = 20.0  # a command of the command line, unless it declares another limit
    trying_seconds: float = 300.0  # `lint` and `next`, which simulate each fix and each suggestion
    change_seconds: float = 20.0  # a change of a notebook; a simulation
    analysis_seconds: float = 120.0  # a background job, which may make many pieces
    here_seconds: float = 0.25  # of a simulation in the server's process, before it is begun again in another one
    memory_bytes: int = 1 << 30
    model_files: ConfinedLimits = MODEL_FILES

    # The wire.
    message_bytes: int = 16 * MEBI
    request_bytes: int = 8 * MEBI
    header_bytes: int = 1 << 16
    headers_seconds: float = 60.0
    body_seconds: float = 120.0
    api_sessions: int = 64
    wait_seconds: float = 60.0
    idle_seconds: float = 1800.0


LIMITS = Limits()
