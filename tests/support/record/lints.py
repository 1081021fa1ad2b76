"""Writes docs/lints.md anew, out of the table of lints and the docstrings of its rows. Run it when a test says that it is out of date:

PYTHONPATH=tests python -m support.record.lints
"""

from __future__ import annotations

import re
from pathlib import Path

from tilewright.engine.lint import LINTS, Lint

PAGE = Path(__file__).parents[3] / "docs" / "lints.md"

HEAD = """\
# Lints

What `tilewright lint FILE` and the Problems pane tell of a schedule on a machine. This page is made of the table in `engine/lint` and held
true by a test.

A fix is offered only after it was tried on a copy of the schedule: its calls are legal, the finding is gone after them, no error is new, no
memory has more over, and the program is not slower (what makes it fit may cost cycles). *Error* means that the machine cannot run it,
*warning* that it runs and wastes something, *note* that it is good to know.

| code | severity | |
|---|---|---|
"""

NAMES = {"error": "error", "warning": "warning", "info": "note"}


def lints_page() -> str:
    rows = "".join(f"| [`{n.code}`](#{n.code}) | {NAMES[n.severity]} | {n.title} |\n" for n in LINTS)
    return HEAD + rows + "".join(map(_section, LINTS))


def _section(lint: Lint) -> str:
    text = f"\n## {lint.code}\n\n**{lint.title}** ({NAMES[lint.severity]}). {_flowing(lint.what)}\n\nFix: {_flowing(lint.fix)}\n"
    if lint.mild:
        text += "\nWithout a fix that holds it is a note.\n"
    return text


def _flowing(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    PAGE.write_text(lints_page(), encoding="utf-8")
    print(f"{PAGE.name} is written")
