"""Request targets for a server under attack: random bytes, and words of routes combined by a grammar."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

WORDS = (
    *(
        "",
        ".",
        "..",
        "%2e%2e",
        "..%2f",
        "%00",
        "a%00b",
        "%ED%A0%80",
        "%c0%ae",
        "%u0041",
        "%ff",
        "%",
        "%zz",
        "\\",
        "[",
        "]",
        "@",
        ":",
        ";",
        "a" * 3000,
        "~",
        "$",
        "{}",
        "*",
        "ä",
    ),
    *(
        "ws",
        "static",
        "js",
        "extensions",
        "panel",
        "bokeh.min.js",
        "panel.min.js",
        "components",
        "payload",
        "os",
        "this",
        "antigravity",
    ),
    *(
        "unittest.__main__",
        "panel.custom",
        "JSComponent",
        "_esm",
        "__css__",
        "__resources__",
        "x",
        "y.css",
        "autoload.js",
        "metadata",
    ),
    *(
        "favicon.ico",
        "file",
        "example",
        "draft",
        "mine.py",
        "box_blur",
        "0123456789ab",
        "api",
        "sessions",
        "targets",
        "menu",
        "trace",
    ),
    *(
        "schema",
        "notebooks",
        "login",
        "logout",
        "healthz",
        "main",
        "index.html",
        ".tilewright",
        "etc",
        "passwd",
        "rest",
        "liveness",
    ),
)

QUERIES = (
    *(
        "",
        "?",
        "?token=x",
        "?token=",
        "?v=1",
        "?place=file&name=/etc/passwd",
        "?wait=nan",
        "?wait=-1",
        "?row=%00",
        "?parts=all",
    ),
    *("?%", "??", "?bokeh-session-id=x", "?theme=dark"),
)


REAL = (
    *(
        "/ws",
        "/file/mine.py/ws",
        "/favicon.ico",
        "/login",
        "/healthz",
        "/static/js/bokeh.min.js",
        "/static/js/bokeh-tables.min.js?v=1",
    ),
    *(
        "/static/extensions/panel/css/loading.css",
        "/api",
        "/api/schema",
        "/api/notebooks",
        "/api/sessions",
        "/api/sessions/0123456789ab",
    ),
    *("/api/sessions/0123456789ab/targets?row=x", "/components/payload/x/__css__/y", "/metadata", "/autoload.js"),
)


def grammar_target(rng: random.Random) -> str:
    """A path from words of routes, also invalid ones, sometimes with a query."""
    words = [rng.choice(WORDS) for _ in range(rng.randint(0, 6))]
    start = rng.choices(["/", "//", "", "http://127.0.0.1/", "/./"], [20, 2, 1, 1, 1])[0]
    return start + "/".join(words) + rng.choices(QUERIES, [10] + [1] * (len(QUERIES) - 1))[0]


def random_target(rng: random.Random) -> str:
    """Any bytes but those that end a request line, as Latin-1."""
    letters = [chr(n) for n in range(256) if n not in (10, 13, 32)]
    return "/" * rng.randint(0, 1) + "".join(rng.choices(letters, k=rng.randint(0, 40)))


def near_target(rng: random.Random) -> str:
    """A real address with up to two characters changed."""
    letters = list(rng.choice(REAL))
    for _ in range(rng.randint(0, 2)):
        letters[rng.randrange(len(letters))] = rng.choice(["", "/", ".", "%", "%2f", "?", "#", "\xff", "x", "0"])
    return "".join(letters)


def targets(seed: int, count: int, wanted: Callable[[str], bool]) -> list[str]:
    """The first `count` of `wanted`."""
    rng = random.Random(seed)
    ways = [grammar_target, near_target, random_target]
    drawn = (rng.choices(ways, [3, 2, 1])[0](rng) for _ in itertools.count())
    return list(itertools.islice(filter(wanted, drawn), count))
