"""A model on a page: it opens from its folder, its kernels open and return with their schedules, and changes on disk are loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.pasted.relax_modules import MODEL, OPEN
from support.sessions.paper import PaperClock, PaperScreen

from tilewright.app.document.networks import KERNELS, create_network, load_network
from tilewright.app.page.notebook_catalog import NotebookCatalog
from tilewright.app.session.session import Session
from tilewright.app.state.addresses import Address
from tilewright.app.state.model_results import known_result, network_report
from tilewright.app.storage.registry import open_file_registry
from tilewright.app.views.model.graph import graph_value, operators_of
from tilewright.app.views.model.value import KernelFilter, model_value
from tilewright.engine.hwsim import load_machine
from tilewright.engine.script.relax import parse_network

NPU = load_machine("dual-bank-npu")
LINES = [f'sch.cache_write("{block}", 0, "local.vtcm")' for block in ("s", "p")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    create_network(parse_network(MODEL), tmp_path / "work" / "net", "A small model", NPU, "small.onnx")
    return tmp_path / "work"


@pytest.fixture
def begin(folder: Path) -> Callable[..., Session]:
    def make(path: Path | None = None) -> Session:
        served = path or folder
        registry = open_file_registry(served)
        created = Session(PaperClock(), NotebookCatalog(served, None, registry.drafts).examples, open_files=registry)
        created.updater.screen = PaperScreen()
        return created

    return make


def send(session: Session, kind: str, **fields: Any) -> None:
    session.receive({"kind": kind, **fields})


def value(session: Session) -> dict[str, Any]:
    found = model_value(session.state, session.store)
    assert found is not None
    return found


def rows(session: Session) -> dict[str, dict[str, Any]]:
    return {row.name: row for row in value(session).kernels}


def settle(session: Session) -> None:
    """Wait until all kernels are simulated and verified."""
    assert isinstance(session.event_loop, PaperClock)
    session.event_loop.run_until(lambda: not session.updater.doing and value(session).head.done == 2)


@pytest.fixture
def session(begin: Callable[..., Session]) -> Session:
    created = begin()
    send(created, "open", name="net/model.py")
    assert created.state.notice is None
    return created


def test_a_model_in_the_served_folder_opens_with_its_metrics(session: Session, folder: Path) -> None:
    assert session.state.screen == "model" and session.state.address == Address("model", "net")
    first = value(session)
    assert (first.head.title, first.head.done, first.head.total) == ("A small model", 0, 2)
    assert {row.status for row in first.kernels} == {"pending"} and not first.timeline.calls
    settle(session)
    report = load_network(folder / "net").simulate()
    head = value(session).head
    assert (head.count, head.calls, head.kernels, head.prepared) == (report.cycles, 4, 2, 1)
    assert float(head.ratio) > 1 and head.failed == []
    assert [row.name for row in value(session).kernels] == [c.kernel.name for c in report.ranked()]
    assert sum(row.share for row in value(session).kernels) == pytest.approx(1)
    assert rows(session)["both"].status == "unscheduled" and rows(session)["both"].calls == 2
    assert value(session).timeline.ends[-1] == report.cycles


def test_an_edit_of_a_kernel_counts_in_the_model(session: Session, folder: Path) -> None:
    settle(session)
    before = value(session).head.count
    send(session, "open_kernel", kernel="both")
    assert session.state.screen == "notebook" and session.state.address == Address("kernel", "net.both")
    assert session.state.file is not None and session.state.file.name == "both.py"
    send(session, "fix", calls=LINES)
    assert session.state.notice is None and session.state.address == Address("kernel", "net.both")
    session.event_loop.run_until(lambda: session.store.known_report(session.state) is not None)
    send(session, "model")
    assert session.state.screen == "model" and session.state.address == Address("model", "net")
    report = network_report(session.state.model, session.store)
    assert len(report.kernels) == 2, "the report of the kernel's page serves the model at once"
    assert value(session).head.count == report.cycles != before
    assert rows(session)["both"].lines == 2 and rows(session)["both"].status == "scheduled"
    settle(session)
    assert rows(session)["both"].status == "proved" and rows(session)["scale"].status == "unscheduled"
    session.event_loop.run_until(lambda: "cache_write" in (folder / "net" / KERNELS / "both.py").read_text())
    assert load_network(folder / "net").simulate().cycles == report.cycles


def test_a_schedule_written_by_a_search_is_loaded(session: Session, folder: Path) -> None:
    settle(session)
    kernels = {entry.key: entry for entry in session.state.model.kernels}
    path = folder / "net" / KERNELS / "both.py"
    path.write_text(path.read_text() + "\n".join(LINES) + "\n")
    send(session, "refresh_model")
    fresh = {entry.key: entry for entry in session.state.model.kernels}
    assert fresh["scale"] is kernels["scale"] and fresh["both"] is not kernels["both"]
    settle(session)
    assert rows(session)["both"].status == "proved"
    model = session.state.model
    send(session, "refresh_model")
    assert session.state.model is model, "nothing changed"
    path.write_text("no notebook")
    send(session, "refresh_model")
    assert session.state.model is model, "a text that is no kernel leaves the model as it was"


def test_a_kernel_with_a_schedule_error_does_not_count(session: Session, folder: Path) -> None:
    path = folder / "net" / KERNELS / "both.py"
    path.write_text(path.read_text() + 'sch.parallel("nothing")\n')
    send(session, "refresh_model")
    settle(session)
    row = rows(session)["both"]
    assert row.status == "error" and row.cycles == 0 and row.detail
    assert value(session).head.failed == ["both"] and value(session).head.ratio == ""
    assert KernelFilter("error", "error", 1) in value(session).filters


def test_addresses_open_the_model_and_its_kernels(begin: Callable[..., Session], folder: Path) -> None:
    session = begin(folder / "net")
    session.arrive(Address("kernel", "net.scale"))
    assert session.state.kernel == "scale" and session.state.screen == "notebook"
    send(session, "go", path="/model/net")
    assert session.state.screen == "model"
    model = session.state.model
    send(session, "go", path="/kernel/net.both")
    assert session.state.model is model and session.state.kernel == "both"
    send(session, "go", path="/")
    assert session.state.screen == "gallery" and session.state.model is None


@pytest.mark.parametrize("name", ["nobody", "../../etc/passwd", "both.py", "kernels/both", ""])
def test_an_unknown_kernel_name_is_refused(session: Session, name: str) -> None:
    send(session, "open_kernel", kernel=name)
    assert session.state.notice is not None and session.state.notice.code == "no-such-kernel"
    assert session.state.screen == "model"


def test_model_messages_without_a_model_are_refused(begin: Callable[..., Session]) -> None:
    session = begin()
    for kind, fields in (("open_kernel", {"kernel": "both"}), ("model", {})):
        send(session, kind, **fields)
        assert session.state.notice is not None and session.state.notice.code == "no-model"
    send(session, "go", path="/model/elsewhere")
    assert session.state.notice.code == "no-such-notebook" and session.state.screen == "gallery"


def test_a_model_with_a_kernel_linked_outside_does_not_open(
    begin: Callable[..., Session], folder: Path, tmp_path: Path
) -> None:
    path = folder / "net" / KERNELS / "both.py"
    outside = tmp_path / "both.py"
    path.rename(outside)
    path.symlink_to(outside)
    session = begin()
    send(session, "open", name="net/model.py")
    assert session.state.screen == "gallery" and session.state.notice.code == "outside"


def test_a_changed_kernel_program_is_relinked_or_an_error(session: Session, folder: Path) -> None:
    settle(session)
    path = folder / "net" / KERNELS / "scale.py"
    text = path.read_text()
    path.write_text(text.replace("T.float32(2)", "T.float32(3)"))
    send(session, "refresh_model")
    settle(session)
    entry = session.state.model.called("scale")
    assert known_result(session.state.model, entry, session.store) is not None and len(rows(session)) == 2
    assert entry.kernel.func is entry.notebook.program
    path.write_text(text.replace("16", "8"))
    send(session, "refresh_model")
    settle(session)
    assert rows(session)["scale"].status == "error"


def test_cycles_include_the_plan_of_on_chip_tensors(begin: Callable[..., Session], folder: Path) -> None:
    path = folder / "net" / "model.py"
    plain = load_network(path).simulate().cycles
    path.write_text(path.read_text().replace('npu")\n', 'npu")\non_chip = {"lv": "local.vtcm_Block_1"}\n', 1))
    session = begin()
    send(session, "open", name="net/model.py")
    settle(session)
    report = load_network(path).simulate()
    session.event_loop.run_until(lambda: value(session).head.count == report.cycles)
    assert report.plan.tensors and value(session).head.on_chip == 1
    assert sum(row.cycles for row in value(session).kernels) == report.cycles - report.plan.wait_cycles
    assert value(session).timeline.ends[-1] == report.cycles
    path.write_text(path.read_text().replace("local.vtcm_Block_1", "local.nowhere"))
    other = begin()
    send(other, "open", name="net/model.py")
    settle(other)
    other.event_loop.run_until(lambda: bool(value(other).head.misfit))
    assert value(other).head.count == plain


def test_the_graph_of_a_model_has_the_calls_of_an_inference(session: Session) -> None:
    graph = graph_value(session.state.model)
    assert [n.id for n in graph.nodes] == ["in0", "call1", "call2", "call3", "call4", "out0"]
    assert [(e.source, e.target) for e in graph.edges] == [
        ("in0", "call1"), ("call1", "call2"), ("call2", "call3"), ("call3", "call4"), ("call4", "out0"),
    ]  # fmt: skip
    assert graph.nodes[2].reads == ("lv 16×16 float32", "ready 16×16 float32")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fused_conv2d17_add9_relu9", "conv2d add relu"),
        ("max_pool2d1", "max pool2d"),
        ("fused_reshape_1", "reshape"),
        ("_", "_"),
    ],
)
def test_operators_are_read_from_the_kernel_name(name: str, words: str) -> None:
    assert operators_of(name) == words


def opened_text(session: Session, title: str = "") -> None:
    send(session, "open_text", text=MODEL, title=title)
    assert session.state.notice is None and session.state.post is not None


@pytest.mark.sample(1)
@pytest.mark.parametrize(("title", "name"), [("", "main"), ("My small: net!", "my_small_net"), ("net", "net_2")])
def test_opening_a_module_as_a_model_creates_a_folder(
    begin: Callable[..., Session], folder: Path, title: str, name: str
) -> None:
    session = begin()
    opened_text(session, title)
    send(session, "open_as_model")
    assert session.state.notice is None and session.state.screen == "model"
    assert session.state.address == Address("model", name)
    assert sorted(p.stem for p in (folder / name / KERNELS).glob("*.py")) == ["both", "scale"]
    settle(session)
    assert value(session).head.count == load_network(folder / name).simulate().cycles > 0
    assert value(session).head.title == (title or name)
    send(session, "go", path="/")
    send(session, "go", path=f"/model/{name}")
    assert session.state.screen == "model" and session.state.notice is None


def test_opening_a_text_without_a_graph_as_a_model_writes_nothing(begin: Callable[..., Session], folder: Path) -> None:
    session = begin()
    before = sorted(folder.rglob("*"))
    send(session, "open_text", text=MODEL.split("    @R.function")[0])
    assert session.state.post is not None and not session.state.post.has_graph
    send(session, "open_as_model")
    assert session.state.notice is not None and session.state.notice.code == "no-graph"
    assert sorted(folder.rglob("*")) == before


def test_opening_as_a_model_writes_nothing_into_a_served_model(begin: Callable[..., Session], folder: Path) -> None:
    session = begin(folder / "net")
    opened_text(session)
    send(session, "open_as_model")
    assert session.state.notice is not None and session.state.notice.code == "no-folder"
    assert {p.name for p in (folder / "net").iterdir() if not p.name.startswith(".")} == {"model.py", KERNELS}


def test_opening_as_a_model_with_open_sizes_names_the_missing_size(begin: Callable[..., Session], folder: Path) -> None:
    session = begin()
    send(session, "open_text", text=OPEN)
    before = sorted(folder.iterdir())
    send(session, "open_as_model")
    assert session.state.notice is not None and session.state.notice.code == "missing-size"
    assert sorted(folder.iterdir()) == before
