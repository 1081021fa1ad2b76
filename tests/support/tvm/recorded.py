"""Agreements with TVM, recorded: a question that TVM has answered with yes is asked anew where the program or the test is another, and a
sample of the questions each time.

`PYTHONPATH=tests python -m support.record.tvm` asks all of them and records the answers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from support.profile import IS_DEEP
from tvm import __version__ as version

TESTS = Path(__file__).parents[2]
FILE = TESTS / "conformance" / "recorded" / "tvm.json"

NEW = "TILEWRIGHT_TVM_AGREEMENTS"
"""Environment variable: the file to which each agreement is appended. No recorded one is used then."""

SAMPLE = 32
"""Of so many recorded questions, one is asked."""

SHORT = 12
"""Characters of a digest."""


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def source_digest(file: str) -> str:
    """Of a file of tests, by its path in the folder of tests."""
    return digest((TESTS / file).read_text(encoding="utf-8"))[:SHORT]


@cache
def recorded() -> dict[str, Any]:
    """What is recorded: TVM's version, and for each file of tests its digest and those of the questions that TVM agrees with."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


@cache
def agreed_in(file: str) -> frozenset[str]:
    """The questions of a file of tests, if it is the one that was recorded, with this TVM."""
    known = recorded()["files"].get(file)
    if recorded()["version"] != version or known is None or known["source"] != source_digest(file):
        return frozenset()
    return frozenset(known["agreed"].split())


def agreed(question: str, ask: Callable[[], None]) -> None:
    """Let `ask` compare with TVM, unless TVM has agreed. It raises if TVM does not.

    `question` has all that the answer depends on beside the file and the name of the test: the program, and what Tilewright makes of it.
    """
    name = os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]
    file = name.partition("::")[0].removeprefix("tests/")
    key = digest(f"{name}\n{question}")[:SHORT]
    new = os.environ.get(NEW)
    if not IS_DEEP and not new and key in agreed_in(file) and int(key, 16) % SAMPLE:
        return
    ask()
    if new:
        with Path(new).open("a", encoding="utf-8") as written:
            written.write(f"{file} {key}\n")


__all__ = ["FILE", "NEW", "agreed", "recorded", "source_digest", "version"]
