"""Exports of a notebook: each kind is written and agrees with the program and its report."""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.sessions.notebooks import MATMUL_NOTEBOOK, with_lines
from support.sessions.pages import painted

from tilewright.app.cli import main
from tilewright.app.document import evaluate, load_document, read_document
from tilewright.app.export.exports import EXPORTS, ExportedFile, ExportSubject, made
from tilewright.app.export.replay import MAX_BYTES
from tilewright.app.state.model import State
from tilewright.engine.hwsim import Report
from tilewright.engine.ir import TilewrightError

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


def subject(name_or_text: str, **options: Any) -> ExportSubject:
    if "\n" in name_or_text:
        notebook = evaluate(read_document(name_or_text))
    else:
        notebook = evaluate(load_document(EXAMPLES / f"{name_or_text}.py"))
    count = options.pop("count", None)
    return ExportSubject(*painted(State(notebook=notebook, shown=notebook, chosen_step=count)), **options)


def exported(key: str, of: ExportSubject) -> ExportedFile:
    return made(key, of)


@pytest.mark.slow
def test_every_kind_is_exported_under_its_own_name() -> None:
    of = subject("vtcm_double_buffer")
    files = {key: exported(key, of) for key in EXPORTS}
    assert len({file.name for file in files.values()}) == len(EXPORTS)
    assert all(file.data for file in files.values())
    for key in ("tvm", "tvm-0.25", "tvm-0.23", "tilewright"):
        compile(files[key].data, key, "exec")
    assert "s_tir.Schedule" in str(files["tvm"].data) and "tir.Schedule" in str(files["tvm-0.23"].data)
    assert 'get_sblock("C")' in str(files["tvm"].data) and 'get_block("C")' in str(files["tvm-0.23"].data)
    assert files["tilewright"].data == of.state.notebook.document.text if of.state.notebook else False
    assert json.loads(files["trace"].data)["otherData"]["cycles"] == str(of.report.cycles)
    assert "#include" in str(files["c"].data)


@pytest.mark.sample(1)
@pytest.mark.parametrize("key", ["tree", "timeline"])
def test_a_png_has_the_size_of_the_drawing(key: str) -> None:
    of = subject("place_the_copies", theme="light", scale=1.5)
    svg = ElementTree.fromstring(str(exported(f"{key}-svg", of).data))
    png = exported(f"{key}-png", of).data
    assert isinstance(png, bytes) and png.startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", png[16:24])
    assert (width, height) == pytest.approx((1.5 * int(svg.attrib["width"]), 1.5 * int(svg.attrib["height"])), abs=1)


def test_a_notebook_of_an_earlier_step_ends_there() -> None:
    of = subject("vtcm_double_buffer", count=5)
    text = str(exported("tilewright", of).data)
    again = evaluate(read_document(text))
    assert again.error is None and len(again.steps) == 5 and of.state.shown is not None
    assert again.states[-1].schedule.mod is not None and "double_buffer" not in text


def test_exports_that_need_a_report_name_why_it_is_missing() -> None:
    of = subject(with_lines('CL = sch.cache_write(C, 0, "local.nowhere")'))
    for key in ("replay", "timeline-svg", "timeline-png", "trace"):
        with pytest.raises(TilewrightError, match="nowhere"):
            exported(key, of)
    assert "local.nowhere" in str(exported("tree-svg", of).data), "a tree is a tree all the same"


def recorded(html: str) -> dict[str, Any]:
    """The data of a replay, as its script reads them."""
    found = re.search(r'<script type="text/plain" id="data">([\w+/=]+)</script>', html)
    assert found is not None
    return json.loads(zlib.decompress(base64.b64decode(found[1]), wbits=-zlib.MAX_WBITS))


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", ["vtcm_double_buffer", "gemmini_gemm", "cache_blocking", "place_the_copies"])
def test_a_replay_is_complete_and_loads_nothing(name: str) -> None:
    of = subject(name)
    html = str(exported("replay", of).data)
    assert len(html.encode()) < MAX_BYTES == 2_000_000
    assert "default-src 'none'" in html and "https://" not in html
    assert set(re.findall(r"https?://[^\s\"'<>)]+", html)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(?:link|img|iframe)\b|\bimport\s*[({'\"]|@import|\bfetch\(", html)
    data = recorded(html)
    report = of.report
    assert data["value"]["cycles"] == report.cycles and data["value"]["run"]["exact"]
    assert {e["name"]: e["busy"] for e in data["value"]["engines"]} == {
        n: e.busy for n, e in report.engines.items() if e.tasks
    }
    assert str(report.cycles) in html.replace("\u202f", "")
    moment = of.state.moment
    assert moment is not None and "\n".join(data["script"]) == of.store.script(moment.schedule).rstrip("\n")


def test_equal_notebooks_give_equal_replays() -> None:
    assert exported("replay", subject("place_the_copies")) == exported("replay", subject("place_the_copies"))


def test_a_replay_escapes_markup_in_names() -> None:
    hostile = "</title><script>alert(1)</script>"
    of = subject(MATMUL_NOTEBOOK.replace("# # A matmul", f"# # {hostile}"))
    assert of.state.title == hostile
    html = str(exported("replay", of).data)
    assert "<script>alert" not in html and html.count("<script") == 2


def test_the_command_line_writes_each_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "notebook.py"
    file.write_text(MATMUL_NOTEBOOK, encoding="utf-8")
    for key in EXPORTS.keys() - {"tilelang"}:
        out = tmp_path / f"out-{key}"
        assert main(["export", str(file), "--to", key, "-o", str(out), "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert (
            printed["to"] == key and printed["output"] == str(out) and printed["size_bytes"] == out.stat().st_size > 0
        )
    assert main(["export", str(file), "--to", "tree-png", "--json"]) == 2, "no bytes into JSON"
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "not-text"
    assert "✔ proved" in (tmp_path / "out-replay").read_text(encoding="utf-8")


def test_importing_a_link_gives_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = EXAMPLES / "box_blur.py"
    assert main(["export", str(file), "--to", "link", "--address", "http://host:1/"]) == 0
    link = capsys.readouterr().out.strip()
    assert link.startswith("http://host:1/#notebook=")
    assert main(["import", link]) == 0
    assert capsys.readouterr().out == file.read_text(encoding="utf-8")


def test_pictures_use_the_given_machine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tmp_path / "notebook.py")
    Path(file).write_text(MATMUL_NOTEBOOK, encoding="utf-8")
    labels: list[str] = []
    for machine in ("cpu-core", "dual-bank-npu"):
        assert main(["export", file, "--to", "timeline-svg", "--machine", machine]) == 0
        labels.append(ElementTree.fromstring(capsys.readouterr().out).attrib["aria-label"])
    assert labels[0] != labels[1]


@pytest.mark.slow
def test_an_exported_report_equals_that_of_run(capsys: pytest.CaptureFixture[str]) -> None:
    of = subject("gemmini_gemm")
    assert isinstance(of.report, Report)
    assert main(["run", str(EXAMPLES / "gemmini_gemm.py"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cycles"] == of.report.cycles
