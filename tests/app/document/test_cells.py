"""Notebook files split into cells."""

import io

from hypothesis import given
from hypothesis import strategies as st

from tilewright.app.document import read_document
from tilewright.app.document.cells import Cell, lines_of

NOTEBOOK = """\
# A file of mine.
import tilewright

# %% [markdown]
# # Title
#
# Some *prose*.

# %% machine
machine = tilewright.machine("dual-bank-npu")
# %% workload: the matmul
def f(): ...

#%%schedule
sch = tilewright.Schedule(f)
# %%
print(sch)
# %% Some other cell
x = 1"""

PIECES = st.sampled_from(
    [
        "# %%",
        "#%%",
        "# %% [markdown]",
        " # %%",
        "# %% schedule",
        "# % %",
        "x = 1",
        "'''",
        "\n",
        "\r\n",
        "\r",
        "\f",
        "\u2028",
        "\x1c",
        "\ufeff",
        "é",
        " ",
        "",
    ]
)


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_a_document_keeps_every_byte(text: str) -> None:
    document = read_document(text)
    assert document.text == text
    assert all(cell.marker + cell.body == cell.text for cell in document.cells)


@given(st.lists(PIECES).map("".join))
def test_cells_start_at_their_offsets(text: str) -> None:
    """The first line of a cell, counted as Python's parser counts lines."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for cell in read_document(text).cells:
        first = cell.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[0]
        assert lines[cell.first_line - 1] == first


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_lines_end_where_python_ends_them(text: str) -> None:
    lines = lines_of(text)
    assert "".join(lines) == text
    assert lines == io.StringIO(text, newline="").readlines()
    assert Cell("code", text, 1).marker == (lines[0] if lines else "")


def test_kinds_and_lines_of_a_notebook() -> None:
    document = read_document(NOTEBOOK)
    found = [(cell.kind, cell.title, cell.first_line, cell.body_line) for cell in document.cells]
    assert found == [
        ("preamble", "", 1, 1),
        ("markdown", "", 4, 5),
        ("machine", "machine", 9, 10),
        ("workload", "workload: the matmul", 11, 12),
        ("schedule", "schedule", 14, 15),
        ("code", "", 16, 17),
        ("code", "Some other cell", 18, 19),
    ]


def test_prose_of_comments_and_of_a_string() -> None:
    comments = read_document("# %% [markdown]\n# # Title\n#\n#  indented\n").cells[0]
    string = read_document('# %% [md]\n"""\nOne.\n\nTwo.\n"""\n').cells[0]
    assert comments.prose == "# Title\n\n indented"
    assert string.prose == "One.\n\nTwo."


def test_a_file_without_markers_is_a_preamble() -> None:
    document = read_document("x = 1\n")
    assert [cell.kind for cell in document.cells] == ["preamble"]


def test_an_empty_file_has_no_cells() -> None:
    assert read_document("").cells == ()


def test_the_newline_is_that_of_the_file() -> None:
    assert read_document("a\r\nb\n").newline == "\r\n"
    assert read_document("").newline == "\n"
