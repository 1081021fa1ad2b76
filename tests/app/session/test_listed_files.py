"""Files of the served folder that need values, have several programs, or are carriers: the page asks, and reads the files beside them."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.sessions.filed import Desk

from tilewright.app.protocol.messages import Open
from tilewright.app.session.execute_request import opened_with
from tilewright.app.session.session import Session
from tilewright.app.views.shell.gallery import load_folder

SCALE = """\
import tvm
from tvm import te
from sizes import WIDTH

def scale(x: te.Tensor, by):
    return te.compute((x.shape[0], WIDTH), lambda i, j: x[i, j] * by, name="scaled")
"""
TWO = f"{SCALE}\ndef shift(x: te.Tensor, by):\n    return te.compute(x.shape, lambda i, j: x[i, j] + by, name='shifted')\n"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "sizes.py").write_text("WIDTH = 8\n")
    created = Desk(tmp_path)
    yield created
    created.close()


def page_of(desk: Desk, folder: Path) -> Session:
    page = desk.page()
    page.examples = load_folder(folder)
    return page


def shapes(page: Session) -> list[list[str]]:
    assert page.state.notebook is not None and page.state.notebook.program is not None
    return [[str(getattr(e, "value", e)) for e in b.shape] for b in page.state.notebook.program.buffers]


def test_file_that_needs_values_asks_and_opens_with_its_imports(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "scale.py").write_text(SCALE)
    page = page_of(desk, tmp_path)
    page.receive({"kind": "open", "name": "scale.py"})
    choice = page.state.notice.choice if page.state.notice is not None else None
    assert choice is not None and choice.listed == "scale.py" and page.state.notebook is None
    assert [field.name for field in choice.fields] == ["x", "by"]
    page.receive({"kind": "open", "name": "scale.py", "program": 1, "values": {"x": "4x8xfloat32", "by": "2"}})
    assert page.state.notice is None and shapes(page) == [["4", "8"], ["4", "8"]]
    assert (tmp_path / "scale.py").read_text() == SCALE


def test_program_of_a_listed_file_is_chosen_by_number(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(TWO)
    page = page_of(desk, tmp_path)
    page.receive({"kind": "open", "name": "two.py", "program": 2, "values": {"x": "4x4xfloat32", "by": "2"}})
    assert shapes(page) == [["4", "4"], ["4", "4"]]


def test_carriers_with_programs_are_listed_and_opened(desk: Desk, tmp_path: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": TWO.splitlines(keepends=True)}
    (tmp_path / "course.ipynb").write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))
    (tmp_path / "post.md").write_text(f"I scale it like this:\n\n```python\n{SCALE}```\n")
    (tmp_path / "data.json").write_text('{"te": 1}')
    (tmp_path / "notes.txt").write_text("Nothing here.\n")
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("kernels/two.py", TWO)
    page = page_of(desk, tmp_path)
    assert sorted(example.name for example in page.examples) == ["all.zip", "course.ipynb", "post.md"]
    for name in ("all.zip", "course.ipynb", "post.md"):
        page.receive(
            {"kind": "open", "name": name, "program": 1, "values": {"x": "4x8xfloat32", "by": "2", "WIDTH": "8"}}
        )
        assert page.state.notice is None, (name, page.state.notice)
        assert shapes(page) == [["4", "8"], ["4", "8"]]


def test_api_opens_with_a_program_and_values(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(TWO)
    page = page_of(desk, tmp_path)
    opened_with(page, Open("two.py", 2, {"x": "4x4xfloat32", "by": "2"}), lambda _: None)
    assert shapes(page) == [["4", "4"], ["4", "4"]]


def test_dropped_folder_is_read_with_its_own_files(desk: Desk, tmp_path: Path) -> None:
    page = page_of(desk, tmp_path)
    for name, text in (("lib/scale.py", SCALE), ("lib/sizes.py", "WIDTH = 16\n")):
        data = base64.b64encode(text.encode()).decode()
        page.receive({"kind": "upload", "upload": 1, "name": name, "data": data})
    values = {"x": "4x8xfloat32", "by": "2"}
    page.receive({"kind": "open_upload", "upload": 1})
    assert page.state.notice is not None and page.state.notice.choice is not None
    page.receive({"kind": "open_upload", "upload": 1, "program": 1, "values": values})
    assert page.state.notice is None and shapes(page) == [["4", "8"], ["4", "16"]]
