"""The guide's links resolve; its pictures exist, are small, and are taken by a script."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUIDE = ROOT / "docs" / "guide"
PAGES = sorted(GUIDE.glob("*.md"))
PICTURES = sorted((ROOT / "docs" / "pictures").glob("*.png"))

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(?:#[\w-]+)?\)")

MOST_BYTES = 150_000


def links(page: Path) -> list[tuple[bool, str, str]]:
    """(is a picture, its words, its target) of each link to a file."""
    found = LINK.findall(page.read_text(encoding="utf-8"))
    return [(mark == "!", words, target) for mark, words, target in found if "://" not in target]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_pictures_of_a_page_exist(page: Path) -> None:
    for is_picture, words, target in links(page):
        assert (page.parent / target).is_file(), target
        assert words or not is_picture, f"{target} has no words for those who do not see it"


def test_every_picture_is_used_small_and_taken_by_a_script() -> None:
    script, strips = (
        (ROOT / "bench" / name).read_text(encoding="utf-8") for name in ("screenshots.py", "film_strip.py")
    )
    used = {(page.parent / target).resolve() for page in PAGES for is_picture, _, target in links(page) if is_picture}
    for picture in PICTURES:
        assert picture.resolve() in used, f"{picture.name} is in no page"
        assert picture.stat().st_size <= MOST_BYTES, picture.name
        strip = re.sub(r"_\d$", "", picture.stem)
        source = re.search(rf"^def {picture.stem}\(", script, re.MULTILINE) or f'Strip("{strip}"' in strips
        assert source, f"nothing takes {picture.name}"


def test_the_first_page_links_to_every_page_of_the_guide() -> None:
    linked = {target for _, _, target in links(GUIDE / "README.md")}
    assert {page.name for page in PAGES} - {"README.md"} <= linked
