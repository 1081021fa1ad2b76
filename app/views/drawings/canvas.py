"""The canvas of drawings: collects SVG elements as text, with named colours."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import Literal, NamedTuple

from ..timeline.causes import HATCHES
from .inks import fonts, inks

Theme = Literal["auto", "light", "dark"]

SANS, SANS_BOLD, MONO = 0.56, 0.6, 0.603
"""Character width relative to the font size: averages that system fonts rarely exceed by much, and the width of monospaced fonts."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def number(value: float) -> str:
    """A coordinate as text, with at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text_width(text: str, size: float, *, bold: bool = False, mono: bool = False) -> float:
    """The approximate width of a text."""
    return len(text) * size * (MONO if mono else SANS_BOLD if bold else SANS)


def shortened(text: str, width: float, size: float, *, mono: bool = False) -> str:
    """`text` shortened to fit into `width`; "" if fewer than 3 characters fit."""
    count = int(width / (size * (MONO if mono else SANS)))
    if len(text) <= count:
        return text
    return "" if count < 3 else f"{text[: count - 1]}…"


class TextPiece(NamedTuple):
    """A piece of a line of text, followed by a gap of `gap` pixels."""

    text: str
    ink: str = "text"
    size: float = 11
    bold: bool = False
    mono: bool = False
    gap: float = 8

    @property
    def width(self) -> float:
        return text_width(self.text, self.size, bold=self.bold, mono=self.mono)


class Canvas:
    """An SVG builder. Inks are names of `inks()`; coordinates are pixels at the natural size."""

    def __init__(self, theme: Theme) -> None:
        self._theme: Theme = theme
        self._parts: list[str] = []
        self._hatches: dict[tuple[str, str], str] = {}
        self._used: set[str] = set()

    def rect(
        self, x: float, y: float, width: float, height: float, fill: str = "", *, stroke: str = "", radius: float = 0,
        opacity: float = 1, hatch: str = "", tip: str = "", data: dict[str, object] | None = None,
    ) -> None:  # fmt: skip
        """Add a rectangle; with `hatch` it is filled with that pattern in the ink's colour."""
        place = {"x": x, "y": y, "width": max(0.0, width), "height": max(0.0, height), "rx": radius or None}
        self._shape("rect", place, fill, stroke, opacity, hatch, tip=tip, data=data)

    def path(
        self, d: str, fill: str = "", *, stroke: str = "", width: float = 1, dash: str = "", opacity: float = 1,
        hatch: str = "",
    ) -> None:  # fmt: skip
        lines = {"d": d, "stroke-width": width if stroke and width != 1 else None, "stroke-dasharray": dash or None}
        if stroke and not dash:
            lines |= {"stroke-linecap": "round", "stroke-linejoin": "round"}
        self._shape("path", lines, fill, stroke, opacity, hatch)

    def text(
        self, text: str, x: float, y: float, ink: str = "text", *, size: float = 11, bold: bool = False,
        mono: bool = False, anchor: Literal["start", "middle", "end"] = "start",
    ) -> None:  # fmt: skip
        """Add a line of text, vertically centred at `y`."""
        look = {
            "x": x, "y": y + 0.35 * size, "font-size": size, "font-weight": 600 if bold else None,
            "text-anchor": anchor if anchor != "start" else None,
        }  # fmt: skip
        classes = ["m"] if mono else []
        self._parts.append(f"<text{_attributes(look)}{self._paint(ink, '', classes)}>{_escaped(text)}</text>")

    def words(self, words: Sequence[TextPiece], x: float, y: float) -> None:
        """Add consecutive words; the reader's font determines their widths."""
        spans: list[str] = []
        for n, word in enumerate(words):
            gap = words[n - 1].gap if n else None
            look = {"dx": gap, "font-size": word.size, "font-weight": 600 if word.bold else None}
            paint = self._paint(word.ink, "", ["m"] if word.mono else [])
            spans.append(f"<tspan{_attributes(look)}{paint}>{_escaped(word.text)}</tspan>")
        self._parts.append(f'<text x="{number(x)}" y="{number(y + 4.2)}">{"".join(spans)}</text>')

    def line(
        self, x0: float, y0: float, x1: float, y1: float, stroke: str, *, dash: str = "", width: float = 1
    ) -> None:
        self.path(f"M{number(x0)} {number(y0)}L{number(x1)} {number(y1)}", stroke=stroke, dash=dash, width=width)

    @contextmanager
    def group(self, tip: str = "", **data: object) -> Iterator[None]:
        """Group elements; `data` becomes data-attributes."""
        self._parts.append(f"<g{_data(data)}>{_title(tip)}")
        yield
        self._parts.append("</g>")

    def finished(self, width: float, height: float, label: str) -> str:
        """The complete SVG with a background. `label` is the description for screen readers."""
        width, height = round(width), round(height)
        ground = f'<rect width="{width}" height="{height}" rx="6"{self._paint("surface", "", [])}/>'
        body = "".join(self._parts)
        # The id scopes the style rules, since one page may contain several drawings.
        name = f"tw-{hashlib.sha256(f'{self._theme}{body}'.encode()).hexdigest()[:10]}"
        body = body.replace("url(#hatch-", f"url(#{name}-")
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" aria-label="{_escaped(label)}" style="max-width:100%;height:auto"><title>{_escaped(label)}</title>'
            f"<style>{self._rules(name)}</style>{self._defs(name)}{ground}{body}</svg>\n"
        )

    # ---- Construction of elements.

    def _shape(
        self, tag: str, place: dict[str, object], fill: str, stroke: str, opacity: float, hatch: str, *, tip: str = "",
        data: dict[str, object] | None = None,
    ) -> None:  # fmt: skip
        if hatch:
            filling = f' fill="url(#{self._hatch(fill, hatch)})"{self._paint("", stroke, [])}'
        else:
            filling = self._paint(fill, stroke, []) if fill else f' fill="none"{self._paint("", stroke, [])}'
        look = {**place, "opacity": round(opacity, 2) if opacity < 1 else None}
        end = f">{_title(tip)}</{tag}>" if tip else "/>"
        self._parts.append(f"<{tag}{_attributes(look)}{filling}{_data(data or {})}{end}")

    def _paint(self, fill: str, stroke: str, classes: list[str]) -> str:
        """The colour attributes of an element; they also work in renderers without style rules."""
        found = ""
        for attribute, ink in (("fill", fill), ("stroke", stroke)):
            if not ink:
                continue
            found += f' {attribute}="{inks()[ink][self._theme == "dark"]}"'
            if self._theme == "auto":
                classes = [*classes, f"{attribute[0]}-{ink}"]
                self._used.add(ink)
        return f'{found} class="{" ".join(classes)}"' if classes else found

    def _hatch(self, ink: str, kind: str) -> str:
        return self._hatches.setdefault((ink, kind), f"hatch-{len(self._hatches)}")

    def _defs(self, name: str) -> str:
        tiles = [
            f'<pattern id="{place.replace("hatch", name)}" width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<rect width="6" height="6" opacity="0.2"{self._paint(ink, "", [])}/>'
            f'<path d="{HATCHES[kind].path}" fill="none" stroke-width="{HATCHES[kind].width}" stroke-linecap="round"'
            f"{self._paint('', ink, [])}/></pattern>"
            for (ink, kind), place in self._hatches.items()
        ]
        return f"<defs>{''.join(tiles)}</defs>" if tiles else ""

    def _rules(self, name: str) -> str:
        rules = (
            f"#{name} text{{font-family:{fonts()['font']};white-space:pre}}#{name} .m{{font-family:{fonts()['mono']}}}"
        )
        if self._theme != "auto":
            return rules
        dark = "".join(
            f"#{name} .{attribute[0]}-{ink}{{{attribute}:{inks()[ink][1]}}}"
            for ink in sorted(self._used)
            for attribute in ("fill", "stroke")
        )
        return f"{rules}@media (prefers-color-scheme:dark){{{dark}}}"


def _attributes(values: dict[str, object]) -> str:
    return "".join(
        f' {name}="{number(value) if isinstance(value, float) else _escaped(str(value))}"'
        for name, value in values.items()
        if value is not None
    )


def _data(values: dict[str, object]) -> str:
    return _attributes({f"data-{name}": value for name, value in values.items()})


def _title(tip: str) -> str:
    return f"<title>{_escaped(tip)}</title>" if tip else ""


def _escaped(text: str) -> str:
    """User text escaped for XML, without characters that XML does not allow."""
    return escape(_NOT_XML.sub("", text))
