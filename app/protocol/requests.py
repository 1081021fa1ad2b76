"""Intents as JSON: what a program may ask of a session, by the names and fields of `actions`, with ids of rows where these have handles.

The table of forms is made of the intents' types. Those whose fields are not JSON have a form of their own here; `kind` is the name.
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
"""Intents that the server has for itself."""


class Form(msgspec.Struct, frozen=True, tag_field="intent", forbid_unknown_fields=True):
    """What is sent for an intent."""


class CallForm(Form, frozen=True, tag="Call"):
    """A schedule call as the menu of a row sends it, written as the notebook's next line.

    `target` is the id of a row of the tree, `arguments` are the primitive's other arguments by name; those that name a loop
    take the id of its row: {"intent": "Call", "method": "compute_at", "target": "A_local.vtcm", "arguments": {"loop": "ko"}}. With
    `arguments` {"loops": [...]} (reorder, fuse) the rows stand there, and `target` is not looked at.
    """

    method: str
    target: str = ""
    arguments: dict[str, Any] = {}


class CallsForm(Form, frozen=True, tag="Calls"):
    """Several calls as one move: all of them or none."""

    calls: list[CallForm]


class RepairForm(Form, frozen=True, tag="Repair"):
    """A call that is refused as things stand, after the calls that make it legal (`repair` of its refusal): all of them or none."""

    call: CallForm


class RenameForm(Form, frozen=True, tag="Rename"):
    """Another name for a loop or a block (by the id of its row), wherever the notebook's text says it."""

    row: str
    name: str


class ApplyFixForm(Form, frozen=True, tag="ApplyFix"):
    """Add calls as Python text in the notebook's variables, as a problem's `fixes` have them: all of them or none. With `replaces`, in
    place of that call: {"intent": "ApplyFix", "calls": ["sch.compute_at(AL, ko)"]}."""

    calls: list[str]
    replaces: str = ""


class OpenTextForm(Form, frozen=True, tag="OpenText"):
    """Show a notebook, a TVMScript program or a post from its text; nothing of it is run. `title` is for one without a heading."""

    text: str
    title: str = ""


class CompareForm(Form, frozen=True, tag="Compare"):
    """Show two sides beside each other: "now", "step:N", "opened", "branch:NAME", "example:NAME"."""

    a: str
    b: str


class OpenForm(Form, frozen=True, tag="Open"):
    """Show an example, or a notebook of the served folder, by its name in GET /api/notebooks."""

    name: str


class SaveForm(Form, frozen=True, tag="Save"):
    """Write the notebook to the file that it was opened from."""


class SaveAsForm(Form, frozen=True, tag="SaveAs"):
    """Write the notebook to a file `name` in the served folder, and go on with that; over one that is there only when `replacing`."""

    name: str
    replacing: bool = False


class NewFileForm(Form, frozen=True, tag="NewFile"):
    """Begin a notebook in a file `name` of the served folder."""

    name: str


class ResolveForm(Form, frozen=True, tag="Resolve"):
    """Answer a clash with another writer of the file (`clash` in the part `file`): one choice for each of its places. With the clash's `id`
    the answer is refused where it is another clash by now."""

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
    """The form of an intent whose fields are JSON as they stand."""
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
    """Whether its fields are JSON as they stand."""
    try:
        msgspec.json.Decoder(intent)
    except TypeError:
        return False
    return True


_PLAIN = {i.__name__: i for i in INTENTS if i not in _OWN and i not in INNER and _is_json(i)}

UNTOLD = tuple(i for i in INTENTS if i not in _OWN and i.__name__ not in _PLAIN)
"""All that is not offered; a test knows them by name, so that an intent of another make is not forgotten."""

FORMS: dict[str, type[Form]] = {
    **{str(form.__struct_config__.tag): form for form in (*_OWN.values(), *_FILES)},
    **{name: _plain(intent) for name, intent in _PLAIN.items()},
}
"""All forms by their names."""

_ANY = Union[tuple(FORMS.values())]  # noqa: UP007 - of a table
_DECODER = msgspec.json.Decoder(_ANY)


def read_form(body: bytes) -> Form:
    """The form that a request holds. Raises msgspec.ValidationError or DecodeError with the place of what is wrong."""
    return _DECODER.decode(body)


def intent_from(form: Form, state: State) -> Intent:
    """The intent that a form stands for in this state. Raises TilewrightError for rows that are gone, KeyError, TypeError and ValueError
    for arguments of another make."""
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
    """The JSON schema of what may be sent."""
    return msgspec.json.schema(_ANY)


def described(form: type[Form]) -> tuple[str, list[FieldInfo]]:
    """The words and the fields of a form."""
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
