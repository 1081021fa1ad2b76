"""Intents as JSON: the requests of programs to a session, with the names and fields of `actions`, and row ids in place of handles.

The table of forms is derived from the intents' types. Intents with fields that are not JSON have a handwritten form here; the tag `intent`
is the name.
"""

from __future__ import annotations

import inspect
from typing import Any, Literal, Union

import msgspec
from msgspec.structs import FieldInfo, fields

from ..actions.opening import OpenText
from ..actions.table import INTENTS, ApplyFix, Call, Calls, Rename, Repair, Saved, Say
from ..actions.text_edits import KeepTyped
from ..state.comparison import Compare
from ..state.intents import Intent
from ..state.model import State
from .messages import call_of, handle_in

INNER = (Say, Saved, KeepTyped)
"""Intents for internal use by the server."""


class Form(msgspec.Struct, frozen=True, tag_field="intent", forbid_unknown_fields=True):
    """The JSON form of an intent."""


class CallForm(Form, frozen=True, tag="Call"):
    """Append a schedule call, as a row's menu sends it, to the notebook.

    `target` is the id of a row of the tree, `arguments` are the primitive's other arguments by name; a loop is given by the id of its
    row: {"intent": "Call", "method": "compute_at", "target": "A_local.vtcm", "arguments": {"loop": "ko"}}. With `arguments`
    {"loops": [...]} (reorder, fuse), the list contains the rows, and `target` is ignored.
    """

    method: str
    target: str = ""
    arguments: dict[str, Any] = {}


class CallsForm(Form, frozen=True, tag="Calls"):
    """Append several calls as one edit: all of them or none."""

    calls: list[CallForm]


class RepairForm(Form, frozen=True, tag="Repair"):
    """Append a call that is refused now, after the calls that make it legal (`repair` of its refusal): all of them or none."""

    call: CallForm


class RenameForm(Form, frozen=True, tag="Rename"):
    """Rename a loop or a block (by the id of its row) everywhere in the notebook's text."""

    row: str
    name: str


class ApplyFixForm(Form, frozen=True, tag="ApplyFix"):
    """Append calls as Python text with the notebook's variables, as in a problem's `fixes`: all of them or none. With `replaces`, they
    replace that call: {"intent": "ApplyFix", "calls": ["sch.compute_at(AL, ko)"]}."""

    calls: list[str]
    replaces: str = ""


class OpenTextForm(Form, frozen=True, tag="OpenText"):
    """Open a notebook, a TVMScript program or a post from its text, without running it. `title` is for a text without a heading."""

    text: str
    title: str = ""


class CompareForm(Form, frozen=True, tag="Compare"):
    """Compare two programs: "now", "step:N", "opened", "branch:NAME", "example:NAME"."""

    a: str
    b: str


class OpenForm(Form, frozen=True, tag="Open"):
    """Open an example, or a notebook of the served folder, by its name in GET /api/notebooks."""

    name: str


class SaveForm(Form, frozen=True, tag="Save"):
    """Save the notebook to the file that it was opened from."""


class SaveAsForm(Form, frozen=True, tag="SaveAs"):
    """Save the notebook to a file `name` in the served folder and continue with that file; `replacing` allows an existing file."""

    name: str
    replacing: bool = False


class NewFileForm(Form, frozen=True, tag="NewFile"):
    """Create a notebook in a file `name` of the served folder."""

    name: str


class ResolveForm(Form, frozen=True, tag="Resolve"):
    """Resolve a conflict with another writer of the file (`clash` in the part `file`): one choice per conflicting place. With the
    conflict's `id`, the answer is refused if the conflict has changed."""

    choices: list[Literal["ours", "theirs", "both"]]
    id: str = ""


_FILES = (OpenForm, SaveForm, SaveAsForm, NewFileForm, ResolveForm)

_OWN: dict[type[Intent], type[Form]] = {
    Call: CallForm,
    Calls: CallsForm,
    Repair: RepairForm,
    Rename: RenameForm,
    ApplyFix: ApplyFixForm,
    OpenText: OpenTextForm,
    Compare: CompareForm,
}


def _plain(intent: type[Intent]) -> type[Form]:
    """The derived form of an intent whose fields are all JSON."""
    kept: list[Any] = [(f.encode_name, f.type, *_default(f)) for f in fields(intent)]
    space = {"__doc__": intent.__doc__ or f"{intent.__name__}."}
    made: Any = msgspec.defstruct(
        intent.__name__,
        kept,
        bases=(Form,),
        namespace=space,
        module=__name__,
        frozen=True,
        tag=intent.__name__,
        forbid_unknown_fields=True,
    )
    return made


def _default(field: FieldInfo) -> tuple[Any, ...]:
    if field.required:
        return ()
    made = field.default_factory
    return (field.default,) if made is msgspec.NODEFAULT else (msgspec.field(default_factory=made),)


def _is_json(intent: type[Intent]) -> bool:
    """Whether all fields of the intent are JSON."""
    try:
        msgspec.json.Decoder(intent)
    except TypeError:
        return False
    return True


_PLAIN = {i.__name__: i for i in INTENTS if i not in _OWN and i not in INNER and _is_json(i)}

UNTOLD = tuple(i for i in INTENTS if i not in _OWN and i.__name__ not in _PLAIN)
"""Intents without a form; a test lists them by name, so that no new intent is omitted by mistake."""

FORMS: dict[str, type[Form]] = {
    **{str(form.__struct_config__.tag): form for form in (*_OWN.values(), *_FILES)},
    **{name: _plain(intent) for name, intent in _PLAIN.items()},
}
"""All forms by name."""

_ANY = Union[tuple(FORMS.values())]  # noqa: UP007 - of a table
_DECODER = msgspec.json.Decoder(_ANY)


def read_form(body: bytes) -> Form:
    """Decode the form in a request's body. Raises msgspec.ValidationError or DecodeError with the location of the error."""
    return _DECODER.decode(body)


def intent_from(form: Form, state: State) -> Intent:
    """The intent of a form in this state. Raises TilewrightError for rows that no longer exist; KeyError, TypeError or ValueError for wrong
    arguments."""
    match form:
        case CallForm():
            return _call(form, state)
        case CallsForm():
            return Calls(tuple(_call(call, state) for call in form.calls))
        case RepairForm():
            return Repair(_call(form.call, state))
        case RenameForm():
            return Rename(handle_in(state, form.row), form.name)
        case ApplyFixForm():
            return ApplyFix(tuple(form.calls), form.replaces)
        case OpenTextForm():
            return OpenText(form.text, form.title)
        case _:
            intent = _PLAIN[type(form).__name__]
            return intent(**{f.name: getattr(form, f.encode_name) for f in fields(intent)})


def _call(form: CallForm, state: State) -> Call:
    return call_of({"kind": "call", "method": form.method, "target": form.target, "arguments": form.arguments}, state)


def schema() -> dict[str, Any]:
    """The JSON schema of all requests."""
    return msgspec.json.schema(_ANY)


def described(form: type[Form]) -> tuple[str, list[FieldInfo]]:
    """The docstring and the fields of a form."""
    return inspect.cleandoc(form.__doc__ or ""), list(fields(form))


__all__ = [
    "FORMS",
    "CallForm",
    "CompareForm",
    "Form",
    "NewFileForm",
    "OpenForm",
    "OpenTextForm",
    "ResolveForm",
    "SaveAsForm",
    "SaveForm",
    "described",
    "intent_from",
    "read_form",
    "schema",
]
