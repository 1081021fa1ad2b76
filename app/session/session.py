"""One open page and its cycle: a view's message becomes an intent, the intent makes a state, the state is drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from msgspec.structs import replace

from ...engine.ir import TilewrightError, internal_error
from ..actions.opening import opened_text
from ..actions.relocation import saved_as
from ..actions.table import ApplyFix, Call, Calls, Intent, OpenText, Saved, Say, ShowGallery, act, is_quick
from ..actions.text_edits import DRAFTS, TEXTS, KeepTyped, Read
from ..document import Document
from ..export.exports import Made
from ..jobs.drop_preview import DropPreview
from ..jobs.event_loop import EventLoop
from ..jobs.exploration import SearchSlots
from ..jobs.export_job import as_text, export_for_page
from ..jobs.fair_scheduler import FairScheduler
from ..jobs.study_files import study_file
from ..protocol.message_fields import fields_of
from ..protocol.messages import COMPARISONS, FILES, IN_HAND, LOOKS, OF_THE_TREE, Message, intent_of, sides_asked
from ..state.addresses import TOUR, Address, address_of
from ..state.comparison import Compare
from ..state.derived import Store
from ..state.model import Exploration, Notice, SearchRequest, State
from ..storage.open_file import OpenFile
from ..storage.registry import OpenFileRegistry
from ..views.problems.lints import offered_fix
from ..views.shell.gallery import Example, example_at, example_called, new_notebook, opening_of
from ..views.shell.tour import tour_text
from .file_sync import FileSync, readable
from .questions import Questions
from .state_queue import Outcome, StateQueue, StoppedError
from .view_updater import ViewUpdater

Answer = Callable[[], Notice | None]

FOREVER_S = 3600.0


class Session:
    """The state of one page and its changes; `updater` draws it. `moment` returns the seconds that the event loop may wait for the next
    state, `patience` those for a state with its report. All sessions of a server share the `scheduler` for speculative work and the
    `places` for searches."""

    def __init__(
        self,
        event_loop: EventLoop,
        examples: tuple[Example, ...] = (),
        *,
        open_files: OpenFileRegistry | None = None,
        store: Store | None = None,
        patience: Callable[[], float] = lambda: FOREVER_S,
        moment: Callable[[], float] = lambda: FOREVER_S,
        scheduler: FairScheduler | None = None,
        places: SearchSlots | None = None,
    ) -> None:
        self.state = State()
        self.store = store or Store()
        self.questions = Questions(lambda: self.state, self.store)
        self._event_loop = event_loop
        self.examples = examples
        self.file_sync = FileSync(open_files, event_loop, self._filed)
        self.state = self.file_sync.placed(self.state)
        scheduler = scheduler or FairScheduler()
        self.updater = ViewUpdater(
            self.store,
            event_loop,
            lambda: self.state,
            patience=lambda: self.queue.left(patience()),
            changing=lambda: self.queue.doing,
            study_file=self._study_file,
            scheduler=scheduler,
            places=places,
        )
        self.drop_preview = DropPreview(self.store, event_loop, self.updater.foretell, scheduler)
        self.queue = StateQueue(event_loop, lambda: self.state, moment, self.updater.turned)
        self._closed = False

    def receive(self, message: Message) -> None:
        """Handle a view's message in its turn. A malformed message results in a notice, never an exception."""
        kind = message.get("kind")
        if kind in LOOKS:
            self.receive_now(message)
        else:
            self.queue.in_turn(lambda: self.receive_now(message), str(kind))

    def receive_now(self, message: Message) -> None:
        """Handle a message whose turn it is."""
        self.updater.hold(is_look=message.get("kind") in LOOKS)
        where = "tree" if message.get("kind") in OF_THE_TREE else "page"
        self._trying(lambda: self._do(fields_of(message)), where, in_hand=message.get("kind") in IN_HAND)

    def _trying(self, work: Callable[[], None], where: Literal["tree", "page"] = "page", in_hand: bool = False) -> None:
        """Run `work` and show an error as a notice. Then resume background work if the program did not change."""
        try:
            work()
        except TilewrightError as error:
            self.dispatch(Say(error.refusal, where))
        except Exception as error:
            self.dispatch(Say(internal_error(error, "doing this")))
        finally:
            self._go_on(in_hand)

    def _go_on(self, in_hand: bool = False) -> None:
        if not self.queue.busy and not self._closed:
            self.updater.go_on(in_hand=in_hand)

    def _do(self, message: Message) -> None:
        if message["kind"] == "grabbed":
            self.drop_preview.begin(self.state, [str(row) for row in message["rows"]], str(message.get("near", "")))
        elif message["kind"] == "near":
            self.drop_preview.point_at(str(message["row"]))
        elif message["kind"] == "released":
            self.drop_preview.stop()
        elif message["kind"] == "give_up":
            self._cancel()
        elif message["kind"] == "resume":
            self._resume()
        elif message["kind"] in COMPARISONS:
            self._compare(message)
        elif message["kind"] == "export":
            self._export(message)
        elif message["kind"] in FILES:
            self._file(message)
        elif message["kind"] == "open":
            self._open(example_called(self.examples, str(message["name"])))
        elif message["kind"] == "go":
            self._go_to(address_of(str(message["path"])) or Address())
        else:
            self.state = self.file_sync.based(self.state, message)
            intent = intent_of(message, self.state)
            if intent is not None:
                self.dispatch(self._with_known(intent))

    def _with_known(self, intent: Intent) -> Intent:
        """The intent with precomputed results: a predicted drop, or a fix that the lints have tried."""
        if isinstance(intent, Call | Calls):
            return self.drop_preview.with_precomputed(self.state, intent)
        if isinstance(intent, ApplyFix):
            return replace(intent, fix=offered_fix(self.state, self.store, intent.calls, intent.replaces))
        return intent

    def want(self, intent: Intent, told: Callable[[Answer], None]) -> None:
        """Execute an API client's intent, whose turn it is. A refusal leaves the state unchanged and is not shown on the page. The callback
        receives the answer: a function that returns the refusal's notice or None, or raises the error that prevented the intent."""
        self.updater.hold(is_look=False)

        def came(outcome: Outcome) -> Notice | None:
            after = self._ended(intent, outcome)
            if after.notice is not None and after.notice is not self.state.notice:
                return after.notice
            self._show(after)
            return None

        def told_now(outcome: Outcome) -> None:
            told(lambda: came(outcome))
            self._filed()
            self._go_on()

        self.queue.begin(self._made_of(self._with_known(intent)), told_now)

    def _compare(self, message: Message) -> None:
        def make(state: State) -> State:
            return act(
                state, Compare(*sides_asked(message, state, lambda name: opened_text(*opening_of(self.examples, name))))
            )

        self._make(make, lambda made: self._show(made()), lambda: self._compare(message))

    def arrive(self, address: Address) -> None:
        """Show the address of a page's first visit; an invalid address shows the start page with a notice. Until then the browser keeps the
        address."""
        if address.place:
            self.state = replace(self.state, address=None)
            self._trying(lambda: self._go_to(address))

    def _go_to(self, address: Address) -> None:
        if address == self.state.address:
            return
        if not address.place:
            self.dispatch(ShowGallery())
        elif address == TOUR:
            self.dispatch(OpenText(tour_text(), address=TOUR))
        elif address.place == "draft":
            self.open_file(str(self.file_sync.draft_path(address.name)))
        else:
            self._open(example_at(self.examples, address))

    def _open(self, example: Example) -> None:
        """Open an example as it was read, or a user's file in its current version."""
        if example.path is None:
            self.dispatch(OpenText(example.text, example.title, address=Address("example", example.name)))
        else:
            self.open_file(example.path)

    def open_file(self, path: str) -> None:
        """Open a file in its current version, or as other pages have it; edits are saved to it. Raises DocumentError if it is
        unreadable."""
        asked = self.file_sync.read(path)

        def make(state: State) -> tuple[State, Document]:
            document, read = readable(asked)
            return act(state, OpenText(document.text, path=document.path, read=read)), document

        self._into_file(make, lambda: self.open_file(path))

    def _into_file(
        self, make: Callable[[State], tuple[State, Document | None]], again: Callable[[], None], *, anew: bool = False
    ) -> None:
        """Make a state whose notebook has a path, and bind the page to that file. `make` also returns the source document; `anew` replaces
        the file's content."""
        found: list[tuple[Document | None, OpenFile | None]] = []

        def begin(state: State) -> State:
            after, source = make(state)
            is_new = after.notebook is not state.notebook
            found.append((source, self.file_sync.begun(after, anew=anew) if is_new else None))
            return after

        def came(outcome: Outcome) -> None:
            opened = outcome()
            if opened.notebook is self.state.notebook:
                self._show(opened)  # the notebook did not open
                return
            ((source, begun),) = found
            opened = self.file_sync.after(self.state, opened)
            self._show(self.file_sync.opened(opened, anew=anew, source=source, begun=begun))
            if self.state.notebook is not None and not anew:
                self.updater.searches.load_last(self.state.notebook, self._taken_up)

        self._make(begin, came, again)

    def dispatch(self, intent: Intent) -> None:
        """Make the next state and draw it once it is ready."""
        if is_quick(intent):
            self._show(act(self.state, intent))
            return

        def came(outcome: Outcome) -> None:
            try:
                self._show(self._ended(intent, outcome))
            except StoppedError:
                if not isinstance(intent, TEXTS):
                    raise
                self._show(act(self.state, KeepTyped(intent)))

        again = Read() if isinstance(intent, TEXTS) else intent
        is_draft = isinstance(intent, DRAFTS)
        self._make(self._made_of(intent), came, lambda: self.dispatch(again), is_draft=is_draft)

    def _made_of(self, intent: Intent) -> Callable[[State], State]:
        """The function that makes the state after the intent in a thread; it uses a running prediction of the same move."""
        return lambda state: act(state, self.drop_preview.wait_for_prediction(state, intent))

    def _ended(self, intent: Intent, outcome: Outcome) -> State:
        if isinstance(intent, Call | Calls):
            self.drop_preview.finish()
        return outcome()

    def _make(
        self,
        make: Callable[[State], State],
        came: Callable[[Outcome], None],
        again: Callable[[], None],
        *,
        is_draft: bool = False,
    ) -> None:
        """Make a state that the user waits for."""
        self.queue.begin(
            make, lambda outcome: self._trying(lambda: came(outcome)), lambda: self._trying(again), is_draft=is_draft
        )

    def _show(self, state: State) -> None:
        # Changes of others to the file are merged after the running change, which began before them.
        before, self.state = self.state, state if self.queue.busy else self.file_sync.after(self.state, state)
        if self.state is before or self._closed or self._reads_first():
            return
        self.updater.show(
            is_another=self.state.moment is not before.moment or self.state.notebook is not before.notebook
        )

    def _reads_first(self) -> bool:
        """Whether a text by others was evaluated and shown within a moment. Otherwise the page shows it as pending."""
        waiting = self.state.notebook
        if waiting is None or not waiting.is_unread or self.queue.busy:
            return False
        self.queue.next(lambda: self.dispatch(Read()))
        return self.state.notebook is not waiting

    def close(self) -> None:
        """Close the session and cancel its work."""
        self._closed = True
        self.updater.close()
        self.drop_preview.stop()
        self.queue.close()
        self.file_sync.leave(self.state)

    # Queries of views.

    def targets(self, rows: list[str]) -> list[dict[str, Any]]:
        """The drop targets for the blocks or loops of `rows`."""
        return self.drop_preview.targets(self.state, rows)

    def foretold(self, rows: list[str]) -> tuple[list[dict[str, Any]], bool]:
        """The known predictions for drops of `rows`, and whether they are complete."""
        return self.drop_preview.predictions(self.state, rows)

    # Background work.

    def _cancel(self) -> None:
        if self.queue.busy:
            self.queue.stop()
        else:
            self.updater.stop_for_good()
        self.updater.turned()

    def _resume(self) -> None:
        self.queue.resume()
        self.updater.resume()
        self.updater.turned()

    def _study_file(self, sought: SearchRequest) -> Path | None:
        """The file of a search, beside the history of the notebook's folder."""
        path = sought.notebook.document.path
        return study_file(path, sought) if self.file_sync.has_file and path is not None else None

    def _taken_up(self, sought: SearchRequest) -> None:
        """Show the last search of the file."""
        notebook, path = self.state.notebook, sought.notebook.document.path
        if notebook is not None and notebook.document.path == path and self.state.exploration is None:
            self._show(replace(self.state, exploration=Exploration(sought, going=False)))

    def _export(self, message: Message) -> None:
        if self.state.moment is not None:
            export_for_page(str(message.get("to", "tvm")), self.state, self.store, self._event_loop, self._given)

    def _given(self, file: Made | TilewrightError) -> None:
        if isinstance(file, TilewrightError):
            self.dispatch(Say(file.refusal))
        else:
            self.updater.download(file.name, as_text(file))

    def _file(self, message: Message) -> None:
        """Handle a file message. A notebook without a file is saved as a download."""
        kind = message["kind"]
        if kind == "new_file":
            path = self.file_sync.place_for(str(message["name"]))
            new = OpenText(new_notebook(), path=str(path))
            self._into_file(lambda state: (act(state, new), None), lambda: self._file(message), anew=True)
        elif kind == "discard_draft":
            self.file_sync.discard_draft(self.file_sync.draft_path(str(message["name"])))
        elif self.state.notebook is None:
            return
        elif kind == "save_as":
            path = self.file_sync.place_for(str(message["name"]), replacing=message.get("replacing") is True)
            before = self.state
            self._into_file(lambda state: (saved_as(state, path), None), lambda: self._file(message), anew=True)
            self.queue.next(lambda: self.file_sync.discard_saved_draft(before, self.state))
        elif kind == "heard":
            self.file_sync.heard()
        elif kind in ("versions", "version", "no_versions"):
            self._make(
                lambda state: self.file_sync.looked_back(state, message),
                lambda made: self._show(made()),
                lambda: self._file(message),
            )
        elif kind == "resolve":
            self._show(self.file_sync.resolve(self.state, [str(choice) for choice in message["choices"]]))
        elif kind == "save" and self.file_sync.has_file and not self.state.is_draft:
            self._show(self.file_sync.save(self.state))
        elif self.updater.screen is not None:
            document = self.state.notebook.document
            self.updater.download(Path(document.path or "notebook.py").name, document.text)
            self.dispatch(Saved(document.text))

    def _filed(self) -> None:
        """Handle a change of the file's text or status."""
        if self._closed or self.queue.busy:
            return
        before, after = self.state, self.file_sync.caught_up(self.state)
        if after.notebook is not before.notebook:
            self._show(after)
        elif after is not before:
            self.state = after
            self.updater.show_later()


__all__ = ["Answer", "Session"]
