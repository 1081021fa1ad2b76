"""Pages of primitives from their docstrings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilewright.app.views.shell.primitives import (
    columns_text,
    doc_of,
    drawing_of,
    reference_text,
)
from tilewright.engine.schedule import PRIMITIVES

REFERENCE = Path(__file__).parents[4] / "docs" / "primitives.md"


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitives_have_a_two_column_drawing_and_return_text(name: str) -> None:
    doc = doc_of(PRIMITIVES[name])
    assert doc.summary.endswith(".") and doc.returns and doc.source, doc
    assert doc.drawing.before and doc.drawing.after
    for line in (*doc.drawing.before, *doc.drawing.after):
        assert "=>" not in line
    assert doc.call.startswith(f"{name}(") and "ctx" not in doc.call


@pytest.mark.parametrize("name", PRIMITIVES)
def test_no_part_of_a_docstring_is_lost(name: str) -> None:
    doc = doc_of(PRIMITIVES[name])
    drawn = (*doc.drawing.before, *doc.drawing.after, *doc.drawing.notes)
    shown = " ".join((doc.summary, *drawn, *doc.about, doc.requires, doc.returns, doc.errors, doc.source))
    words = (PRIMITIVES[name].apply.__doc__ or "").split()
    labels = {"Rewrite:", "Requires:", "Returns:", "Errors:", "Source:", "Requires,", "Returns,", "Errors,", "=>"}
    missing = [word for word in words if word not in labels and word not in shown]
    assert not missing


def test_compute_at_is_drawn_before_and_after() -> None:
    doc = doc_of(PRIMITIVES["compute_at"])
    assert doc.drawing.before == (
        "for i, j in T.grid(n, m):",
        "    B[i, j] = f(A[i, j])",
        "for i, j in T.grid(n, m):",
        "    C[i, j] = g(B[i, j])",
    )
    assert doc.drawing.after[0] == "for i in range(n):"
    assert doc.drawing.after[-1] == "        C[i, j] = g(B[i, j])  # compute_at(B, i)"
    assert doc.call == "compute_at(block, loop, preserve_unit_loops=False, index=-1, *, keep_tiling=False)"
    assert doc.requires.startswith("a complete or reduction block")


def test_combined_labels_share_their_text() -> None:
    doc = doc_of(PRIMITIVES["vectorize"])
    assert doc.requires == doc.returns == doc.errors == "as `parallel`."


def test_a_line_across_both_columns_is_a_note() -> None:
    drawn = drawing_of(["    a        =>    b", "    when lowered, both are the same thing", "    c              d"])
    assert (drawn.before, drawn.after, drawn.notes) == (
        ("a", "c"),
        ("b", "d"),
        ("when lowered, both are the same thing",),
    )
    assert columns_text(drawn) == "a   =>   b\nc        d"


def test_a_drawing_without_an_arrow_is_shown_unchanged() -> None:
    drawn = drawing_of(["    for i:", "        f(i)"])
    assert drawn.before == ("for i:", "    f(i)") and not drawn.after
    assert columns_text(drawn) == "for i:\n    f(i)"


def test_the_reference_matches_the_docstrings() -> None:
    assert REFERENCE.read_text(encoding="utf-8") == reference_text(), (
        "PYTHONPATH=tests python -m support.record.primitives"
    )
