"""docs/lints.md matches the table of lints, and the table is complete."""

from __future__ import annotations

from support.record.lints import PAGE, lints_page

from tilewright.engine.lint import LINTS


def test_the_page_is_generated_from_the_table():
    assert PAGE.read_text(encoding="utf-8") == lints_page(), "run support/record/lints.py and review the difference"


def test_each_lint_documents_its_symptom_and_trials():
    assert len({lint.code for lint in LINTS}) == len(LINTS)
    for lint in LINTS:
        assert lint.severity in ("error", "warning", "info"), lint.code
        assert len(lint.what) > 60 and lint.fix and lint.title, lint.code
