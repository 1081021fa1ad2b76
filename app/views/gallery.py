"""The start screen's value: worked examples by title, one sentence and small facts, all of it read from their texts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from ..document import Document, load_document
from ..state import State

FOLDER = Path(__file__).resolve().parents[2] / "static" / "examples"

ORDER = (
    "place_the_copies",
    "vtcm_double_buffer",
    "vtcm_two_halves",
    "fused_matmul_relu_roundtrip",
    "fused_matmul_relu",
    "box_blur",
)
"""The order of the cards; examples that are not named follow by name."""

LONGEST_TEXT = 230


class Example(msgspec.Struct, frozen=True):
    """A card. `text` is the notebook file's."""

    name: str
    title: str
    sentence: str
    facts: tuple[str, ...]
    text: str


def load_examples(folder: Path = FOLDER) -> tuple[Example, ...]:
    """The notebooks of a folder, as cards."""
    paths = sorted(
        folder.glob("*.py"), key=lambda path: (ORDER.index(path.stem) if path.stem in ORDER else len(ORDER), path.stem)
    )
    return tuple(example_of(path.stem, load_document(path)) for path in paths if path.stem != "__init__")


def example_of(name: str, document: Document) -> Example:
    """A card out of the document's first words and its cells."""
    cells = document.of_kind("markdown")
    paragraphs = re.split(r"\n\s*\n", cells[0].prose) if cells else []
    titles = [line[2:].strip() for line in paragraphs[0].splitlines() if line.startswith("# ")] if paragraphs else []
    spoken = [p for p in paragraphs if not p.lstrip().startswith(("#", ">", "|", "-", "1."))]
    return Example(
        name=name,
        title=_plain(titles[0]) if titles else name,
        sentence=_first_sentences(_plain(spoken[-1])) if spoken else "",
        facts=_facts(document),
        text=document.text,
    )


def _facts(document: Document) -> tuple[str, ...]:
    schedule = "".join(cell.body for cell in document.of_kind("schedule"))
    machine = "".join(cell.body for cell in document.of_kind("machine"))
    calls = re.findall(r"\bsch\.(\w+)\(", schedule)
    changing = [call for call in calls if not call.startswith("get_")]
    named = re.findall(r"machine\(\s*[\"']([^\"']+)", machine)
    telling = ("double_buffer", "transform_layout", "set_scope", "compute_inline", "cache_write", "compute_at", "tile")
    used = next((call for call in telling if call in changing), None)
    return tuple(fact for fact in (named[0] if named else None, f"{len(changing)} steps", used) if fact)


def _plain(markdown: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\*\*|`|(?<!\w)\*|\*(?!\w)", "", markdown)).strip()


def _first_sentences(text: str) -> str:
    """As many whole sentences, or parts before a colon, as fit; the first one always."""
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])|(?<=:) ", text)
    taken = sentences[0]
    for sentence in sentences[1:]:
        if len(taken) + len(sentence) > LONGEST_TEXT:
            break
        taken += " " + sentence
    return f"{taken[:-1]}." if taken.endswith(":") else taken


def gallery_value(state: State, examples: tuple[Example, ...]) -> dict[str, Any]:
    """Cards, theme, and what was wrong with a text that did not open."""
    cards = [{"name": e.name, "title": e.title, "sentence": e.sentence, "facts": e.facts} for e in examples]
    return {"examples": cards, "theme": state.theme, "problem": state.notice if state.notebook is None else None}
