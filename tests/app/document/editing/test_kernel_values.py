"""`tilewright tune`: a TileLang kernel with several values of its parameters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewright.app.cli import main
from tilewright.app.document import DocumentError, read_document
from tilewright.app.document.editing.kernel_values import kernel_values, with_kernel_values
from tilewright.app.views.shell.gallery import FOLDER

GEMM = FOLDER / "tilelang_gemm.py"
SMALL = "M=128, N=128, K=128"


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    path = tmp_path / "gemm.py"
    path.write_text(GEMM.read_text().replace("M=512, N=512, K=1024", SMALL))
    return path


def test_points_are_sorted_and_the_best_is_written(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best = notebook.with_name("best.py")
    assert (
        main(
            ["tune", str(notebook), "--value", "num_stages=1,2", "--value", "block_K=32,64", "--json", "-o", str(best)]
        )
        == 0
    )
    points = json.loads(capsys.readouterr().out)["points"]
    assert len(points) == 4
    cycles = [point["cycles"] for point in points]
    assert cycles == sorted(cycles)
    assert points[0]["values"]["num_stages"] == "2"
    values = points[0]["values"]
    call = f"main = gemm({SMALL}, num_stages={values['num_stages']}, block_K={values['block_K']})"
    source, written = notebook.read_text().split("\n"), best.read_text().split("\n")
    assert [line for line in written if line not in source] == [call]


def test_tiles_that_do_not_fit_come_after_those_that_do(notebook: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = notebook.read_text().replace(SMALL, "M=256, N=256, K=512")
    notebook.write_text(text)
    choices = ["--value", "block_M=256", "--value", "block_N=256", "--value", "block_K=64", "--value", "num_stages=4,2"]
    assert main(["tune", str(notebook), *choices]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[1].split()[3] == "2"
    assert lines[2].split()[3] == "4" and "bytes too many" in lines[2]


def test_values_are_edited_in_place() -> None:
    document = read_document(GEMM.read_text())
    values = kernel_values(document)
    assert values["num_stages"] == "3" and values["block_M"] == "128" and values["K"] == "1024"
    made = with_kernel_values(document, {"block_M": "64", "num_stages": "2"})
    assert made.text == document.text.replace(
        "num_stages=3)\n\n# %% schedule", "num_stages=2, block_M=64)\n\n# %% schedule"
    )
    assert kernel_values(made)["block_M"] == "64"


@pytest.mark.parametrize(
    ("text", "values", "code"),
    [(GEMM.read_text(), {"tile": "64"}, "no-such-parameter"), ("# %% workload\nx = 1\n", {"M": "1"}, "no-kernel-call")],
)
def test_missing_parameters_are_refused(text: str, values: dict[str, str], code: str) -> None:
    with pytest.raises(DocumentError) as caught:
        with_kernel_values(read_document(text), values)
    assert caught.value.code == code
