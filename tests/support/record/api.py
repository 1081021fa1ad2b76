"""Writes docs/api.md from the JSON schema of the messages, the parts of the state and the handlers. Run it when a test reports that
the page is out of date:

PYTHONPATH=tests python -m support.record.api
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tilewright.app.limits import LIMITS
from tilewright.app.protocol.messages import REQUESTS, schema
from tilewright.app.server.api import ROUTES
from tilewright.app.views.shell.state_json import PARTS, USUAL

Schema = dict[str, Any]

PAGE = Path(__file__).parents[3] / "docs" / "api.md"

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
curl -H "$auth" "$URL/api/sessions/KEY/targets?row=A_local.vtcm&predict=1&wait=10"
curl -H "$auth" -H "$json" "$URL/api/sessions/KEY?parts=steps,report,problems&wait=30" \\
     -d '{"kind": "call", "method": "compute_at", "target": "A_local.vtcm", "arguments": {"loop": "ko"}}'
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
- A message is answered once its text is durable; save, save_as and new_file once the file holds the text. **507** where it was done and the
  disk refuses the text: the answer has the state and `error`, with a code as `no-space`, `read-only`, `no-folder`, `disk-error`, `gone`,
  `no-history`, or `history-busy` while another process holds the history. After save, `durable` may be true all the same: the history has
  the text.
- Where another page or program changed the same lines of the file, nothing is written until somebody decides: the part `file` shows the
  clash, and the message `resolve` answers it. `save` is refused with `two-versions` until then.
- **202** in place of 200: the parts in `pending` are null, because they are worked out at this moment. Ask again, or with `wait`: seconds
  that the request may take until they are known (at most WAIT).
- `since=VERSION` with `wait`: the answer comes when there is news, so that a program can follow a person.
- **409**, a refusal: `{"error": {"code", "message", "found", "expected", "fix", "repair", "place"}}`. Everything is as it was, and a
  page shows nothing of it. `fix` are calls that do something like it; `repair` are calls that, made first, make it legal: send the call
  again as `repair`.
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
    return HEAD + _addresses() + rules + _parts() + _messages()


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


def _messages() -> str:
    lines = [
        "## Messages",
        "",
        'The body of a POST to a session: `{"kind": KIND, …fields}`. A page sends the same messages. `GET /api/schema` has their JSON',
        "schema. Rows are given by their ids (part `rows`), schedule lines by their `item` (part `steps`), cells by their index (part",
        "`cells`). Each message may have `base`, the `revision` of the text that it is about: if others changed the text since, typed text",
        "is merged, and any other message is refused with `changed-meanwhile`.",
        "",
    ]
    defined = schema()["$defs"]
    for kind, message in REQUESTS.items():
        lines += _message(kind, defined[message.__name__], defined)
    return "\n".join(lines)


def _message(kind: str, message: Schema, defined: Schema) -> list[str]:
    lines = [f"### {kind}", "", _flowing(message["description"]), ""]
    for name, field in message["properties"].items():
        if name not in ("kind", "base"):
            default = "" if "default" not in field else f", `{json.dumps(field['default'])}` where it is left out"
            lines.append(f"- `{name}`: {_type(field, defined)}{default}")
    return [*lines, ""] if lines[-1] else lines


def _type(field: Schema, defined: Schema) -> str:
    """A type of the JSON schema in words."""
    if "anyOf" in field:
        return " or ".join(_type(one, defined) for one in field["anyOf"])
    if "enum" in field:
        return " or ".join(f'"{value}"' for value in field["enum"])
    if "$ref" in field:
        referred = defined[field["$ref"].rpartition("/")[2]]
        if "kind" in referred["properties"]:
            return f"a message {referred['properties']['kind']['enum'][0]}"
        return "{" + ", ".join(f"{name}: {_type(one, defined)}" for name, one in referred["properties"].items()) + "}"
    if field.get("type") == "array":
        return f"list of {_type(field['items'], defined)}"
    names = {"string": "text", "boolean": "true or false"}
    return names.get(field.get("type", "anything"), field.get("type", "anything"))


def _flowing(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")
    print(f"{PAGE.name} is written")
