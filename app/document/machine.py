"""The machine cell: a preset or a machine file, with changed parameters; and the machine for the target that a text names."""

from __future__ import annotations

import os
import re
from pathlib import Path

import msgspec

from ...engine.hwsim import Machine, load_machine, preset_names
from ...engine.ir import Refusal
from ...engine.script import CallStep, is_text, read_calls
from .cells import Document
from .editing.machine_parameters import unchained
from .files.read_write import DocumentError
from .places import at_place
from .settings import DATA, SIZES, calls_text


def read_machine(document: Document, settings: tuple[str, ...] = (SIZES, DATA)) -> Machine | None:
    """The notebook's machine; None without a machine line. `settings` are the dictionaries that the cell may also have. Raises
    MachineError, ParseError, DocumentError with the file's lines."""
    machine: Machine | None = None
    name = ""
    for cell in document.of_kind("machine"):
        for call in read_calls(unchained(calls_text(cell, settings)), document.path or "", cell.body_line):
            machine = at_place(
                call.place, lambda call=call, machine=machine, name=name: _machine_after(call, machine, name, document)
            )
            name = call.targets[0] if len(call.targets) == 1 else ""
    return machine


def _machine_after(call: CallStep, machine: Machine | None, name: str, document: Document) -> Machine:
    """The machine after one line: `machine = tilewright.machine("name or path")` or `machine = machine.replace("path", value)`."""
    args = call.args
    match call.receiver, call.method, args:
        case ("tilewright", "machine", [str(source)]) if not call.kwargs:
            return load_machine(_beside(source, document))
        case (receiver, "replace", [str(path), value]) if machine is not None and receiver == name and not call.kwargs:
            return machine.replace(path, value)
        case _:
            raise DocumentError(
                Refusal(
                    "not-a-machine-line",
                    "the machine cell cannot contain this line",
                    found=call.text,
                    expected='machine = tilewright.machine("dual-bank-npu") or machine = machine.replace("memories.vtcm.banks", 4)',
                )
            )


def _beside(source: str, document: Document) -> str:
    """The real path of a machine file in the notebook's folder or below. Other paths are refused: a notebook from another person must not
    read arbitrary files of the user who opens it."""
    if not source.endswith(".toml"):
        return source
    folder = Path(os.path.realpath(document.path)).parent if document.path else None
    real = None if folder is None or not is_text(source) else Path(os.path.realpath(folder / source))
    if folder is None or real is None or not real.is_relative_to(folder):
        raise DocumentError(
            Refusal(
                "machine-elsewhere",
                "a machine file must be in the folder of the notebook",
                found=source[:200],
                expected=f"a file in the notebook's folder, or one of {', '.join(preset_names())}",
            )
        )
    return str(real)


class TargetWord(msgspec.Struct, frozen=True):
    """A sign of a target in a text, and the preset machine for it."""

    pattern: re.Pattern[str]
    machine: str


TARGETS = (
    TargetWord(re.compile(r"\bis_npu ?= ?True\b"), "ascend-910b"),
    TargetWord(re.compile(r"\bT\.(?:ws\b|set_max_nreg|(?:tma|wgmma|mbarrier|barrier|tcgen05)_\w+|wait_wgmma|alloc_(?:cluster_)?barrier|alloc_tmem)"),
               "sm90"),
    TargetWord(re.compile(r"\btilelang\b"), "sm80"),
    TargetWord(re.compile(r"\bvta\.(?:get_env|environment|build|lower)\b|\benv\.(?:BATCH|BLOCK_IN|BLOCK_OUT|dma_copy)\b"), "vta"),
    TargetWord(re.compile(r"\bvtcm\b|_vtcm\b|\bvtcm_|[\"']hexagon\b", re.IGNORECASE), "dual-bank-npu"),
    TargetWord(re.compile(r"[\"'](?:cuda|nvidia|rocm|metal|vulkan|opencl)\b"), "gpu-sm"),
    TargetWord(re.compile(r"[\"'](?:blockIdx|threadIdx)\.[xyz][\"']"), "gpu-sm"),
    TargetWord(re.compile(r"[\"']llvm(?: -[^\"']*)?[\"']|target=[\"']c[\"']"), "cpu-core"),
)  # fmt: skip
"""The signs; the first that occurs decides, so that a host's target ("llvm" beside "cuda") does not."""


def target_of(text: str) -> tuple[str, str]:
    """The sign of a target in a text, and the preset machine for it; both "" without a sign."""
    for target in TARGETS:
        found = target.pattern.search(text)
        if found is not None:
            return found[0].strip("\"'"), target.machine
    return "", ""
