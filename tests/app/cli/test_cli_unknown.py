"""Exit codes for unknown verdicts and metrics: the table, the docs, `--help`, and the commands themselves."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from tilewright.app.cli import command_line, main
from tilewright.app.cli.exit_codes import AT_UNKNOWN, AtUnknown
from tilewright.engine.execute import Verdict
from tilewright.engine.explore.trials import evaluator
from tilewright.engine.hwsim import simulate, tasks_of
from tilewright.engine.network.onchip import programs
from tilewright.engine.schedule import Schedule

ROOT = Path(__file__).parents[3]
CACHED = ROOT / "static" / "examples" / "cache_blocking.py"
FEW = 100
"""A limit on accesses that CACHED exceeds."""

WITH_HOLE = """# %% machine
machine = tilewright.machine("cpu-core")
# %% workload
@T.prim_func(s_tir=True)
def copy(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.sblock("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj * 7 % 64, vi * 5 % 64]
# %% schedule
sch = tilewright.Schedule(copy)
i, j = sch.get_loops("B")
tile = choose("tile", [8, 16])
sch.split(j, factors=[None, tile])
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, list[str]]:
    """The arguments of each command."""
    hole = tmp_path / "hole.py"
    hole.write_text(WITH_HOLE, encoding="utf-8")
    module = tmp_path / "module.py"
    module.write_text(MODULE, encoding="utf-8")
    cached = str(CACHED)
    return {
        "check": [cached, "--max-cycles", "1000000000"],
        "explore": [str(hole), "--workers", "0", "--no-database"],
        "diff": [cached, cached],
        "network": [str(module), "--machine", "cpu-core"],
        **{name: [cached] for name in ("run", "lint", "next")},
    }


MODULE = """
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def copy(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
        for i, j in T.grid(64, 64):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj * 7 % 64, vi * 5 % 64]

    @R.function
    def main(x: R.Tensor((64, 64), dtype="float32")) -> R.Tensor((64, 64), dtype="float32"):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.copy, (x,), out_sinfo=R.Tensor((64, 64), dtype="float32"))
            R.output(gv)
        return gv
"""


def few_accesses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the simulation of caches exceed its limit in every command."""
    monkeypatch.setattr(evaluator, "tasks_of", lambda func, machine, plan, _: tasks_of(func, machine, plan, FEW))
    monkeypatch.setattr(programs, "simulate", partial(simulate, max_accesses=FEW))
    for place in (
        "app.cli.opened.MAX_ACCESSES",
        "app.cli.commands.lint.MAX_ACCESSES",
        "app.cli.commands.next.MAX_ACCESSES",
    ):
        monkeypatch.setattr(f"tilewright.{place}", FEW)


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [name for name, codes in AT_UNKNOWN.items() if codes.verdict is not None])
def test_an_unknown_verdict_has_its_exit_code(
    name: str, files: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Schedule, "check", lambda *_, **__: Verdict(status="unknown", detail="no one knows"))
    assert main([name, *files[name]]) == AT_UNKNOWN[name].verdict
    capsys.readouterr()


@pytest.mark.parametrize("name", [name for name, codes in AT_UNKNOWN.items() if codes.figure is not None])
def test_unknown_cycles_have_their_exit_code(
    name: str, files: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few_accesses(monkeypatch)
    assert main([name, *files[name]]) == AT_UNKNOWN[name].figure
    captured = capsys.readouterr()
    assert name in ("diff", "next") or "accesses" in captured.out + captured.err


def test_the_docs_list_the_exit_codes() -> None:
    def cell(code: int | None) -> str:
        return "–" if code is None else str(code)

    text = (ROOT / "docs" / "guide" / "command-line.md").read_text(encoding="utf-8")
    rows = [f"| `{name}` | {cell(c.verdict)} | {cell(c.figure)} | {c.why} |" for name, c in AT_UNKNOWN.items()]
    assert "\n".join(rows) in text


@pytest.mark.parametrize(("name", "codes"), AT_UNKNOWN.items())
def test_help_of_a_command_lists_its_exit_codes(
    name: str, codes: AtUnknown, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command_line([name]).parse_args([name, "--help"])
    assert codes.text() in capsys.readouterr().out


def test_json_has_the_reason(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    few_accesses(monkeypatch)
    assert main(["run", str(CACHED), "--json"]) == 0
    assert f"more than {FEW} single accesses" in json.loads(capsys.readouterr().out)["unknown"]["reason"]
