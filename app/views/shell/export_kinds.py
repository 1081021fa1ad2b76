"""The export formats of a notebook, with names for the page's menu, the commands and the command line. `app/export` writes them."""

from __future__ import annotations

import msgspec


class ExportKind(msgspec.Struct, frozen=True):
    """An export format. `key` is its name on the command line. The file name is `stem` (the notebook's if "") and `suffix`."""

    key: str
    label: str
    help: str
    group: str
    suffix: str
    stem: str = ""


CODE, PICTURES, RUN = "Code", "Pictures", "Simulation"

EXPORT_KINDS: tuple[ExportKind, ...] = (
    ExportKind(
        "tvm", "Python for TVM 0.26 or newer", "the program and its schedule as a file", CODE, ".py", "schedule_tvm"
    ),
    ExportKind(
        "tvm-0.25", "Python for TVM 0.24 and 0.25", "with the names of these versions", CODE, ".py", "schedule_tvm_0_25"
    ),
    ExportKind(
        "tvm-0.23", "Python for TVM 0.23 or older", "with the names before s_tir", CODE, ".py", "schedule_tvm_0_23"
    ),
    ExportKind("tilewright", "Tilewright Python", "the notebook as executable Python", CODE, ".py"),
    ExportKind("tilelang", "TileLang", "the text of a TileLang kernel with its edits", CODE, "_kernel.py"),
    ExportKind("tvmscript", "TVMScript", "the scheduled program", CODE, "_scheduled.py"),
    ExportKind("c", "C", "the scheduled program as one function", CODE, ".c"),
    ExportKind("replay", "Replay as a web page", "tree, code and timeline in one file, without a server", RUN, ".html"),
    ExportKind("trace", "Chrome trace", "the timeline for Perfetto and chrome://tracing", RUN, "_trace.json"),
    ExportKind("tree-svg", "Loop tree as SVG", "a scalable picture", PICTURES, "_tree.svg"),
    ExportKind("tree-png", "Loop tree as PNG", "a bitmap picture", PICTURES, "_tree.png"),
    ExportKind("timeline-svg", "Timeline as SVG", "a scalable picture", PICTURES, "_timeline.svg"),
    ExportKind("timeline-png", "Timeline as PNG", "a bitmap picture", PICTURES, "_timeline.png"),
)

MODEL_EXPORT_KINDS: tuple[ExportKind, ...] = (
    ExportKind(
        "model-tvm", "Python for TVM", "one module with the schedules, and a function that compiles it", CODE, "_tvm.py"
    ),
    ExportKind("model-tvmscript", "TVMScript", "the module with the scheduled kernels", CODE, ".tvmscript"),
    ExportKind("model-c", "C", "all kernels with a main", CODE, ".c"),
    ExportKind("model-trace", "Chrome trace", "one inference for Perfetto and chrome://tracing", RUN, "_trace.json"),
)
"""The export formats of a model; the file name is the model's, with the suffix."""

TVM_VERSIONS: dict[str, str] = {"tvm": "0.27", "tvm-0.25": "0.25", "tvm-0.23": "0.23"}
"""The version of TVM that each kind is written for."""
