"""Each message declares its own properties; there are no separate lists of messages."""

from __future__ import annotations

import importlib
import pkgutil

from tilewright import app
from tilewright.app.protocol.messages import MESSAGES, REQUESTS
from tilewright.app.session.queries import QUERIES
from tilewright.app.session.session import HANDLERS
from tilewright.app.state.intents import ACTIONS, Intent, kinds_of

ROOMS = ("actions", "jobs", "jupyter", "page", "protocol", "server", "session", "state")


def modules() -> list[str]:
    names = [found.name for found in pkgutil.walk_packages(app.__path__, "tilewright.app.")]
    # The plugin of `panel serve` starts a server as it is imported.
    return [name for name in names if name.split(".")[2] in ROOMS and not name.endswith("panel_plugin")]


def members(value: object) -> list[object]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return list(value) if isinstance(value, tuple | list | set | frozenset) else []


def test_no_module_keeps_a_table_of_messages() -> None:
    tables = [
        f"{name}.{attribute}"
        for name in modules()
        for attribute, value in vars(importlib.import_module(name)).items()
        if value is not MESSAGES and value is not REQUESTS
        if sum(isinstance(member, type) and issubclass(member, Intent) for member in members(value)) > 1
    ]
    assert not tables


def test_each_intent_has_a_handler() -> None:
    handled = {*ACTIONS, *HANDLERS, *QUERIES}
    assert [kind.__name__ for kind in kinds_of(Intent) if kind not in handled] == []
