"""The pages of the guide, for the help of the page."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import msgspec

_FOLDER = Path(__file__).resolve().parents[2] / "docs" / "guide"

_PICTURES = re.compile(r"^ *!\[[^\]]*\]\([^)]*\)(?: !\[[^\]]*\]\([^)]*\))*\n*", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|[\w-]+\.md)[^)]*\)")


class GuidePage(msgspec.Struct, frozen=True):
    """A page of the guide: its name, its title, and its text in Markdown without pictures and without links to other documents."""

    name: str
    title: str
    text: str


@cache
def guide_pages() -> tuple[GuidePage, ...]:
    """The pages of the guide in the order of its table of contents."""
    contents = (_FOLDER / "README.md").read_text(encoding="utf-8")
    names = dict.fromkeys(re.findall(r"^\| \[[^\]]*\]\(([\w-]+)\.md\)", contents, re.MULTILINE))
    return tuple(_page(name) for name in names)


def _page(name: str) -> GuidePage:
    heading, _, text = (_FOLDER / f"{name}.md").read_text(encoding="utf-8").partition("\n")
    text = _LINK.sub(r"\1", _PICTURES.sub("", text))
    return GuidePage(name, heading.removeprefix("# "), text.strip())
