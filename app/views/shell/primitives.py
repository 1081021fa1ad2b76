"""The reference page of each primitive, parsed from its docstring: the rewrite in two columns, requirements and results."""

from __future__ import annotations

import inspect
import re

from ....engine.schedule import PRIMITIVES, Primitive
from ...actions.guide import GuidePage
from ..labels.values import Answer, Value

LABELS = ("Requires", "Returns", "Errors", "Source")

_LABEL = re.compile(rf"^((?:{'|'.join(LABELS)})(?:, (?:{'|'.join(LABELS)}))*): ?(.*)$")

ARROW = "=>"


class Drawing(Value, frozen=True):
    """A rewrite: the lines of the program before and after, and the notes below them."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class PrimitiveDoc(Value, frozen=True):
    """A primitive's page. `call` is its signature on a schedule; `about` holds further paragraphs."""

    name: str
    call: str
    summary: str
    drawing: Drawing
    about: tuple[str, ...] = ()
    requires: str = ""
    returns: str = ""
    errors: str = ""
    source: str = ""


class PrimitiveDocs(Answer, frozen=True, tag="primitives"):
    """The pages of all primitives."""

    pages: tuple[PrimitiveDoc, ...]


class GuideText(Answer, frozen=True, tag="guide"):
    """The pages of the guide."""

    pages: tuple[GuidePage, ...]


def primitive_docs() -> tuple[PrimitiveDoc, ...]:
    """The pages of all primitives, in the order of PRIMITIVES."""
    return tuple(map(doc_of, PRIMITIVES.values()))


def doc_of(primitive: Primitive) -> PrimitiveDoc:
    """The page of a primitive."""
    summary, *lines = (inspect.getdoc(primitive.apply) or "").splitlines()
    drawn, told = _split_drawing(lines)
    parts = _sections(told)
    return PrimitiveDoc(
        name=primitive.name,
        call=_call(primitive),
        summary=summary,
        drawing=drawing_of(drawn),
        about=tuple(parts.get("", ())),
        **{label.lower(): " ".join(parts.get(label, ())) for label in LABELS},
    )


def _call(primitive: Primitive) -> str:
    """The signature without types: names, defaults, and a star before variadic and keyword-only parameters."""
    shown: list[str] = []
    listed = False
    for parameter in list(inspect.signature(primitive.apply).parameters.values())[1:]:
        if parameter.kind is parameter.VAR_POSITIONAL:
            shown.append(f"*{parameter.name}")
            listed = True
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not listed:
            shown.append("*")
            listed = True
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        shown.append(parameter.name + default)
    return f"{primitive.name}({', '.join(shown)})"


def _split_drawing(lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines of the drawing, and the other lines. The drawing begins at "Rewrite:" and ends before the next unindented line."""
    start = next((n for n, line in enumerate(lines) if line.startswith("Rewrite:")), None)
    if start is None:
        return [], lines
    first = lines[start].removeprefix("Rewrite:")
    drawn = [" " * len("Rewrite:") + first] if first.strip() else []
    end = start + 1
    while end < len(lines) and (lines[end].startswith(" ") or not lines[end]):
        drawn.append(lines[end])
        end += 1
    return drawn, [*lines[:start], *lines[end:]]


def drawing_of(lines: list[str]) -> Drawing:
    """The drawing split into two columns at the arrow. A line of text across both columns is a note."""
    arrows = [line.index(ARROW) for line in lines if ARROW in line]
    if not arrows:
        return Drawing(before=tuple(_dedented(lines)))
    at = arrows[0]
    before: list[str] = []
    after: list[str] = []
    notes: list[str] = []
    for line in lines:
        if ARROW in line:
            left, right = line.split(ARROW, 1)
            right = " " * (line.index(ARROW) + len(ARROW)) + right
        elif line[:at].strip() and line[at:].strip() and not line[:at].endswith("  "):
            _go_on(notes, line.strip())
            continue
        else:
            left, right = line[:at], " " * at + line[at:]
        before.append(left.rstrip())
        after.append(right.rstrip())
    if sum("#" in line for line in after) == 1:
        after = [re.sub(r" {3,}#", "  #", line) for line in after]
    return Drawing(tuple(_dedented(before)), tuple(_dedented(after)), tuple(notes))


def _dedented(lines: list[str]) -> list[str]:
    """The lines without their common indentation and without empty lines at both ends."""
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    cut = [line[min(indents, default=0) :] for line in lines]
    while cut and not cut[0].strip():
        cut.pop(0)
    while cut and not cut[-1].strip():
        cut.pop()
    return cut


def _sections(lines: list[str]) -> dict[str, list[str]]:
    """Lines by label, "" for those before the first label. There a continuation line joins the paragraph before it."""
    found: dict[str, list[str]] = {}
    labels = [""]
    for line in lines:
        named = _LABEL.match(line)
        if named is not None:
            labels = named[1].split(", ")
        text = (named[2] if named is not None else line).strip()
        if not text:
            continue
        for label in labels:
            texts = found.setdefault(label, [])
            if label == "":
                _go_on(texts, text)
            else:
                texts.append(text)
    return found


def _go_on(paragraphs: list[str], text: str) -> None:
    """Appends a line: as a new paragraph if it begins one, else to the last paragraph."""
    if paragraphs and not _begins(paragraphs[-1], text):
        paragraphs[-1] += f" {text}"
    else:
        paragraphs.append(text)


def _begins(before: str, text: str) -> bool:
    """Whether `text` begins a paragraph: `before` ends in punctuation, and `text` starts with a capital or a backtick."""
    return before.endswith((".", ":")) and (text[0].isupper() or text[0] == "`")


def reference_text() -> str:
    """The text of docs/primitives.md."""
    parts = [
        "# The primitives",
        "Every schedule call with its rewrite, requirements and results, from the docstrings of `engine/schedule/primitives`. In the "
        "app, each menu entry shows the same text (`?`), and the help menu lists all calls.",
        "Generated by `PYTHONPATH=tests python -m support.record.primitives`.",
        "\n".join(f"- [`{doc.name}`](#{doc.name}): {doc.summary}" for doc in primitive_docs()),
    ]
    parts.extend(_page_text(doc) for doc in primitive_docs())
    return "\n\n".join(parts) + "\n"


def _page_text(doc: PrimitiveDoc) -> str:
    parts = [f"## {doc.name}", f"```python\nsch.{doc.call}\n```", doc.summary]
    if doc.drawing.before or doc.drawing.after:
        parts.append(f"```text\n{columns_text(doc.drawing)}\n```")
    parts.extend((*doc.drawing.notes, *doc.about))
    parts.extend(f"**{label}:** {text}" for label in LABELS if (text := getattr(doc, label.lower())))
    return "\n\n".join(parts)


def columns_text(drawing: Drawing) -> str:
    """A drawing as text: before, arrow, after."""
    if not drawing.after:
        return "\n".join(drawing.before)
    width = max(map(len, drawing.before), default=0)
    height = max(len(drawing.before), len(drawing.after))
    middle = (min(len(drawing.before), len(drawing.after)) - 1) // 2
    rows: list[str] = []
    for n in range(height):
        left = drawing.before[n] if n < len(drawing.before) else ""
        right = drawing.after[n] if n < len(drawing.after) else ""
        rows.append(f"{left:<{width}}   {ARROW if n == middle else '  '}   {right}".rstrip())
    return "\n".join(rows)
