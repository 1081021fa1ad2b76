"""The worked examples and the pages of the guide about the calls that a post names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from ...engine.schedule.primitives import PRIMITIVES
from ..document import Document, load_document
from ..document.title import heading_of
from ..state.model import RelatedPage
from .guide import guide_pages

MOST = 2
"""Maximum number of examples, and of pages of the guide, that are offered for a post."""

LEAST_SHARED = 2
"""Minimum number of calls that a page shares with a post."""

LEAST_SCORE = 0.7
"""Minimum score of a page, as a part of the best score."""

MOST_NAMED = 3

EXAMPLES = Path(__file__).resolve().parents[2] / "static" / "examples"
"""The folder of the worked examples."""

_NAME = re.compile(r"\b([a-z]+(?:_[a-z]+)+)\b|\.([a-z]+)\(")


class _Page(msgspec.Struct, frozen=True):
    """An example or a page of the guide: its name and title, its prose, and the calls that it names."""

    kind: Literal["example", "guide"]
    name: str
    title: str
    prose: str
    calls: frozenset[str]


def related_pages(document: Document) -> tuple[RelatedPage, ...]:
    """The worked examples that answer the post of a notebook, or share most of its calls, and the pages of the guide about them. None for
    a text without prose."""
    prose, worked = _prose_of(document), _worked()
    heading = (heading_of(document) or "").casefold()
    if not prose or any(example.title.casefold() == heading for example in worked):
        return ()  # code alone, or an example of its own
    asked = _calls_in(document.text)
    answers = [example for example in worked if len(heading) > 8 and f"*{heading}*" in example.prose.casefold()]
    examples = [_related(one, asked, is_answer=True) for one in answers] or _ranked(worked, asked)
    return (*examples[:MOST], *_ranked(_guide(), asked)[:MOST])


def _ranked(pages: Sequence[_Page], asked: frozenset[str]) -> list[RelatedPage]:
    """The pages about the calls of a post, the closest first."""
    scores = {page.name: _weight(page.calls & asked) for page in pages if len(page.calls & asked) >= LEAST_SHARED}
    least = LEAST_SCORE * max(scores.values(), default=0.0)
    found = [page for page in pages if page.name in scores and scores[page.name] >= least]
    found.sort(key=lambda page: (-scores[page.name], page.name))
    return [_related(page, asked) for page in found]


def _related(page: _Page, asked: frozenset[str], *, is_answer: bool = False) -> RelatedPage:
    shared = sorted(page.calls & asked, key=lambda call: (-_weight({call}), call))
    return RelatedPage(page.kind, page.name, page.title, tuple(shared[:MOST_NAMED]), is_answer)


def _weight(calls: AbstractSet[str]) -> float:
    """The sum of the squared inverse document frequencies of calls."""
    pages = (*_worked(), *_guide())
    return sum(math.log(1 + len(pages) / sum(call in page.calls for page in pages)) ** 2 for call in calls)


@cache
def _worked() -> tuple[_Page, ...]:
    documents = {path.stem: load_document(path) for path in sorted(EXAMPLES.glob("*.py")) if path.stem != "__init__"}
    return tuple(
        _Page("example", name, heading_of(document) or name, _prose_of(document), _calls_in(document.text))
        for name, document in documents.items()
    )


@cache
def _guide() -> tuple[_Page, ...]:
    pages = (page for page in guide_pages() if page.name != "examples")  # the gallery offers them
    return tuple(_Page("guide", page.name, page.title, page.text, _calls_in(page.text)) for page in pages)


def _prose_of(document: Document) -> str:
    return "\n".join(cell.prose for cell in document.of_kind("markdown"))


def _calls_in(text: str) -> frozenset[str]:
    """The primitives that a text names: names with an underscore anywhere, others as calls of a method."""
    return frozenset(a or b for a, b in _NAME.findall(text.lower()) if (a or b) in PRIMITIVES)


__all__ = ["EXAMPLES", "related_pages"]
