"""The worked examples about the calls that a post names."""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from pathlib import Path

import msgspec

from ...engine.schedule.primitives import PRIMITIVES
from ..document import Document, load_document
from ..document.title import heading_of
from ..state.model import RelatedExample

MOST = 2
"""Maximum number of examples that are offered for a post."""

LEAST_SHARED = 2
"""Minimum number of calls that a post and an example share."""

MOST_NAMED = 3

EXAMPLES = Path(__file__).resolve().parents[2] / "static" / "examples"
"""The folder of the worked examples."""

_NAME = re.compile(r"\b([a-z]+(?:_[a-z]+)+)\b|\.([a-z]+)\(")


class _Worked(msgspec.Struct, frozen=True):
    """An example: its name and title, its prose, and the calls that prose and schedule name."""

    name: str
    title: str
    prose: str
    calls: frozenset[str]


def related_examples(document: Document) -> tuple[RelatedExample, ...]:
    """The worked examples that answer the post of a notebook, or share most of its calls; rare calls count more. None for a text without
    prose."""
    prose = _prose_of(document)
    if not prose:
        return ()
    worked = _worked()
    asked, heading = _calls_in(document.text), (heading_of(document) or "").casefold()
    counts = Counter(call for example in worked for call in example.calls)
    found: list[tuple[float, RelatedExample]] = []
    for example in worked:
        if example.title.casefold() == heading:
            return ()  # an example of its own
        is_answer = len(heading) > 8 and f"*{heading}*" in example.prose.casefold()
        shared = sorted(asked & example.calls, key=lambda call: (counts[call], call))
        if is_answer or len(shared) >= LEAST_SHARED:
            score = 100.0 * is_answer + sum(math.log(1 + len(worked) / counts[call]) for call in shared)
            found.append((score, RelatedExample(example.name, example.title, tuple(shared[:MOST_NAMED]), is_answer)))
    found.sort(key=lambda pair: (-pair[0], pair[1].name))
    answers = [example for _, example in found if example.is_answer]
    return tuple(answers[:MOST] or [example for _, example in found[:MOST]])


@cache
def _worked() -> tuple[_Worked, ...]:
    documents = {path.stem: load_document(path) for path in sorted(EXAMPLES.glob("*.py")) if path.stem != "__init__"}
    return tuple(
        _Worked(name, heading_of(document) or name, _prose_of(document), _calls_in(document.text))
        for name, document in documents.items()
    )


def _prose_of(document: Document) -> str:
    return "\n".join(cell.prose for cell in document.of_kind("markdown"))


def _calls_in(text: str) -> frozenset[str]:
    """The primitives that a text names: names with an underscore anywhere, others as calls of a method."""
    return frozenset(a or b for a, b in _NAME.findall(text.lower()) if (a or b) in PRIMITIVES)


__all__ = ["EXAMPLES", "related_examples"]
