"""Opening a text: a notebook as it is, a program or a post converted to a notebook."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Annotated

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from ...engine.adopt import MissingValuesError, Need
from ...engine.ir import PrimFunc, Refusal, TilewrightError
from ...engine.script import Note, Parsed, parse
from ..document import DEFAULT_MACHINE, Converted, DocumentError, Notebook, converted, evaluate, read_document
from ..document.machine import target_of
from ..document.pasted import path_beside, plain_notebook
from ..document.posts import labels_of
from ..state.addresses import NEW_DRAFT, Address, model_address
from ..state.intents import ACTIONS, Intent, Message
from ..state.model import Pane, ProgramChoice, State, ValueField, notice_of
from ..state.open_model import with_notebook
from .cell_actions import checked_text, edited
from .related import related_pages

Values = Annotated[
    dict[Annotated[str, Meta(max_length=200)], Annotated[str, Meta(max_length=2_000)]], Meta(max_length=100)
]
_INTEGER = re.compile(r"-?\d{1,18}")


class OpenText(Message, frozen=True, tag="open_text"):
    """Open a notebook, a TVMScript program or a post from its text, without running it. `title` is for a text without a heading. A
    text that is `linked` came with the page's address, which stays; any other text becomes a draft. `program` is the number of the program
    in a text with several (0: the first), and `values` are those of the parameters of functions that make it, by name."""

    keeps_draft = needs_page = True

    text: str
    title: str = ""
    linked: bool = False
    program: Annotated[int, Meta(ge=0, le=1000)] = 0
    values: Values = msgspec.field(default_factory=dict)


class OpenProgram(Message, frozen=True, tag="open_program"):
    """Open another program of the text that was opened; `number` counts from 1. `values` are those of `open_text`. Raises DocumentError
    "no-such-program"."""

    keeps_draft = needs_page = True

    number: int
    values: Values = msgspec.field(default_factory=dict)


class OpenDocument(Intent, frozen=True):
    """Show a notebook or a program at its place: `path` is its file, `read` its evaluated notebook, if available, `address` the page's
    new address, `program` the number of the program in a text with several (0: the first), and `values` those of its parameters. The page
    asks for what is missing to open a `listed` file of the start screen, by its name, or the text of the files in the folder `beside`,
    which also has `models`."""

    keeps_draft = True

    text: str
    title: str = ""
    path: str | None = None
    read: Notebook | None = None
    address: Address | None = NEW_DRAFT
    program: int = 0
    values: Values = msgspec.field(default_factory=dict)
    listed: str = ""
    beside: str = ""
    models: tuple[str, ...] = ()


class ShowModel(Message, frozen=True, tag="model"):
    """Return from a kernel to its model, whose figures have the kernel's schedule then."""


class OpenNotebook(Intent, frozen=True, eq=False):
    """Show a notebook from elsewhere. If it has the schedule of the open notebook, with more or fewer steps, it is an edit of it."""

    is_quick = keeps_draft = True

    notebook: Notebook
    title: str = ""


@ACTIONS(OpenNotebook)
def notebook_opened(state: State, intent: OpenNotebook) -> State:
    """The state of a page that shows the notebook."""
    made, shown = intent.notebook.schedule, state.notebook.schedule if state.notebook is not None else None
    if made is not None and shown is not None and made.original is shown.original:
        return edited(state, intent.notebook)
    text = intent.notebook.document.text
    pane = first_pane(state, intent.notebook)
    return State(intent.notebook, intent.notebook, theme=state.theme, pane=pane, named=intent.title, saved=text)


@ACTIONS(ShowModel)
def model_shown(state: State, _: ShowModel) -> State:
    """The state of the model's page, with the visible notebook as that of its kernel. Raises DocumentError "no-model"."""
    model, notebook = state.model, state.notebook
    if model is None:
        raise DocumentError(Refusal("no-model", "the notebook is not a kernel of an open model"))
    if notebook is not None:
        known = model.called(state.kernel).notebook.document.path
        if known in (None, notebook.document.path) or state.is_draft:
            model = with_notebook(model, state.kernel, notebook)
    return State(
        theme=state.theme, pane=state.pane, folder=state.folder, model=model, address=model_address(model.name)
    )


@ACTIONS(OpenText)
def _text_opened(state: State, intent: OpenText) -> State:
    address = None if intent.linked else NEW_DRAFT
    return _opened_or_asked(
        state, OpenDocument(intent.text, intent.title, None, None, address, intent.program, intent.values)
    )


@ACTIONS(OpenProgram)
def _program_opened(state: State, intent: OpenProgram) -> State:
    if state.post is None or not 1 <= intent.number <= len(state.post.labels):
        raise DocumentError(Refusal("no-such-program", f"the opened text has no program {intent.number}"))
    return _opened_or_asked(
        state, OpenDocument(state.post.text, state.named, program=intent.number, values=intent.values)
    )


def _opened_or_asked(state: State, intent: OpenDocument) -> State:
    """The state of a page that opened the text; if it needs values or has several programs, with a notice that asks for them."""
    try:
        return opened(state, intent)
    except TilewrightError as error:
        needs = error.needs if isinstance(error, MissingValuesError) else ()
        text = intent.text.lstrip("\ufeff")
        labels = labels_of(text, intent.path or "", _home_of(intent)) if needs or not intent.program else ()
        labels = (*labels, *intent.models) if labels else ()
        if not needs and len(labels) < 2:
            raise
        choice = ProgramChoice(labels, intent.program or 1, _fields(needs), intent.listed)
        return replace(state, notice=replace(notice_of(error.refusal), choice=choice))


def asking_which(state: State, labels: tuple[str, ...]) -> State:
    """The state with a notice that asks which of several programs and models to open."""
    refusal = Refusal("several-programs", f"the files have {len(labels)} programs and models: choose one")
    return replace(state, notice=replace(notice_of(refusal), choice=ProgramChoice(labels, 0)))


def asking_for_sizes(state: State, error: MissingValuesError, listed: str = "", number: int = 1) -> State:
    """The state with a notice that asks for the sizes that a model leaves open; `number` is that of the model in a list."""
    choice = ProgramChoice((), number, _fields(error.needs), listed, is_model=True)
    return replace(state, notice=replace(notice_of(error.refusal), choice=choice))


def _fields(needs: tuple[Need, ...]) -> tuple[ValueField, ...]:
    return tuple(ValueField(need.name, need.kind, need.example, need.options) for need in needs)


@ACTIONS(OpenDocument)
def _document_opened(state: State, intent: OpenDocument) -> State:
    return _opened_or_asked(state, intent) if intent.listed or intent.beside else opened(state, intent)


def _home_of(intent: OpenDocument) -> Path | None:
    home = intent.path or intent.beside
    return Path(home).absolute() if home else None


def opened(state: State, intent: OpenDocument) -> State:
    """The state of a page that has just opened the text. Raises TilewrightError if the text contains no program."""
    read = read_document(checked_text(intent.text), intent.path)
    values = {name: int(value) if _INTEGER.fullmatch(value) else value for name, value in intent.values.items()}
    made = converted(read, DEFAULT_MACHINE, values, intent.program, home=_home_of(intent))
    document = made.document
    if all(cell.kind == "preamble" for cell in document.cells):
        path = intent.path and path_beside(
            intent.path
        )  # the program's file stays unchanged: its notebook has a separate file
        document = read_document(
            as_notebook(intent.text, target_of(intent.text)[1] or DEFAULT_MACHINE, parsed=made.plain), path
        )
    known = intent.read is not None and intent.read.document.text == document.text
    notebook = intent.read if known and intent.read is not None else evaluate(document, parsed=made.plain)
    if notebook.schedule is None:
        raise notebook.error or DocumentError(Refusal("no-workload", "the text contains no program"))
    return State(
        notebook=notebook,
        shown=notebook,
        named=_stem(made.post.file) if made.post is not None and made.post.file else intent.title,
        theme=state.theme,
        pane=first_pane(state, notebook),
        saved=intent.text if intent.path is not None and document.path == intent.path else document.text,
        notes=notes_of(made),
        post=made.post,
        related=related_pages(document) if intent.path is None and document is not read else (),
        address=intent.address,
    )


def _stem(name: str) -> str:
    """The title of a program from a file of this name; "" if a text around the program may have a better one."""
    return PurePosixPath(name).stem if name.endswith(".py") else ""


def first_pane(state: State, notebook: Notebook) -> Pane:
    """The pane of a notebook that has just been opened: a program without a schedule begins with the next step."""
    changes = (step.call is not None and not step.call.method.startswith("get_") for step in notebook.steps)
    return state.pane if any(changes) else "next"


def opened_text(text: str, title: str) -> tuple[str, Notebook]:
    """The title and notebook of a text as if it were opened; without `title`, the notebook's title. Raises the errors of `opened`."""
    state = opened(State(), OpenDocument(text, title))
    assert state.notebook is not None
    return title or state.title, state.notebook


def notes_of(made: Converted) -> tuple[Note, ...]:
    """The notes on a converted text, including the line at which its schedule stops."""
    stopped = made.stopped
    if stopped is None or stopped.refusal.place is None:
        return made.notes
    refusal = stopped.refusal
    text = f"the schedule was converted up to this line: {refusal.message}; the rest is in comments"
    return (*made.notes, Note(text, stopped.refusal.place))


def as_notebook(text: str, machine: str = DEFAULT_MACHINE, *, parsed: Parsed | None = None) -> str:
    """A plain TVMScript program as the cells of a notebook; `parsed` is the parsed text, if known. Raises ParseError with the program's
    line numbers."""
    text = text.lstrip("\ufeff")
    program = (parsed or parse(text)).program
    name = program.name if isinstance(program, PrimFunc) else _module_name(text)
    return plain_notebook(text, name, machine)


def _module_name(text: str) -> str:
    found = re.search(r"^class\s+(\w+)", text, re.MULTILINE)
    return found[1] if found else "Module"
