"""Slow edits of a notebook: the old state stays visible, later messages keep their order, no typed text is lost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.sessions.filed import Desk, text_of
from support.sessions.notebooks import MATMUL_NOTEBOOK
from support.sessions.paper import PaperClock, PaperScreen
from support.sessions.slow import Slow

from tilewright.app.actions import text_edits as typed
from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.actions.text_edits import EditItem
from tilewright.app.document import evaluate
from tilewright.app.jobs.background_job import JobStatus
from tilewright.app.protocol.messages import decode_request
from tilewright.app.session.execute_request import perform
from tilewright.app.session.session import Session
from tilewright.app.session.state_queue import brought_together
from tilewright.app.state.model import State
from tilewright.app.views.notebook.value import notebook_value
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.ir import Refusal

EXAMPLES = load_examples()
READING = JobStatus("notebook", "area-notebook", "Reading the notebook")


class Person:
    """A user with a page on a paper clock."""

    def __init__(self, session: Session | None = None) -> None:
        self.doing: tuple[JobStatus, ...] = ()
        self.event_loop, self.screen = PaperClock(), PaperScreen()
        self.session = session or Session(self.event_loop, EXAMPLES, moment=lambda: 0.0)
        self.session.updater.screen, self.session.updater.tell_doing = self.screen, self.record
        self.send("open_text", text=MATMUL_NOTEBOOK)
        self.until(lambda: self.session.state.notebook is not None)

    def record(self, doing: tuple[JobStatus, ...]) -> None:
        self.doing = doing

    def send(self, kind: str, **fields: Any) -> None:
        self.session.receive({"kind": kind, **fields})

    def until(self, done: Callable[[], bool]) -> None:
        self.event_loop.run_until(done)

    def quiet(self) -> None:
        self.until(lambda: not self.session.queue.busy)

    @property
    def state(self) -> State:
        return self.session.state

    @property
    def text(self) -> str:
        return text_of(self.session)


@pytest.fixture
def person() -> Iterator[Person]:
    created = Person()
    yield created
    created.session.close()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    """Evaluation of typed texts blocks until the test allows it."""
    created = Slow(evaluate)
    monkeypatch.setattr(typed, "evaluate", created)
    yield created
    created.may_end.set()


def last_item(person: Person) -> int:
    assert person.state.notebook is not None
    return len(person.state.notebook.steps) - 1


def test_a_slow_edit_keeps_the_old_state_and_shows_its_status(person: Person, slow: Slow) -> None:
    before, drawn = person.state, len(person.screen.drawn)
    person.send("edit_item", item=last_item(person), text="sch.unroll(ki)")
    assert slow.begun.wait(60)
    person.until(lambda: READING in person.doing)
    assert person.state is before and len(person.screen.drawn) == drawn
    slow.may_end.set()
    person.quiet()
    assert "sch.unroll(ki)" in person.text and len(person.screen.drawn) == drawn + 1
    assert READING not in person.doing


def test_selections_during_a_slow_edit_apply_at_once(person: Person, slow: Slow) -> None:
    person.send("edit_item", item=last_item(person), text="sch.unroll(ki)")
    person.send("select", id="ko")
    person.send("theme", theme="dark")
    assert (person.state.selected, person.state.theme) == ("ko", "dark")
    slow.may_end.set()
    person.quiet()
    assert (person.state.selected, person.state.theme) == ("ko", "dark")
    assert "sch.unroll(ki)" in person.text


def test_edits_queued_behind_a_slow_one_run_in_order(person: Person, slow: Slow) -> None:
    item, before = last_item(person), person.text
    person.send("edit_item", item=item, text="sch.unroll(ki)")
    person.send("edit_item", item=item, text="sch.vectorize(ki)")
    person.send("undo")
    assert person.text == before
    slow.may_end.set()
    person.until(lambda: not person.session.queue.busy and len(person.state.future) == 1)
    assert "sch.unroll(ki)" in person.text and len(person.state.past) == 1
    person.send("redo")
    person.quiet()
    assert "sch.vectorize(ki)" in person.text


def test_further_typing_cancels_the_reading_of_older_text(person: Person, slow: Slow) -> None:
    item = last_item(person)
    person.send("draft_item", item=item, text="sch.unroll(k")
    assert slow.begun.wait(60)
    for end in ("ko", "ko)", "ki)"):
        person.send("draft_item", item=item, text=f"sch.unroll({end}")
    slow.may_end.set()
    person.quiet()
    assert "sch.unroll(ki)" in person.text and person.state.draft_of is not None
    assert slow.ended <= 1, "only the last was read to its end"


def test_only_the_last_queued_draft_is_read(person: Person, slow: Slow) -> None:
    item = last_item(person)
    person.send("edit_item", item=item, text="sch.unroll(ko)")
    for end in ("k", "ki", "ki)"):
        person.send("draft_item", item=item, text=f"sch.unroll({end}")
    slow.may_end.set()
    person.until(lambda: not person.session.queue.busy and person.state.draft_of is not None)
    assert "sch.unroll(ki)" in person.text and slow.ended == 2


def test_a_stopped_edit_keeps_its_text_and_resumes(person: Person, slow: Slow) -> None:
    shown = person.state.shown
    person.send("edit_item", item=last_item(person), text="sch.unroll(ki)")
    person.until(lambda: READING in person.doing)
    person.send("cancel_work")
    assert "sch.unroll(ki)" in person.text and person.state.shown is shown
    assert person.doing[0].stopped and person.doing[0].text == READING.text
    assert notebook_value(person.state, person.session.store, {}).problems[0].code == "given-up"
    person.send("move", block="C", loop="ko", primitive="compute_at")
    person.quiet()
    assert person.state.notice is not None and person.state.notice.code == "broken-text"
    slow.may_end.set()
    person.send("resume")
    person.until(lambda: person.state.shown is not shown)
    assert person.state.notebook is not None and person.state.notebook.error is None
    assert len(person.state.past) == 1 and person.doing[:1] != (READING,)


def test_retyping_a_stopped_edit_reads_it(person: Person, slow: Slow) -> None:
    item = last_item(person)
    person.send("edit_item", item=item, text="sch.unroll(ki)")
    person.send("cancel_work")
    slow.may_end.set()
    assert person.state.notebook is not None
    cell = person.state.notebook.document.of_kind("schedule")[0]
    person.send("edit", cell=person.state.notebook.document.cells.index(cell), body=cell.body)
    person.quiet()
    assert person.state.notebook.error is None and "sch.unroll(ki)" in person.text
    person.send("undo")
    person.quiet()
    assert "sch.unroll(ki)" not in person.text, "one step for undo"


def test_another_stopped_action_restores_the_state_with_a_notice(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tilewright.app.actions import opening

    slow = Slow(evaluate)
    monkeypatch.setattr(opening, "evaluate", slow)
    before = person.state.notebook
    person.send("open", name="box_blur")
    assert slow.begun.wait(60)
    person.send("cancel_work")
    assert person.state.notebook is before
    assert person.state.notice is not None and person.state.notice.code == "given-up"
    slow.may_end.set()
    person.send("resume")
    person.until(lambda: person.state.notebook is not before)


def test_an_edit_of_a_closed_page_is_saved_to_the_file(tmp_path: Path, slow: Slow) -> None:
    path = tmp_path / "mine.py"
    path.write_text(MATMUL_NOTEBOOK)
    desk = Desk(tmp_path)
    page = Session(PaperClock(), (), open_files=desk.open_files, moment=lambda: 0.0)
    page.open_file(str(path))
    event_loop = page.event_loop
    assert isinstance(event_loop, PaperClock)
    event_loop.run_until(lambda: page.state.notebook is not None)
    page.receive({"kind": "edit_item", "item": 1, "text": "sch.unroll(k)  # mine"})
    page.receive({"kind": "edit_item", "item": 2, "text": "# and this"})
    page.close()
    desk.close()
    assert "sch.unroll(k)  # mine" in path.read_text() and "# and this" in path.read_text()


def test_edits_of_two_pages_are_merged(tmp_path: Path, slow: Slow) -> None:
    path = tmp_path / "mine.py"
    path.write_text("# %% [markdown]\n# Words\n" + MATMUL_NOTEBOOK)
    desk = Desk(tmp_path)
    mine, other = Session(PaperClock(), (), open_files=desk.open_files, moment=lambda: 0.0), desk.page(path)
    desk.pages.append(mine)
    mine.open_file(str(path))
    event_loop = mine.event_loop
    assert isinstance(event_loop, PaperClock)
    event_loop.run_until(lambda: mine.state.notebook is not None)
    mine.receive({"kind": "edit_item", "item": 1, "text": "sch.unroll(k)  # mine"})
    assert slow.begun.wait(60)
    slow.may_end.set()  # for the other page
    other.receive({"kind": "insert_cell", "cell": 0, "cell_kind": "markdown"})
    mine.receive({"kind": "select", "id": "k"})
    event_loop.run_until(lambda: not mine.queue.busy)
    desk.settle()
    assert text_of(mine) == text_of(other) == path.read_text()
    assert "# mine" in path.read_text() and path.read_text().count("[markdown]") == 3
    desk.close()


@pytest.fixture
def shared_file(tmp_path: Path) -> Iterator[tuple[Session, PaperClock, Desk]]:
    """A page on a paper clock, on a file that another page has open too."""
    path = tmp_path / "mine.py"
    path.write_text("# %% [markdown]\n# Words\n" + MATMUL_NOTEBOOK)
    desk, event_loop = Desk(tmp_path), PaperClock()
    mine = Session(event_loop, (), open_files=desk.open_files, moment=lambda: 0.0)
    mine.updater.screen = PaperScreen()
    desk.page(path)
    mine.open_file(str(path))
    event_loop.run_until(lambda: mine.state.notebook is not None)
    yield mine, event_loop, desk
    mine.close()
    desk.close()


def typed_on_both(shared_file: tuple[Session, PaperClock, Desk], slow: Slow) -> Session:
    """Both pages changed the file, the page with the paper clock last: it has the merged text, not yet evaluated."""
    mine, event_loop, desk = shared_file
    slow.may_end.set()
    mine.receive({"kind": "draft_item", "item": 1, "text": "sch.unroll(k)"})
    event_loop.run_until(lambda: mine.state.draft_of is not None)
    desk.pages[0].receive({"kind": "edit_prose", "cell": 0, "text": "Other words"})
    before = slow.ended
    slow.most_ends = before + 1
    mine.receive({"kind": "edit_item", "item": 1, "text": "sch.unroll(k)  # mine"})
    slow.until_ended(before + 1)
    slow.may_end.clear()
    slow.most_ends = math.inf
    event_loop.run_until(lambda: "Other words" in text_of(mine))
    return mine


def test_a_merged_text_is_read_in_a_thread(shared_file: tuple[Session, PaperClock, Desk], slow: Slow) -> None:
    mine = typed_on_both(shared_file, slow)
    shown = mine.state.shown
    assert "# mine" in text_of(mine) and mine.queue.busy and shown is not mine.state.notebook
    mine.receive({"kind": "select", "id": "k"})
    assert mine.state.selected == "k", "who looks around is answered"
    slow.may_end.set()
    shared_file[1].run_until(lambda: mine.state.shown is mine.state.notebook)
    assert not mine.queue.busy and "Other words" in text_of(mine)
    shared_file[2].settle()
    assert text_of(shared_file[2].pages[0]) == text_of(mine)


def test_stopping_the_reading_of_a_merged_text_can_be_resumed(
    shared_file: tuple[Session, PaperClock, Desk], slow: Slow
) -> None:
    mine = typed_on_both(shared_file, slow)
    text = text_of(mine)
    mine.receive({"kind": "cancel_work"})
    assert not mine.queue.busy and text_of(mine) == text and mine.state.notice is None
    assert mine.updater.doing[0].stopped and mine.updater.doing[0].text == READING.text
    slow.may_end.set()
    mine.receive({"kind": "resume"})
    shared_file[1].run_until(lambda: mine.state.shown is mine.state.notebook)


def test_save_as_over_a_file_opens_it_in_a_thread(
    shared_file: tuple[Session, PaperClock, Desk], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, event_loop, desk = shared_file
    path = Path(desk.open_files.folder or "") / "other.py"
    path.write_text(MATMUL_NOTEBOOK)
    begun = Slow(desk.open_files.begun)
    monkeypatch.setattr(desk.open_files, "begun", lambda path, line, anew: begun(path, line, anew=anew))
    mine.receive({"kind": "save_as", "name": "other", "replacing": True})
    assert begun.begun.wait(60)
    mine.receive({"kind": "cancel_work"})
    assert mine.state.file is not None and mine.state.file.name == "mine.py"
    assert mine.state.notice is not None and mine.state.notice.code == "given-up"
    begun.may_end.set()
    mine.receive({"kind": "resume"})
    event_loop.run_until(lambda: mine.state.file is not None and mine.state.file.name == "other.py")
    assert "# Words" in text_of(mine) and mine.state.past[-1].document.text == MATMUL_NOTEBOOK


def test_api_requests_queue_behind_a_slow_edit(person: Person, slow: Slow) -> None:
    results: list[Refusal | None] = []
    item = last_item(person)
    person.send("edit_item", item=item, text="sch.unroll(ki)")
    perform(person.session, decode_request(b'{"kind": "undo"}'), results.append)
    perform(person.session, decode_request(b'{"kind": "remove_item", "item": 999}'), results.append)
    assert results == []
    slow.may_end.set()
    person.until(lambda: len(results) == 2)
    assert results[0] is None and results[1] is not None and results[1].code == "no-such-step"
    assert len(person.state.future) == 1 and person.state.notice is None


def test_a_stopped_api_edit_is_refused(person: Person, slow: Slow) -> None:
    results: list[Refusal | None] = []
    before = person.state
    perform(
        person.session, decode_request(b'{"kind": "edit_item", "item": 1, "text": "sch.unroll(k)"}'), results.append
    )
    assert slow.begun.wait(60)
    person.send("cancel_work")
    assert results[0] is not None and results[0].code == "given-up"
    assert person.state.notebook is before.notebook and person.doing[0].key != READING.key


def test_a_merged_state_has_the_edit_and_the_selection() -> None:
    before = act(State(), OpenText(MATMUL_NOTEBOOK))
    after = act(before, EditItem(1, "sch.unroll(k)"))
    now = State(
        **{name: getattr(before, name) for name in State.__struct_fields__} | {"selected": "k", "theme": "dark"}
    )
    found = brought_together(before, after, now)
    assert (found.notebook, found.past) == (after.notebook, after.past)
    assert (found.selected, found.theme) == ("k", "dark")
    assert brought_together(before, after, before) is after


def test_an_immediate_change_has_the_full_time_budget(person: Person) -> None:
    person.send("edit_item", item=last_item(person), text="sch.unroll(ki)")
    person.quiet()
    assert person.session.queue.left(2.0) == 2.0, "what took long is over"
    assert Session(person.event_loop).queue.left(2.0) == 2.0, "there was none"
