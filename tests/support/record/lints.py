"""Writes docs/lints.md from the table of lints and the docstrings of its rows. Run it when a test reports that the page is out of date:

PYTHONPATH=tests python -m support.record.lints
"""

from __future__ import annotations

import re
from pathlib import Path

from tilewright.engine.lint import LINTS, Lint

PAGE = Path(__file__).parents[3] / "docs" / "lints.md"

HEAD = """\
# Lints

`tilewright lint FILE` and the Problems pane report these findings about a schedule on a machine. This page is generated from the table in
`engine/lint`, and a test compares the two.

A fix is offered only after a trial on a copy of the schedule: its calls are legal, the finding is gone, there is no new error or larger
overflow, and the program is not slower (unless the fix makes it fit in memory). *Error* means that the machine cannot run the program,
*warning* that the program runs but wastes resources, *note* is information.

| code | severity | |
|---|---|---|
"""

NAMES = {"error": "error", "warning": "warning", "info": "note"}


def lints_page() -> str:
    rows = "".join(f"| [`{n.code}`](#{n.code}) | {NAMES[n.severity]} | {n.title} |\n" for n in LINTS)
    return HEAD + rows + "".join(map(_section, LINTS))


def _section(lint: Lint) -> str:
    text = f"\n## {lint.code}\n\n**{lint.title}** ({NAMES[lint.severity]}). {_flowing(lint.what)}\n\nFix: {_flowing(lint.fix)}\n"
    if lint.informational:
        text += "\nWithout a fix, the finding is a note.\n"
    return text


def _flowing(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    PAGE.write_text(lints_page(), encoding="utf-8")
    print(f"{PAGE.name} is written")
