"""Job statuses name areas that exist on the page."""

from __future__ import annotations

import re
from pathlib import Path

from tilewright import static

ROOT = Path(static.__file__).parent
APP = Path(__file__).parents[3] / "app"


def test_areas_named_in_job_statuses_exist_on_the_page() -> None:
    page = (ROOT / "components" / "shell" / "page.html").read_text(encoding="utf-8")
    named = {
        found
        for room in ("jobs", "session")
        for file in (APP / room).rglob("*.py")
        for found in re.findall(r'"((?:area|pane|screen)-\w+)"', file.read_text(encoding="utf-8"))
    }
    assert named >= {
        "area-timeline",
        "area-headline",
        "area-notebook",
        "area-compare",
        "area-inspector",
        "pane-machine",
        "screen-gallery",
    }
    assert all(f'id="{place}"' in page for place in named)
