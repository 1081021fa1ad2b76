"""Writes static/components/messages.d.ts: the messages that components send, as TypeScript types, from their JSON schema. Run it
when a test reports that the file is out of date:

PYTHONPATH=tests python -m support.record.messages
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tilewright.app.protocol.messages import MESSAGES, message_schema

TYPES = Path(__file__).parents[3] / "static" / "components" / "messages.d.ts"

HEAD = """\
// The messages that components send, made of app/protocol by tests/support/record/messages.py.

export type Message =
"""

Schema = dict[str, Any]


def message_types() -> str:
    """The text of the file."""
    defined = message_schema()["$defs"]
    names = [message.__name__ for message in MESSAGES.values()]
    others = sorted(defined.keys() - set(names))
    union = "\n".join(f"  | {name}" for name in names)
    return "\n".join([f"{HEAD}{union};", "", *(_interface(name, defined[name]) for name in (*names, *others))])


def _interface(name: str, schema: Schema) -> str:
    required = schema.get("required", [])
    lines = [f"/** {_flowing(schema.get('description', name))} */", f"export interface {name} {{"]
    for field, of in schema["properties"].items():
        lines.append(f"  {field}{'' if field in required else '?'}: {_type(of)};")
    return "\n".join([*lines, "}", ""])


def _type(field: Schema) -> str:
    """A type of the JSON schema in TypeScript."""
    if "anyOf" in field:
        return " | ".join(dict.fromkeys(map(_type, field["anyOf"])))
    if "enum" in field:
        return " | ".join(map(json.dumps, field["enum"]))
    if "$ref" in field:
        return field["$ref"].rpartition("/")[2]
    match field.get("type"):
        case "array":
            inner = _type(field["items"])
            return f"({inner})[]" if " | " in inner else f"{inner}[]"
        case "object":
            of = field.get("additionalProperties")
            return f"Record<string, {_type(of) if isinstance(of, dict) else 'unknown'}>"
        case "integer":
            return "number"
        case None:
            return "unknown"
        case plain:
            return plain


def _flowing(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


if __name__ == "__main__":
    TYPES.write_text(message_types(), encoding="utf-8")
    print(f"{TYPES.name} is written")
