"""`tilewright lint`: its output, the files that it writes, and its exit codes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.programs.te_sources import MATMUL_VTCM
from support.record.seeds import SEEDS
from support.sessions.notebooks import small_blur, with_lines

from tilewright.app.actions import lint_fixes as lints
from tilewright.app.cli import main
from tilewright.app.document import Notebook, apply_lint, evaluate, load_document
from tilewright.engine.ir import Refusal, TilewrightError
from tilewright.engine.lint import LINTS, Fix

EXAMPLES = Path(__file__).parents[3] / "static" / "examples"


@pytest.fixture
def trip(tmp_path: Path) -> Path:
    return Path(shutil.copy(EXAMPLES / "fused_matmul_relu_roundtrip.py", tmp_path))


def test_no_findings_exit_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(EXAMPLES / "fused_matmul_relu.py")]) == 0
    assert capsys.readouterr().out == "no findings on matrix-vector-npu\n"


def test_a_warning_exits_with_1_and_shows_place_reason_and_calls(
    trip: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = trip.read_bytes()
    assert main(["lint", str(trip)]) == 1
    captured = capsys.readouterr()
    assert (
        captured.out
        == """\
warning  round-trip
         intermediate mm is copied from local to global (256 bytes) and back (256 bytes)
         at mm_local, mm_local_1, mm
         fix: 5,260 → 3,004 cycles (-43%), local 3,712 → 3,648 bytes
             sch.compute_inline("mm_local_1")
             sch.compute_inline("mm_local")
         or: 5,260 → 3,038 cycles (-42%), local 3,712 → 3,776 bytes
             sch.set_scope("mm_local", 0, "local")

1 warning on matrix-vector-npu; 1 fixable
"""
    )
    assert captured.err == "" and trip.read_bytes() == before


def test_notes_alone_exit_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nobody.py"
    text = (EXAMPLES / "fused_matmul_relu.py").read_text(encoding="utf-8")
    line = '    add = T.sblock_alloc_buffer((1, 64), "float32")\n'
    file.write_text(
        text.replace(line, f'{line}    nobody = T.sblock_alloc_buffer((1, 64), "float32")\n'), encoding="utf-8"
    )
    assert main(["lint", str(file)]) == 0
    out = capsys.readouterr().out
    assert "note     unused-buffer" in out and "no block accesses nobody" in out and "1 note on" in out


def test_lint_json_has_every_finding(trip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(trip), "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["machine"] == "matrix-vector-npu" and data["fixed"] == []
    (finding,) = data["findings"]
    assert {"code", "severity", "message", "blocks", "loops", "buffers", "memory", "fixes", "no_fix", "saved"} == set(
        finding
    )
    assert finding["code"] in {lint.code for lint in LINTS}
    assert {"calls", "replaces", "cycles_before", "cycles", "fitted", "fits", "peaks"} == set(finding["fixes"][0])


@pytest.mark.slow
def test_fix_writes_the_lines_and_leaves_no_finding(
    trip: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, other = trip.read_bytes(), tmp_path / "mended.py"
    assert main(["lint", str(trip), "--fix", "-o", str(other)]) == 0
    assert trip.read_bytes() == before
    capsys.readouterr()
    assert main(["lint", str(trip), "--fix"]) == 0
    assert trip.read_bytes() == other.read_bytes()
    out = capsys.readouterr().out
    assert out.startswith(
        "fixed    round-trip: 5,260 → 3,004 cycles (-43%), local 3,712 → 3,648 bytes\n"
    ) and out.endswith("no findings on matrix-vector-npu\n")
    assert "sch.compute_inline(mm_back)\nsch.compute_inline(matmul_local)\n" in trip.read_text(encoding="utf-8")
    assert evaluate(load_document(trip)).error is None


@pytest.mark.slow
def test_fix_removes_a_superfluous_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "blur.py"
    file.write_text(small_blur(), encoding="utf-8")
    assert main(["lint", str(file), "--fix"]) == 0
    assert 'removes sch.compute_at("x_blur", x)' in capsys.readouterr().out
    assert "sch.compute_at(x_blur, x)" not in file.read_text(encoding="utf-8")


@pytest.mark.slow
def test_fix_of_seed_002_asks_for_sizes_and_writes_a_notebook(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "post.py", tmp_path / "banked.py"
    file.write_text(MATMUL_VTCM, encoding="utf-8")
    assert main(["lint", str(file)]) == 2
    assert "--size M=256 --size K=256 --size N=256" in capsys.readouterr().err
    sizes = ["--size", "M=256,K=512,N=256"]
    assert main(["lint", str(file), *sizes]) == 1
    assert "warning  one-bank" in capsys.readouterr().out
    assert main(["lint", str(file), *sizes, "--fix", "-o", str(out)]) == 0
    assert 'sch.double_buffer(AL, banks=["local.vtcm[0]", "local.vtcm[1]"])' in out.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["run", str(out), *sizes]) == 0
    assert capsys.readouterr().out.startswith("203,064 cycles")


@pytest.mark.slow
def test_fix_falls_back_to_the_next_one(
    trip: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlucky(notebook: Notebook, fix: Fix) -> Notebook:
        if any("compute_inline" in call for call in fix.calls):
            raise TilewrightError(Refusal("unknown-name", "a later line does not go with that"))
        return apply_lint(notebook, fix)

    monkeypatch.setattr(lints, "apply_lint", unlucky)
    assert main(["lint", str(trip), "--fix", "--json"]) == 0
    (done,) = json.loads(capsys.readouterr().out)["fixed"]
    assert done["calls"] == ['sch.set_scope("mm_local", 0, "local")']
    assert "sch.set_scope(" in trip.read_text()


@pytest.mark.slow
def test_fix_of_seed_003_removes_the_round_trip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "post.py", tmp_path / "local.py"
    file.write_text(SEEDS[3].cases[0].text, encoding="utf-8")
    assert main(["lint", str(file), "--fix", "-o", str(out)]) == 0
    assert 'compute_inline("matmul_intermediate_local")' in capsys.readouterr().out
    assert main(["lint", str(out)]) == 0


def test_lint_uses_the_given_machine(trip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lint", str(trip), "--machine", "dual-bank-npu"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("error    refused\n") and "[unknown-scope]" in out and "on dual-bank-npu" in out
    assert main(["lint", str(trip), "--machine", "nowhere"]) == 2


@pytest.mark.parametrize(
    ("text", "code"), [("def f(:", 2), (with_lines("sch.split(nothing, [2])"), 2), (with_lines("sch.reorder(j, j)"), 1)]
)
def test_lint_and_run_report_the_same_error_of_a_file(
    tmp_path: Path, text: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text, encoding="utf-8")
    assert main(["lint", str(file)]) == code == main(["run", str(file)])
    assert capsys.readouterr().err.startswith("tilewright: ")
