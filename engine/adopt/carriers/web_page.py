"""Saved web pages: issues, forum threads, documentation. Blocks of code are taken with the prose between them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Literal

import msgspec

from ...cancellation import checkpoint
from .content import Content, Segment, piece_of

WHAT = "a web page"

_BEGINS = re.compile(
    r"(?:<\?xml[^>]*>\s*)?(?>(?:<!--.*?-->\s*)*)<(?:!doctype\s+html|html|head|body|article|main|div|p|h[1-6]|pre)\b",
    re.I | re.S,
)
_CODE = re.compile(r"<pre\b|<code\b", re.I)

_SKIPPED = re.compile(
    "script|style|noscript|template|svg|button|select|nav|header|footer|aside|form|iframe|object|math|dialog"
)
"""Elements whose text is not read."""
_VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr")
_BLOCKS = re.compile(
    "p|div|li|ul|ol|h[1-6]|table|tr|td|th|blockquote|section|article|main|pre|dl|dt|dd|figure|details|summary|title"
)
_POSTS = frozenset(("markdown-body", "comment-body", "cooked", "js-post-body", "post-text", "s-prose"))
"""Classes of the texts that people posted, in pages of GitHub, Discourse and Stack Exchange."""
_LANGUAGE = re.compile(r"^(?:language|lang|highlight-source|highlight|brush:?)-(?P<name>[\w+#]+)$")
_UNSPECIFIED = frozenset(("auto", "default", "none", "nohighlight", "ipython3", "ipython", "notranslate"))
_GUTTER = re.compile(r"[\d\s]+")

_Where = Literal["post", "main", "page"]


class _Element(msgspec.Struct):
    """An open element: what its text is for, and the language of code in it."""

    tag: str
    where: _Where
    is_skipped: bool
    language: str


class _Block(msgspec.Struct):
    """A block of text with the line of each of its lines."""

    kind: Literal["prose", "fence"]
    where: _Where
    language: str = ""
    lines: list[str] = []
    numbers: list[int] = []


def is_web_page(text: str) -> bool:
    """Whether a text is HTML with code."""
    return text.startswith("<") and _BEGINS.match(text) is not None and _CODE.search(text) is not None


def read_web_page(text: str) -> Content:
    """Return the code and the prose of a page, of its posts if it has any, else of its main part."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    reader.end_block()
    blocks = [block for block in reader.blocks if any(line.strip() for line in block.lines)]
    for where in ("post", "main"):
        if any(block.where == where and block.kind == "fence" for block in blocks):
            blocks = [block for block in blocks if block.where in ("post", where)]
            break
    title = [Segment("prose", (f"# {reader.title}",))] if reader.title else []
    segments = [Segment(b.kind, tuple(b.lines), "", tuple(b.numbers), b.language) for b in _joined(blocks)]
    return Content(WHAT, (piece_of([*title, *segments]),))


def _joined(blocks: Sequence[_Block]) -> list[_Block]:
    """The blocks, with consecutive paragraphs as one."""
    found: list[_Block] = []
    for block in blocks:
        if block.kind == "fence" and _GUTTER.fullmatch("\n".join(block.lines)):
            continue  # the numbers of lines beside code
        if found and block.kind == "prose" and found[-1].kind == "prose":
            last = found[-1]
            found[-1] = _Block(
                "prose",
                last.where,
                "",
                [*last.lines, "", *block.lines],
                [*last.numbers, last.numbers[-1], *block.numbers],
            )
        else:
            found.append(block)
    return found


class _Reader(HTMLParser):
    """Collects the blocks of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[_Block] = []
        self.title = ""
        self.open: list[_Element] = []
        self.block: _Block | None = None
        self.in_code = 0

    @property
    def top(self) -> _Element:
        return self.open[-1] if self.open else _Element("", "page", False, "")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        checkpoint()
        if tag == "br":
            self._break()
        if _VOID.fullmatch(tag):
            return
        given = {name: value or "" for name, value in attrs}
        if tag in ("p", "li", "tr", "td", "th", "dt", "dd") and self.top.tag == tag:
            self._close(tag)  # the end tag may be left out
        element = self._element(tag, given)
        if tag == "pre" and not element.is_skipped:
            self.end_block()
            self.block = _Block("fence", element.where, element.language, [""], [self.getpos()[0]])
            self.in_code += 1
        elif self.in_code:
            if tag == "code" and self.block is not None and element.language:
                self.block.language = element.language
        elif _BLOCKS.fullmatch(tag):
            self.end_block()
            if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
                self._prose("#" * int(tag[1]) + " ", element)
            elif tag == "li":
                self._prose("- ", element)
        elif tag == "code":
            self._prose("`", element)
        self.open.append(element)

    def _element(self, tag: str, given: Mapping[str, str]) -> _Element:
        outer = self.top
        classes = given.get("class", "").split()
        where = outer.where
        if not _POSTS.isdisjoint(classes):
            where = "post"
        elif where == "page" and (tag in ("main", "article") or given.get("role") == "main"):
            where = "main"
        hidden = "hidden" in given or given.get("aria-hidden") == "true"
        skipped = (
            outer.is_skipped
            or _SKIPPED.fullmatch(tag) is not None
            or (tag == "div" and "prompt" in classes)
            or (hidden and tag != "details")
        )
        return _Element(tag, where, skipped, _language(classes) or outer.language)

    def handle_endtag(self, tag: str) -> None:
        if any(element.tag == tag for element in self.open):
            self._close(tag)

    def _close(self, tag: str) -> None:
        while self.open:
            element = self.open.pop()
            if element.tag == "pre" and not element.is_skipped:
                self.in_code -= 1
                self.end_block()
            elif _BLOCKS.fullmatch(element.tag) and not self.in_code:
                self.end_block()
            elif element.tag == "code" and not self.in_code:
                self._prose("`", element)
            if element.tag == tag:
                return

    def handle_data(self, data: str) -> None:
        element = self.top
        if element.tag == "title" and not self.title and not any(e.tag == "svg" for e in self.open):
            self.title = " ".join(data.split())[:200]
        elif element.is_skipped or element.tag in ("title", "head", "html"):
            return
        elif self.in_code and self.block is not None:
            self._code(data, self.block)
        else:
            self._prose(data, element)

    def _code(self, data: str, block: _Block) -> None:
        number = self.getpos()[0]
        first, *rest = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if not block.lines[-1]:
            block.numbers[-1] = number
        block.lines[-1] += first
        for line in rest:
            number += 1
            block.lines.append(line)
            block.numbers.append(number)

    def _prose(self, data: str, element: _Element) -> None:
        if element.is_skipped:
            return
        if self.block is None:
            if not data.strip():
                return
            skipped = len(data) - len(data.lstrip())
            number = self.getpos()[0] + data.count("\n", 0, skipped)
            self.block = _Block("prose", element.where, "", [""], [number])
        line = self.block.lines[-1] + re.sub(r"\s+", " ", data)
        self.block.lines[-1] = (
            line if line.strip() in ("-", "#", "##", "###", "####", "#####", "######") else line.lstrip()
        )

    def _break(self) -> None:
        if self.block is not None:
            self.block.lines.append("")
            self.block.numbers.append(self.getpos()[0])

    def end_block(self) -> None:
        """End the block of text that is open."""
        if self.block is not None:
            if self.block.kind == "prose":
                self.block.lines = [line.rstrip() for line in self.block.lines]
            elif not self.block.lines[0].strip():
                del self.block.lines[0], self.block.numbers[0]
            self.blocks.append(self.block)
        self.block = None


def _language(classes: Sequence[str]) -> str:
    """The language that the classes of an element name."""
    for name in classes:
        found = _LANGUAGE.match(name)
        if found is not None and found["name"].lower() not in ("source", "output", "text-only"):
            language = found["name"].lower()
            return "" if language in _UNSPECIFIED else language
    return ""


__all__ = ["is_web_page", "read_web_page"]
