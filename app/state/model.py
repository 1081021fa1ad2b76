"""What is shown, as one frozen value. Everything on the page is a function of it; `actions.act` makes the next one."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ...engine.explore import Settings, Space
from ...engine.hwsim import Machine
from ...engine.script import Note
from ..document import Notebook
from ..document import State as Moment
from ..document.files.history import Version
from ..document.files.merging import Part
from ..document.notebook import revision_of
from ..document.title import title_of
from ..storage.file_status import FileStanding
from .addresses import Address

Theme = Literal["light", "dark"]
Pane = Literal["script", "python", "problems", "machine", "traffic", "explore"]

DEFAULT_MACHINE = "dual-bank-npu"
"""The machine of a notebook that names none."""


class Notice(msgspec.Struct, frozen=True):
    """What the last action could not do, for the person who did it. `fix` are calls that would make it legal.

    `where` it belongs: beside the tree that a call came from, or above the page.
    """

    code: str
    message: str
    found: str = ""
    expected: str = ""
    fix: tuple[str, ...] = ()
    place: str = ""
    where: Literal["tree", "page"] = "page"


class Look(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of the chosen buffer is looked at: `across` elements (0: as many as suit it) from `row` and `column` on, in one of its slots;
    the access to it that is followed, by its number; an index map as far as it is typed; and the candidate (its key) that is looked at as
    if it were applied."""

    row: Annotated[int, Meta(ge=0)] = 0
    column: Annotated[int, Meta(ge=0)] = 0
    across: Annotated[int, Meta(ge=0)] = 0
    slot: Annotated[int, Meta(ge=0)] = 0
    use: Annotated[int, Meta(ge=0)] = 0
    draft: Annotated[str, Meta(max_length=2_000)] = ""
    preview: Annotated[str, Meta(max_length=3_000)] = ""


class Blamed(msgspec.Struct, frozen=True):
    """What an engine waits for, as a report's `Wait` names it: the cause, a buffer that a block has, or (as `block`) a port, a queue,
    another engine of its unit."""

    engine: str
    cause: str
    buffer: str = ""
    block: str = ""


class FileStatus(msgspec.Struct, frozen=True):
    """The file that the notebook is in, and how it stands. `apart`: where this page's text clashes with what other pages made of it.
    A draft is a file that the server keeps until the notebook is saved somewhere."""

    name: str
    standing: FileStanding
    apart: tuple[Part, ...] = ()
    is_draft: bool = False


class LookedBack(msgspec.Struct, frozen=True, eq=False):
    """The versions of the file, the newest first, what each changed, and the number of the one that is looked at."""

    versions: tuple[Version, ...]
    changes: tuple[str, ...]
    chosen: int

    @property
    def version(self) -> Version | None:
        """The one that is looked at."""
        return next((version for version in self.versions if version.number == self.chosen), None)


class Side(msgspec.Struct, frozen=True, eq=False):
    """One of two programs that are compared: `notebook` after `count` of its schedule lines, after all of them for None.

    Without a notebook it is the one that is open, as it is at the time. `key` says in the browser which one is meant, `label` to people.
    """

    key: str
    label: str = ""
    notebook: Notebook | None = None
    count: int | None = None


class Comparison(msgspec.Struct, frozen=True, eq=False):
    """Two sides beside each other. `span` is what their timelines show, in cycles; None is all."""

    a: Side
    b: Side
    span: tuple[float, float] | None = None


class SearchRequest(msgspec.Struct, frozen=True, eq=False):
    """What is searched: the notebook as it was then, on which branch, its holes as a space, on which machine, and what is asked for.
    `serial` tells searches of one page apart."""

    serial: int
    notebook: Notebook
    machine: Machine
    space: Space
    settings: Settings
    branch: str = ""

    @property
    def planned(self) -> int:
        """How many candidates are tried."""
        size, settings = self.space.size, self.settings
        return size if size <= settings.exhaustive else min(settings.trials, size)


class Exploration(msgspec.Struct, frozen=True, eq=False):
    """A search that is going on, or was stopped; `trial` is the candidate that is looked at, by its number, None is the best."""

    sought: SearchRequest
    going: bool = True
    trial: int | None = None


class State(msgspec.Struct, frozen=True, eq=False):
    """A moment of the page.

    `notebook` is the evaluated document, None while the gallery is shown; `past` and `future` are those that undo and redo go to (the
    evaluated ones, so that going back costs nothing and handles stay). `chosen_step` is the number of schedule lines that are looked at,
    None for all of them. `shown` is the last notebook with a program: the picture that stays while the text is broken.
    `named` is what a notebook without a heading is called.
    `selected` is a row id of the tree, `buffer` the id of a buffer whose layout is looked at. `saved` is the text that is kept elsewhere:
    as it was opened, saved or downloaded last.
    `notes` are about the text that the notebook was made of when it was opened. `draft_of` is the notebook that `notebook` is typed into,
    None when nothing is being typed. `comparison` stands in the place of tree and timeline. `blamed` is
    the wait that was chosen on the timeline, until something else is chosen. `file` is where edits go by themselves, None for a notebook
    without one; `folder` is where new ones can be made, "" for nowhere; `looked_back` are its earlier versions, while they are shown.
    `exploration` is what was searched last, whatever the notebook is by now. `address` is the page's; None leaves the browser's address
    as it is: a link, which carries the notebook itself.
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
    draft_of: Notebook | None = None
    comparison: Comparison | None = None
    blamed: Blamed | None = None
    file: FileStatus | None = None
    folder: str = ""
    looked_back: LookedBack | None = None
    exploration: Exploration | None = None
    address: Address | None = Address()

    @property
    def title(self) -> str:
        """What the notebook is called, as its text is now."""
        if self.notebook is None:
            return ""
        return title_of(self.notebook.document, self.named, in_file=not self.is_draft)

    @property
    def is_draft(self) -> bool:
        """Whether the notebook is in a file of the server's until it is saved somewhere."""
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
        """Whether there are edits that are nowhere but on this page, or not in the file though they should be."""
        if self.file is not None:
            return bool(self.file.apart) or self.file.standing.status in ("failed", "asking")
        return self.notebook is not None and self.notebook.document.text != self.saved

    @property
    def loses_work(self) -> bool:
        """Whether leaving the notebook would lose something that a person did here."""
        if self.file is not None:
            standing = self.file.standing
            return bool(self.file.apart) or not (standing.durable or standing.status in ("saving", "new"))
        return self.unsaved and bool(self.past or self.future)

    @property
    def durable(self) -> bool:
        """Whether the disk has what is shown: the text in its file or in its history, and what is being typed."""
        return self.file is not None and self.file.standing.durable

    @property
    def revision(self) -> int:
        """A number that is another one for each text; 0 where no notebook is open."""
        return 0 if self.notebook is None else revision_of(self.notebook)

    @property
    def moment(self) -> Moment | None:
        """The schedule and names that the picture is of."""
        if self.shown is None:
            return None
        return self.shown.states[self.step_count]

    @property
    def step_count(self) -> int:
        """How many schedule lines the picture has applied."""
        if self.shown is None:
            return 0
        last = len(self.shown.states) - 1
        return last if self.chosen_step is None else min(self.chosen_step, last)

    @property
    def before(self) -> Moment | None:
        """The last moment with another program than the picture's: what a change is measured against."""
        if self.shown is None or self.moment is None:
            return None
        func = self.moment.schedule.func
        for moment in reversed(self.shown.states[: self.step_count]):
            if moment.schedule.func is not func:
                return moment
        return None

    @property
    def looks_back(self) -> bool:
        """Whether the picture is of an earlier step than the last."""
        return self.shown is not None and self.step_count < len(self.shown.states) - 1
