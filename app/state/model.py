"""The state of a page as one frozen value. The page is a function of it; `actions.table.act` makes the next state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ...engine.explore import DerivedStart, Settings, Space
from ...engine.hwsim import Machine
from ...engine.ir import PrimFunc, Refusal
from ...engine.script import Note
from ..document import Notebook
from ..document import State as Moment
from ..document.files.history import Version
from ..document.files.merging import Part
from ..document.notebook import revision_of
from ..document.posts import Post
from ..document.title import title_of
from ..storage.file_status import Presence, SaveStatus
from .addresses import Address
from .open_model import OpenModel

Theme = Literal["light", "dark"]
Screen = Literal["gallery", "model", "notebook"]
NoticePlace = Literal["tree", "page"]
Pane = Literal["next", "script", "python", "problems", "machine", "traffic", "explore"]


class ValueField(msgspec.Struct, frozen=True):
    """A value that a program needs: its name, what it is ("size", "dtype", "flag", "scope", "list", "dict", "tensor", "target"), an
    example, and the values that the code knows: all of a flag, some of others."""

    name: str
    what: str
    example: str
    choices: tuple[str, ...] = ()


class ProgramChoice(msgspec.Struct, frozen=True):
    """What a text that did not open may be opened with: its programs, the number of the one that was tried (from 1; 0: none), and the
    values that it needs. `listed` is the name of a file of the start screen; with `is_model` the text is opened as a model."""

    programs: tuple[str, ...]
    number: int
    fields: tuple[ValueField, ...] = ()
    listed: str = ""
    is_model: bool = False


class Notice(msgspec.Struct, frozen=True):
    """The refusal of the last action, for the user. `fix` are calls that would make the action legal.

    `where` is its place: beside the tree that the call came from, or above the page. `choice` is that of a text that did not open.
    """

    code: str
    message: str
    found: str = ""
    expected: str = ""
    fix: tuple[str, ...] = ()
    place: str = ""
    where: NoticePlace = "page"
    choice: ProgramChoice | None = None


def notice_of(refusal: Refusal) -> Notice:
    """A refusal as a notice for the page."""
    place = refusal.place
    return Notice(
        code=refusal.code,
        message=_sendable(refusal.message),
        found=_sendable(refusal.found),
        expected=_sendable(refusal.expected),
        fix=(*map(str, (*refusal.repair, *refusal.instead)), *refusal.fix),
        place=f"line {place.line}" if place is not None else "",
    )


def _sendable(text: str) -> str:
    """The text without lone surrogates, which a message may contain but UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")


class Look(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The visible part of the chosen buffer: `across` elements (0: a suitable number) from `row` and `column` in one of its slots; the
    number of the access that is followed (`use`); an index map as far as it is typed (`draft`); and the key of the candidate that is
    previewed as if it were applied."""

    row: Annotated[int, Meta(ge=0)] = 0
    column: Annotated[int, Meta(ge=0)] = 0
    across: Annotated[int, Meta(ge=0)] = 0
    slot: Annotated[int, Meta(ge=0)] = 0
    use: Annotated[int, Meta(ge=0)] = 0
    draft: Annotated[str, Meta(max_length=2_000)] = ""
    preview: Annotated[str, Meta(max_length=3_000)] = ""


class Blamed(msgspec.Struct, frozen=True):
    """The stall that is selected, in the terms of a report's `Wait`: its cause, and the buffer that a block holds, or (as `block`) a port,
    a queue, another engine of its unit."""

    engine: str
    cause: str
    buffer: str = ""
    block: str = ""


class FileStatus(msgspec.Struct, frozen=True):
    """The file of the notebook and its status. `apart` are the conflicts of this page's text with the text of other pages. A draft is a
    file that the server keeps until the user saves the notebook elsewhere. `others` are the other pages on it."""

    name: str
    save: SaveStatus
    apart: tuple[Part, ...] = ()
    is_draft: bool = False
    others: tuple[Presence, ...] = ()


class LookedBack(msgspec.Struct, frozen=True, eq=False):
    """The versions of the file, the newest first, the change of each, and the number of the chosen one."""

    versions: tuple[Version, ...]
    changes: tuple[str, ...]
    chosen: int

    @property
    def version(self) -> Version | None:
        """The chosen version."""
        return next((version for version in self.versions if version.number == self.chosen), None)


class Side(msgspec.Struct, frozen=True, eq=False):
    """An operand of a comparison: `notebook` after `count` of its schedule lines, None for all.

    Without a notebook it is the open one, in its current version. `key` identifies the side in the browser, `label` to users.
    """

    key: str
    label: str = ""
    notebook: Notebook | None = None
    count: int | None = None


class Comparison(msgspec.Struct, frozen=True, eq=False):
    """Two sides of a comparison. `span` is the range of their timelines in cycles; None is all."""

    a: Side
    b: Side
    span: tuple[float, float] | None = None


class DerivedSchedule(DerivedStart, frozen=True, eq=False):
    """A derived space, the outcome of its default values, and the seconds that the derivation took until then. `keep` are the pins that
    were asked for."""

    seconds: float
    keep: Mapping[str, int] = {}


class Derivation(msgspec.Struct, frozen=True, eq=False):
    """A derivation of a space, and the settings of the search that follows: the notebook at that time, its file if it has one, and the
    machine. `keep` are values of holes to keep."""

    notebook: Notebook
    machine: Machine
    settings: Settings
    path: str | None = None
    keep: Mapping[str, int] = {}


class SearchRequest(msgspec.Struct, frozen=True, eq=False):
    """A search request: the notebook at that time, its branch, its holes as a space, the machine, and the settings. `serial` distinguishes
    the searches of a page. `derived` is the derivation that the search follows, `own` the notebook before it if that had a schedule."""

    serial: int
    notebook: Notebook
    machine: Machine
    space: Space
    settings: Settings
    branch: str = ""
    derived: DerivedSchedule | None = None
    own: Notebook | None = None

    @property
    def planned(self) -> int:
        """The number of candidates to try."""
        size, settings = self.space.size, self.settings
        return size if size <= settings.exhaustive else min(settings.trials, size)


class Exploration(msgspec.Struct, frozen=True, eq=False):
    """A search that runs or was stopped; `trial` is the number of the chosen candidate, None for the best. `opened` is the branch that has
    the best schedule since the search ended."""

    request: SearchRequest
    going: bool = True
    trial: int | None = None
    opened: str = ""


class RelatedPage(msgspec.Struct, frozen=True):
    """A worked example, or a page of the guide, about the calls of a post: its name and title, calls that both name, and whether it quotes
    the post."""

    kind: Literal["example", "guide"]
    name: str
    title: str
    calls: tuple[str, ...]
    is_answer: bool


class State(msgspec.Struct, frozen=True, eq=False):
    """The state of a page at one time.

    `notebook` is the evaluated document, None while the gallery is shown; `past` and `future` are the stacks of undo and redo (evaluated,
    so that undo costs nothing and handles stay valid). `chosen_step` is the number of visible schedule lines, None for all of them. `shown`
    is the last notebook with a program: it stays visible while the text is broken. `named` is the name of a notebook without a heading.
    `selected` is a row id of the tree, `buffer` the id of the buffer whose layout is shown. `saved` is the text that was last opened, saved
    or downloaded.

    `notes` are about the source text that the notebook was converted from; `post` is that text if it has several programs, `related` are
    worked examples about its calls. `draft_of` is the notebook before the unfinished typing in `notebook`, None without typing.
    `comparison` replaces tree and timeline. `blamed` is the wait that is selected on the timeline, until another selection. `file` is the
    file that edits are saved to, None for a notebook without one; `looked_back` are the file's earlier versions, while they are shown;
    `folder` is the folder for new files, "" for none. `exploration` is the last search, independent of later edits; `derivation` runs
    before a search. `measured` is the program whose time on this computer was requested. `export_review` is the kind of the export whose
    losses are shown, "" for none. `address` is the page's; None leaves the browser's address unchanged: it is a link that carries the
    notebook itself.

    `model` is the model that is open, and `kernel` the name of its kernel whose notebook is shown, "" while the model itself is.
    `opening` is the same object in all states since the notebook was opened.
    """

    notebook: Notebook | None = None
    shown: Notebook | None = None
    named: str = ""
    past: tuple[Notebook, ...] = ()
    future: tuple[Notebook, ...] = ()
    chosen_step: int | None = None
    selected: str = ""
    buffer: str = ""
    look: Look = Look()
    theme: Theme = "light"
    pane: Pane = "script"
    notice: Notice | None = None
    saved: str = ""
    notes: tuple[Note, ...] = ()
    post: Post | None = None
    related: tuple[RelatedPage, ...] = ()
    draft_of: Notebook | None = None
    comparison: Comparison | None = None
    blamed: Blamed | None = None
    file: FileStatus | None = None
    folder: str = ""
    looked_back: LookedBack | None = None
    exploration: Exploration | None = None
    derivation: Derivation | None = None
    export_review: str = ""
    measured: PrimFunc | None = None
    address: Address | None = Address()
    model: OpenModel | None = None
    kernel: str = ""
    opening: object = msgspec.field(default_factory=object)

    @property
    def screen(self) -> Screen:
        """The screen of the page."""
        if self.notebook is not None:
            return "notebook"
        return "gallery" if self.model is None else "model"

    @property
    def title(self) -> str:
        """The title of the notebook, from its current text; else that of the model."""
        if self.notebook is None:
            return "" if self.model is None else self.model.title
        return title_of(self.notebook.document, self.named, in_file=not self.is_draft)

    @property
    def is_draft(self) -> bool:
        """Whether the server keeps the notebook in a draft file until the user saves it elsewhere."""
        return self.file is not None and self.file.is_draft

    @property
    def good(self) -> Notebook | None:
        """The last notebook without an error."""
        for notebook in (self.notebook, self.draft_of, *reversed(self.past)):
            if notebook is not None and notebook.error is None and notebook.evaluated:
                return notebook
        return None

    @property
    def unsaved(self) -> bool:
        """Whether edits exist on this page only, or are missing from the file that they belong to."""
        if self.file is not None:
            return bool(self.file.apart) or self.file.save.status in ("failed", "asking")
        return self.notebook is not None and self.notebook.document.text != self.saved

    @property
    def loses_work(self) -> bool:
        """Whether leaving the notebook would lose the user's work."""
        if self.file is not None:
            save = self.file.save
            return bool(self.file.apart) or not (save.durable or save.status in ("saving", "new"))
        return self.unsaved and bool(self.past or self.future)

    @property
    def durable(self) -> bool:
        """Whether the text and unfinished typing are on the disk, in the file or in its history."""
        return self.file is not None and self.file.save.durable

    @property
    def revision(self) -> int:
        """A number that differs for each text; 0 without a notebook."""
        return 0 if self.notebook is None else revision_of(self.notebook)

    @property
    def moment(self) -> Moment | None:
        """The schedule and variable names of the visible step."""
        if self.shown is None:
            return None
        return self.shown.states[self.step_count]

    @property
    def step_count(self) -> int:
        """The number of schedule lines that the visible program has applied."""
        if self.shown is None:
            return 0
        last = len(self.shown.states) - 1
        return last if self.chosen_step is None else min(self.chosen_step, last)

    @property
    def before(self) -> Moment | None:
        """The last step with a program other than the visible one: the baseline for a change."""
        if self.shown is None or self.moment is None:
            return None
        func = self.moment.schedule.func
        for moment in reversed(self.shown.states[: self.step_count]):
            if moment.schedule.func is not func:
                return moment
        return None

    @property
    def looks_back(self) -> bool:
        """Whether the visible step is earlier than the last one."""
        return self.shown is not None and self.step_count < len(self.shown.states) - 1
