"""The colours of drawings: design tokens of the style sheets, which define each colour once as `light-dark(light, dark)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

from .... import static
from ..labels.palette import BUFFER_COLOURS

SHEETS = ("tilewright.css", "timeline.css")

_TOKEN = re.compile(r"--(?P<name>[\w-]+): light-dark\((?P<light>#[0-9a-f]{6}), (?P<dark>#[0-9a-f]{6})\);")
_FONT = re.compile(r"--tw-(?P<name>font|mono): (?P<value>[^;]+);")


@cache
def inks() -> Mapping[str, tuple[str, str]]:
    """Name -> (light, dark): "text", "muted", "accent", …, "buffer-3", "stall-data"."""
    found = {f"buffer-{n}": pair for n, pair in enumerate(BUFFER_COLOURS)}
    for sheet in SHEETS:
        for token in _TOKEN.finditer(_sheet(sheet)):
            found.setdefault(token["name"].removeprefix("tw-"), (token["light"], token["dark"]))
    return found


@cache
def fonts() -> Mapping[str, str]:
    """The font families "font" and "mono" as CSS lists."""
    return {found["name"]: found["value"] for found in _FONT.finditer(_sheet(SHEETS[0]))}


def _sheet(name: str) -> str:
    return (resources.files(static) / "styles" / name).read_text("utf-8")
