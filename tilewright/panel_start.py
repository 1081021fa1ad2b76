"""What Panel imports before it reads its command line: `panel serve app/main.py` gets the plugin with the access policy.

Panel loads the entry points `panel.auth` of installed packages at its start. It has no other hook so early: a server without the plugin
would answer requests before the app is first run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import app

PLUGIN = "tilewright.app.server.panel_plugin"

MAIN = Path(app.__path__[0]) / "main.py"


def with_plugin(arguments: Sequence[str]) -> list[str]:
    """A command line of Panel; with the plugin if it serves Tilewright's app."""
    serves = list(arguments[1:2]) == ["serve"] and any(_is_app(argument) for argument in arguments[2:])
    has_plugin = any(PLUGIN in argument for argument in arguments)
    return [*arguments, "--plugins", PLUGIN] if serves and not has_plugin else list(arguments)


def _is_app(argument: str) -> bool:
    return Path(argument).name == MAIN.name and os.path.exists(argument) and os.path.samefile(argument, MAIN)


class NoProvider:
    """The object of the entry point. It authenticates nobody."""


sys.argv = with_plugin(sys.argv)
