"""The picture of a view in a saved notebook; it needs no kernel, no script and no network."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape

from ..state.derived import Store
from ..state.model import State
from ..views.drawings import layout_svg, timeline_svg, tree_svg
from ..views.inspector.value import inspector_value
from ..views.timeline.value import drawn_window, timeline_value
from ..views.tree.tree_now import costs_now, rows_now

_LABEL = re.compile(r'aria-label="([^"]*)"')

# Jupyter shows an error line for a live view without a kernel; this rule hides it, as the picture is there.
_STYLE = ".jp-OutputArea-child:has([data-tilewright='{name}']) + .jp-OutputArea-child:not(:has(.tw-live)) {{ display: none; }}"


def tree_picture(state: State, store: Store) -> str:
    """The loop tree as SVG."""
    return tree_svg(rows_now(state, store), costs_now(state, store), title=state.title, theme="light")


def timeline_picture(state: State, store: Store) -> str:
    """The timeline as SVG."""
    return timeline_svg(timeline_value(state, store), drawn_window(state, store), title=state.title, theme="light")


def layout_picture(state: State, store: Store) -> str:
    """The layout of the selected buffer as SVG."""
    return layout_svg(inspector_value(state, store).picker, theme="light")


def saved_picture(pictures: Sequence[str], name: str) -> str:
    """Pictures as HTML, with the name by which the live view finds them. They are images, so that their styles do not affect the page."""
    shown = "".join(map(_image, pictures))
    return f'<div data-tilewright="{escape(name)}"><style>{_STYLE.format(name=escape(name))}</style>{shown}</div>'


def _image(svg: str) -> str:
    label = _LABEL.search(svg)
    data = base64.b64encode(svg.encode()).decode()
    said = label[1] if label else ""
    return f'<img alt="{said}" style="max-width: 100%; display: block" src="data:image/svg+xml;base64,{data}">'
