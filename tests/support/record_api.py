"""Writes docs/api.md anew, out of the intents' types and docstrings, the parts of the state and the handlers. Run it when a test says
that it is out of date:

PYTHONPATH=tests python -m support.record_api
"""

from __future__ import annotations

import re
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import msgspec

from tilewright.app.limits import LIMITS
from tilewright.app.protocol.requests import FORMS, Form, described
from tilewright.app.server.api import ROUTES
from tilewright.app.views.shell.state_json import PARTS, USUAL

PAGE = Path(__file__).parents[2] / "docs" / "api.md"

HEAD = """\
# The action API

What the screen does, over HTTP and JSON on the server of the screen, so that an editor or a program can do it. A session is a page that
somebody has open, or one that the API opened. This page is made of the code and held true by a test.

## The first minute

`tilewright serve` writes address and token down for programs of the same user: `server-PID.json` in `$TILEWRIGHT_RUNTIME_DIR`, else in
`tilewright` below `$XDG_RUNTIME_DIR`, else in `tilewright-UID` of the folder for temporary files. With `--token` (or
`TILEWRIGHT_TOKEN`) the token is that one. Every request shows it.

```
auth="Authorization: Bearer $TOKEN"; json="Content-Type: application/json"
curl -H "$auth" $URL/api/notebooks
curl -H "$auth" -H "$json" $URL/api/sessions -d '{"name": "place_the_copies"}'
curl -H "$auth" "$URL/api/sessions/KEY/targets?row=A_local.vtcm&forecast=1&wait=10"
curl -H "$auth" -H "$json" "$URL/api/sessions/KEY?parts=steps,report,problems&wait=30" \\
     -d '{"intent": "Call", "method": "compute_at", "target": "A_local.vtcm", "arguments": {"loop": "ko"}}'
```

The last one writes `sch.compute_at(AL, ko)` into the notebook and waits for the report. In a session with a page the person there sees it
at once; in one of a file it goes into the file, as an edit on the screen does.

"""

RULES = """\

## Answers

- About a session: `{"session", "version", "page", "revision", "durable", "pending": [...], "state": {part: value}}`. `version` is
  another one after each change of what its screen shows, `revision` for each text of the notebook. `durable`: the disk has that text (and
  what is being typed), in the notebook's file or in its history, so that neither a kill nor a power cut loses it. It is false
  before the first edit of a notebook that was not opened from a file.
- An intent is answered once its text is durable; Save, SaveAs and NewFile once the file holds the text. **507** where it was done and the
  disk refuses the text: the answer has the state and `error`, with a code as `no-space`, `read-only`, `no-folder`, `disk-error`, `gone` or
  `no-history`. After Save, `durable` may be true all the same: the history has the text.
- Where another page or program changed the same lines of the file, nothing is written until somebody decides: the part `file` shows the
  clash, and the intent `Resolve` answers it. Save is refused with `two-versions` until then.
- **202** in place of 200: the parts in `pending` are null, because they are worked out at this moment. Ask again, or with `wait`: seconds
  that the request may take until they are known (at most WAIT).
- `since=VERSION` with `wait`: the answer comes when there is news, so that a program can follow a person.
- **409**, a refusal: `{"error": {"code", "message", "found", "expected", "fix", "repair", "place"}}`. Everything is as it was, and a
  page shows nothing of it. `fix` are calls that do something like it; `repair` are calls that, made first, make it legal: send the call
  again as `Repair`.
- **400** what cannot be read, with the place in it; **401** no token; **403** another site's page, or a host name that the server does
  not go by; **404**, **405**, **413** too large, **415** the body is not said to be JSON, **429** too many sessions (SESSIONS that the
  API opened; a session ends half an hour after its last request).

Requests of one session are done one after the other, behind what a person at its page has begun. While a change is being worked
out `pending` of the others' answers names `change`: what they tell is from before it. One that takes longer than 60 s is answered
by `no-answer` and may still come; one that the person stops is refused as `given-up`. A body has at most BODY MiB;
[security.md](security.md) has the other limits.

"""


def api_page() -> str:
    rules = RULES.replace("WAIT", f"{LIMITS.wait_seconds:g}").replace("SESSIONS", str(LIMITS.api_sessions))
    rules = rules.replace("BODY", str(LIMITS.request_bytes >> 20))
    return HEAD + _addresses() + rules + _parts() + _intents()


def _addresses() -> str:
    rows = ["## Addresses", ""]
    for address, handler in ROUTES:
        rows.append(f"**`{address}`**\n")
        for method in ("get", "post", "delete"):
            found = handler.__dict__.get(method)
            if found is not None:
                rows.append(f"- {method.upper()}: {_flowing(found.__doc__ or '')}")
        rows.append("")
    return "\n".join(rows)


def _parts() -> str:
    usual = f"`parts=a,b`; {', '.join(USUAL)} where none is named."
    lines = ["## Parts of the state", "", usual, "", "| part | what it holds |", "|---|---|"]
    lines += [f"| `{name}` | {_flowing(part.__doc__ or '')} |" for name, part in PARTS.items()]
    return "\n".join(lines) + "\n\n"


def _intents() -> str:
    lines = [
        "## Intents",
        "",
        'The body of a POST to a session: `{"intent": NAME, …fields}`. `GET /api/schema` has all of it as a JSON schema. Rows are meant by',
        "their ids (part `rows`), schedule lines by their `item` (part `steps`), cells by their index (part `cells`).",
        "",
    ]
    for name, form in FORMS.items():
        lines += _form(name, form)
    return "\n".join(lines)


def _form(name: str, form: type[Form]) -> list[str]:
    words, found = described(form)
    told = [f"### {name}", "", _flowing(words)]
    for field in found:
        default = "" if field.required else f", {_default(field)} where it is left out"
        told.append(f"{'' if field is not found[0] else chr(10)}- `{field.encode_name}`: {_type(field.type)}{default}")
    return [*told, ""]


def _default(field: Any) -> str:
    value = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return f"`{msgspec.json.encode(value).decode()}`"


def _type(kind: Any) -> str:
    """A type in words."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return " or ".join(f'"{value}"' for value in inner)
    if origin in (Union, UnionType):
        return " or ".join(_type(one) for one in inner)
    if origin in (list, tuple):
        return f"list of {_type(inner[0])}"
    if origin is dict:
        return "object"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        own = FORMS.get(kind.__name__.removesuffix("Form"))
        if own is kind:
            return f"a {kind.__name__.removesuffix('Form')}"
        return "{" + ", ".join(f"{f.encode_name}: {_type(f.type)}" for f in msgspec.structs.fields(kind)) + "}"
    names = {str: "text", int: "integer", float: "number", bool: "true or false", NoneType: "null", Any: "anything"}
    if kind not in names and inner:
        return _type(inner[0])
    return names.get(kind, str(getattr(kind, "__origin__", kind)))


def _flowing(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")
    print(f"{PAGE.name} is written")
