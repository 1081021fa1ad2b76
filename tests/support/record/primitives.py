"""Writes docs/primitives.md. Run it when a test reports that the page is out of date:

PYTHONPATH=tests python -m support.record.primitives
"""

from __future__ import annotations

from pathlib import Path

from tilewright.app.views.shell.primitives import reference_text

REFERENCE = Path(__file__).parents[3] / "docs" / "primitives.md"

if __name__ == "__main__":
    REFERENCE.write_text(reference_text(), encoding="utf-8")
    print(f"{REFERENCE.name} is written")
