"""`tilewright completion`: the shells themselves complete commands, options, kinds, machines, templates and files with the script."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tilewright.app.cli import main
from tilewright.app.cli.commands.completion import SHELLS
from tilewright.app.cli.commands.new import templates
from tilewright.engine.hwsim import preset_names

BASH = """
source "$0"
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_shtab_tilewright
printf '%s\\n' "${COMPREPLY[@]}"
"""

CASES = [
    (["tilewright", "ex"], {"explore", "export"}),
    (["tilewright", "run", "--sens"], {"--sensitivity"}),
    (
        ["tilewright", "run", "--machine", "gemm"],
        {*[n for n in preset_names() if n.startswith("gemm")], "gemmlike.toml"},
    ),
    (["tilewright", "run", "matm"], {"matmul.py", "matmuls"}),
    (["tilewright", "run", "matmul.py", "--trace", "matm"], {"matmul.py", "matmuls"}),
    (["tilewright", "export", "matmul.py", "--to", "tree"], {"tree-svg", "tree-png"}),
    (["tilewright", "check", "matmul.py", "--format", ""], {"text", "json", "github", "sarif"}),
    (["tilewright", "new", "--template", "matm"], {name for name in templates() if name.startswith("matm")}),
    (["tilewright", "completion", ""], {*SHELLS}),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("matmul.py", "gemmlike.toml"):
        (tmp_path / name).touch()
    (tmp_path / "matmuls").mkdir()
    return tmp_path


def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The path of the shell's script; skips if the shell is missing."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    assert main(["completion", shell]) == 0
    file = folder / f"completion.{shell}"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    return str(file)


def lines(command: list[str], folder: Path) -> set[str]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return {line.partition("\t")[0].rstrip("/") for line in done.stdout.splitlines()}


@pytest.mark.parametrize(("words", "expected"), CASES, ids=[" ".join(words) for words, _ in CASES])
def test_bash_completes_words(
    words: list[str], expected: set[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lines(["bash", "--norc", "-c", BASH, script("bash", folder, capsys), *words], folder) == expected


def test_fish_completes_words(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = script("fish", folder, capsys)
    for words, expected in CASES:
        code = f"source {file}; complete --do-complete '{' '.join(words)}'"
        assert lines(["fish", "--no-config", "-c", code], folder) >= expected, words


def test_zsh_reads_the_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = script("zsh", folder, capsys)
    code = f'autoload -U compinit; compinit -D -u; eval "$(<{file})"; print $_comps[tilewright]'
    assert lines(["zsh", "-f", "-c", code], folder) == {"_shtab_tilewright"}


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_json_contains_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (
        data["shell"] == shell and "tilewright" in data["script"] and all(n in data["script"] for n in preset_names())
    )


def test_an_unknown_shell_exits_with_2_and_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "bash, zsh, fish" in capsys.readouterr().err
