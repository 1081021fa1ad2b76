"""Writes docs/validation.md and its picture: measured tables of others beside the predictions of the simulator.

python bench/validate.py
"""

from __future__ import annotations

import sys
from pathlib import Path

from tilewright.app.cli import main

PAGE = Path(__file__).parents[1] / "docs" / "validation.md"

if __name__ == "__main__":
    sys.exit(main(["validate", "--page", str(PAGE)]))
