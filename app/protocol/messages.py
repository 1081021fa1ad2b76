"""The messages of all clients: pages, Jupyter widgets and HTTP requests. `Message` is one union with the tag `kind`; `decode` and
`decode_request` are the only places where input becomes typed values.

The intents of `actions` with JSON fields are messages. The others, which concern a session as a whole, are defined here. The JSON schema of
the union makes docs/api.md and the types for JavaScript.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Union

import msgspec

from ...engine.ir import Refusal
from ..actions import (  # noqa: F401 - messages
    cell_actions,
    exploring,
    machine_actions,
    model_search,
    opening,
    table,
    text_edits,
)
from ..actions.calls import CallOnRow
from ..actions.drops import ReviseOnRow
from ..document import DocumentError
from ..state import comparison  # noqa: F401 - messages
from ..state.intents import Message, PageMessage, Query, Texts, Whole, kinds_of

# Opening notebooks and models.


class Open(Message, frozen=True, tag="open"):
    """Open an example, or a file of the served folder, by its name in GET /api/notebooks; `program` and `values` are those of
    `open_text`."""

    needs_page = True

    name: str
    program: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    values: opening.Values = msgspec.field(default_factory=dict)


class UploadPart(Query, frozen=True, tag="upload"):
    """A part of a file, in base64, which follows the parts before. `name` is the path of the file in the dropped folder. `upload` numbers
    the drops of a page: a new number discards the files of the one before. The answer follows the write."""

    upload: Whole
    name: str
    data: str


class OpenUpload(PageMessage, frozen=True, tag="open_upload"):
    """Open the uploaded files: a model with `values` for the sizes that it leaves open, or a program with its `values` as in `open_text`.
    A model gets a folder of notebooks in the served folder, else among the drafts."""

    keeps_draft = needs_page = True
    doing = "Reading the files"

    upload: Whole
    program: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 0
    values: opening.Values = msgspec.field(default_factory=dict)


class OpenTemplate(Message, frozen=True, tag="open_template"):
    """Open a template for a typical kernel by its name in `tilewright new --list`."""

    keeps_draft = needs_page = True

    name: str


class OpenKernel(Message, frozen=True, tag="open_kernel"):
    """Open a kernel of the open model by its name."""

    kernel: str


class OpenAsModel(Message, frozen=True, tag="open_as_model"):
    """Write the model that the opened text describes, a module with a relax function, to a new folder beside the served notebooks, and show
    it. `values` are the sizes that it leaves open."""

    needs_page = True

    values: opening.Values = msgspec.field(default_factory=dict)


class ChangeModelSizes(Message, frozen=True, tag="model_sizes"):
    """Change sizes that the open model leaves open, in its file."""

    needs_page = True
    doing = "Reading the model"

    values: opening.Values = msgspec.field(default_factory=dict)


class NameReader(PageMessage, frozen=True, tag="name_reader"):
    """The name of this page's reader, for the other pages on its file."""

    name: Annotated[str, msgspec.Meta(max_length=40)]


class RefreshModel(PageMessage, frozen=True, tag="refresh_model"):
    """Read the kernels of the open model that changed on disk."""


class GoTo(PageMessage, frozen=True, tag="go"):
    """Show the page's address: the path of a file, an example, a draft, a model or a kernel."""

    needs_page = True

    path: str


class CompareSides(Message, frozen=True, tag="compare"):
    """Compare two programs: "now", "step:N", "opened", "branch:NAME", "example:NAME". A side without a key stays as it is shown; at
    first it is the program before the last change, and now."""

    needs_page = True

    a: str | None = None
    b: str | None = None


class CompareWithText(PageMessage, frozen=True, tag="compare_text"):
    """Compare with a text, as one side."""

    needs_page = True

    side: Literal["a", "b"]
    name: str
    text: str


# Files.


class Save(Message, frozen=True, tag="save"):
    """Save the notebook to the file that it was opened from."""

    writes_file = True


class SaveAs(Message, frozen=True, tag="save_as"):
    """Save the notebook to a file `name` in the served folder and continue with that file; `replacing` allows an existing file."""

    writes_file = True

    name: str
    replacing: bool = False


class NewFile(Message, frozen=True, tag="new_file"):
    """Create a notebook in a file `name` of the served folder."""

    needs_page = writes_file = True

    name: str


class Resolve(Message, frozen=True, tag="resolve"):
    """Resolve a conflict with another writer of the file (`conflict` in the part `file`): one choice per conflicting place. With the
    conflict's `id`, the answer is refused if the conflict has changed."""

    choices: tuple[Literal["ours", "theirs", "both"], ...]
    id: str = ""


class DiscardDraft(PageMessage, frozen=True, tag="discard_draft"):
    """Delete a draft by its name; `is_model`: the folder of a model among the drafts."""

    needs_page = True

    name: str
    is_model: bool = False


class RenameDraft(PageMessage, frozen=True, tag="rename_draft"):
    """Give a draft a heading; `is_model` as in `discard_draft`."""

    needs_page = True

    name: str
    title: Annotated[str, msgspec.Meta(max_length=200)]
    is_model: bool = False


class ListDrafts(Query, frozen=True, tag="list_drafts"):
    """List all drafts on the start screen; the first page has the newest."""


class Download(PageMessage, frozen=True, tag="download"):
    """Download the notebook's text."""


class Export(PageMessage, frozen=True, tag="export"):
    """Download an export; `to` is its kind. If it leaves out what changes the cycles, the review comes first, unless it was `reviewed`."""

    to: str = "tvm"
    reviewed: bool = False


class DismissFileMessage(PageMessage, frozen=True, tag="dismiss_file_message"):
    """Remove the message about the file."""


class ShowVersions(PageMessage, frozen=True, tag="show_versions"):
    """Show the earlier versions of the file."""


class ChooseVersion(PageMessage, frozen=True, tag="version"):
    """Choose one of the shown versions by its number."""

    version: Whole


class HideVersions(PageMessage, frozen=True, tag="hide_versions"):
    """Hide the earlier versions of the file."""


# Drags and background work.


class BeginDrag(PageMessage, frozen=True, tag="begin_drag"):
    """Begin to drag `rows`; the drops near the row `near` are predicted first."""

    keeps_program = is_dragging = True

    rows: Texts
    near: str = ""


class DragOver(PageMessage, frozen=True, tag="drag_over"):
    """The pointer of a drag is over a row."""

    keeps_program = is_dragging = True

    row: str


class EndDrag(PageMessage, frozen=True, tag="end_drag"):
    """End a drag without a drop."""

    keeps_program = True


class TryCalls(PageMessage, frozen=True, tag="try_calls"):
    """Predict the effect of each of `calls`, as for an open menu or form; the answers have the `ticket`. It cancels earlier predictions;
    without calls it does only that."""

    keeps_program = True

    ticket: Whole
    calls: tuple[CallOnRow | ReviseOnRow, ...] = ()


class CancelWork(PageMessage, frozen=True, tag="cancel_work"):
    """Stop the running change, or the background work."""

    keeps_program = True


class ResumeWork(PageMessage, frozen=True, tag="resume"):
    """Repeat the change that was stopped, and resume the background work."""

    keeps_program = True


# Queries.


class FindTargets(Query, frozen=True, tag="targets"):
    """The drop targets for the blocks or loops of `rows`."""

    rows: Texts


class FindTreeAfter(Query, frozen=True, tag="tree_after"):
    """The rows of the tree that a predicted drop of `rows` on `loop` changes."""

    rows: Texts
    loop: str
    primitive: str


class FindTimelineAfter(Query, frozen=True, tag="timeline_after"):
    """The timeline after a predicted drop of `rows` on `loop`, between two cycles."""

    rows: Texts
    loop: str
    primitive: str
    start: Whole
    end: Whole


class FindMenu(Query, frozen=True, tag="menu"):
    """The menu of a row."""

    row: str


class FindWindow(Query, frozen=True, tag="window"):
    """The events of the timeline between two cycles; `folded` is the time in which each repeat occurs once."""

    ticket: Whole
    start: Whole
    end: Whole
    folded: bool


class FindPath(Query, frozen=True, tag="path"):
    """The critical path of the run between two cycles, and its parts by cause."""

    ticket: Whole
    start: Whole
    end: Whole


class FindTotals(Query, frozen=True, tag="totals"):
    """The totals of the run between two cycles: busy cycles and stalls of each engine, and bytes copied."""

    ticket: Whole
    start: Whole
    end: Whole


class FindRemedy(Query, frozen=True, tag="remedy"):
    """What would end the selected stall, as far as it is known."""


class FindTask(Query, frozen=True, tag="find"):
    """The cycle at which a task starts: its template, and the iterations of the loops around it."""

    ticket: Whole
    template: Whole
    place: tuple[Whole, ...]


class FindTrials(Query, frozen=True, tag="trials"):
    """Candidates of a search, the `first` one on."""

    search: Whole
    first: Whole = msgspec.field(name="from")


class FindWords(Query, frozen=True, tag="words"):
    """The words for completion in the editor."""


class FindPrimitives(Query, frozen=True, tag="primitives"):
    """The documentation of all primitives."""


class FindGuide(Query, frozen=True, tag="guide"):
    """The pages of the guide."""


class FindCommands(Query, frozen=True, tag="commands"):
    """The commands of the palette."""


class FindLink(Query, frozen=True, tag="link"):
    """A link that contains the notebook."""


MESSAGES: dict[str, type[Message]] = dict(sorted((str(kind.__struct_config__.tag), kind) for kind in kinds_of(Message)))
"""All messages by kind."""

REQUESTS = {kind: message for kind, message in MESSAGES.items() if not issubclass(message, PageMessage)}
"""The messages that HTTP accepts."""

_ANY = Union[tuple(MESSAGES.values())]  # noqa: UP007 - of a table
_REQUEST = msgspec.json.Decoder(Union[tuple(REQUESTS.values())])  # noqa: UP007


def decode(data: object) -> Message:
    """The message of a view's JSON value. Raises DocumentError "bad-message" with the wrong field."""
    try:
        return msgspec.convert(data, _ANY, strict=False)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise DocumentError(_refusal(data, str(error))) from error


def decode_request(body: bytes) -> Message:
    """The message in the body of an HTTP request. Raises msgspec.ValidationError or DecodeError with the location of the error."""
    return _REQUEST.decode(body)


def schema() -> dict[str, object]:
    """The JSON schema of all requests."""
    return msgspec.json.schema(Union[tuple(REQUESTS.values())])  # noqa: UP007


def _refusal(data: object, why: str) -> Refusal:
    fields: Mapping[str, object] = data if isinstance(data, dict) else {}
    name = _short(fields.get("kind"))
    place = re.search(r"at `\$\.(\w+)", why)
    if place is not None:
        found, what = _short(fields.get(place[1])), f"the message {name} has an invalid field {place[1]!r}"
        return Refusal("bad-message", what, found, why[:400])
    missing, unknown = re.search(r"missing required field `(\w+)`", why), re.search(r"unknown field `(.*)`", why)
    if missing is not None:
        return Refusal("bad-message", f"the message {name} has no {missing[1]!r}", expected=f"a field {missing[1]!r}")
    if unknown is not None:
        return Refusal("bad-message", f"the message {name} has no field {unknown[1][:80]!r}")
    return Refusal("bad-message", "a message is a JSON object", _short(data), why[:400])


def _short(value: object) -> str:
    try:
        return repr(value)[:80]
    except (ValueError, RecursionError):  # an integer of thousands of digits, a list nested deeply
        return type(value).__name__
