"""`tilewright network`, and `tilewright import` of models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.pasted.relax_modules import DOUBLE_MODEL, MODEL

from tilewright.app.cli import main
from tilewright.app.document.editing.branches import add_branch, with_schedule
from tilewright.app.document.files.read_write import load_document


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.py"
    path.write_text(MODEL)
    return path


def test_import_of_a_module_writes_a_folder_that_network_reads(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(module), "-o", str(tmp_path / "net"), "--machine", "gemmini", "--json"]) == 0
    imported = json.loads(capsys.readouterr().out)
    assert imported["kernels"] == ["both.py", "scale.py"]
    assert main(["network", imported["output"], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["machine"] == "gemmini" and [k["kernel"] for k in found["kernels"]] == ["scale", "both"]
    assert main(["network", str(module), "--machine", "gemmini"]) == 0
    assert capsys.readouterr().out.startswith(f"{found['cycles']:,} cycles on gemmini: 4 calls of 2 kernels")


@pytest.mark.slow
def test_a_missing_model_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "model.onnx"]) == 2
    assert "-o FOLDER" in capsys.readouterr().err
    assert main(["import", str(tmp_path / "none.onnx"), "-o", str(tmp_path / "net")]) == 2
    assert "there is no file" in capsys.readouterr().err
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"not a model")
    assert main(["import", str(broken), "-o", str(tmp_path / "net")]) == 2
    assert "ONNX" in capsys.readouterr().err and not (tmp_path / "net").exists()


@pytest.mark.slow
def test_an_onnx_model_lists_its_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("tvm")
    model = Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx"
    assert main(["import", str(model), "-o", str(tmp_path / "net")]) == 0
    assert "93 calls of 56 kernels" in capsys.readouterr().out
    assert main(["network", str(tmp_path / "net" / "model.py"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(k["runs"] + k["prepared"] for k in found["kernels"]) == 93 and not any(
        k["error"] for k in found["kernels"]
    )
    assert found["cycles"] == sum(k["runs"] * k["cycles_per_call"] for k in found["kernels"])


@pytest.mark.slow
def test_auto_schedules_the_kernels_and_export_writes_a_module(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text(DOUBLE_MODEL)
    assert main(["import", str(module), "-o", str(tmp_path / "net")]) == 0
    assert main(["network", str(tmp_path / "net"), "--auto", "--seconds", "30", "--workers", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.split("\n", 1)[1])
    search = found["search"]
    assert search["bound"] <= search["cycles"] == found["cycles"] < search["cycles_before"]
    assert [k["verdict"] for k in search["kernels"]] == ["proved", "proved"]
    out = tmp_path / "out.py"
    assert main(["network", str(tmp_path / "net"), "--export", str(out)]) == 0
    assert "2 of them scheduled" in out.read_text() and "R.call_tir(cls.double" in out.read_text()
    assert main(["network", str(tmp_path / "net"), "--export", str(tmp_path / "out.c")]) == 0
    assert "int main(int argc" in (tmp_path / "out.c").read_text()
    assert main(["network", str(tmp_path / "net"), "--export", str(tmp_path / "out.tvmscript")]) == 0
    assert "@I.ir_module" in (tmp_path / "out.tvmscript").read_text()
    assert main(["network", str(tmp_path / "net"), "--export", str(tmp_path / "none" / "out.py")]) == 2
    trace = tmp_path / "out.json"
    assert main(["network", str(tmp_path / "net"), "--trace", str(trace)]) == 0
    assert json.loads(trace.read_text())["otherData"]["cycles"] == str(found["cycles"])
    assert main(["network", str(module), "--auto"]) == 2
    assert "no folder of kernels" in capsys.readouterr().err


def test_on_chip_tensors_are_written_and_listed(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text(MODEL.replace("16, 16", "64, 64").replace("T.axis.spatial(16", "T.axis.spatial(64"))
    assert main(["import", str(module), "-o", str(tmp_path / "net")]) == 0
    lines = ["", 'sch.cache_read("scale", 0, "local.vtcm")', 'sch.cache_write("scale", 0, "local.vtcm")', ""]
    with (tmp_path / "net/kernels/scale.py").open("a") as kernel:
        kernel.write("\n".join(lines))
    capsys.readouterr()
    assert main(["network", str(tmp_path / "net"), "--json"]) == 0
    before = json.loads(capsys.readouterr().out)
    assert main(["network", str(tmp_path / "net"), "--on-chip", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cycles"] < before["cycles"] and found["on_chip"]["tensors"] and not before["on_chip"]["tensors"]
    assert found["calls"][-1]["end"] == found["cycles"]
    assert main(["network", str(tmp_path / "net")]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{found['cycles']:,} cycles on dual-bank-npu") and "capacity" in text
    assert main(["network", str(module), "--on-chip"]) == 2
    assert "no machine cell" in capsys.readouterr().err


def test_against_names_the_kernels_that_explain_the_difference(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", str(module), "-o", str(tmp_path / "net")]) == 0
    net = str(tmp_path / "net")
    capsys.readouterr()
    assert main(["network", net, "--against", net, "--against-machine", "cpu-core", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["machines"] == ["dual-bank-npu", "cpu-core"]
    assert sum(k["change"] for k in found["kernels"]) == found["change"] != 0
    kernel = tmp_path / "net/kernels/both.py"
    lines = "".join(f'sch.cache_write("{block}", 0, "local.vtcm")\n' for block in ("s", "p"))
    steps = f"# %% schedule\nsch = tilewright.Schedule(both)\n{lines}"
    kernel.write_text(with_schedule(add_branch(load_document(kernel), "wide"), steps).text)
    assert main(["network", f"{net}@main", "--against", f"{net}@wide"]) == 0
    text = capsys.readouterr().out
    assert "both" in text and "100.0%" in text and "1 kernels have equal cycles" in text
    assert main(["network", net, "--against", f"{net}@nobody"]) == 2
    assert "no kernel of" in capsys.readouterr().err
