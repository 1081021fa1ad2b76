"""One component alone on a page, served by Panel without the app."""

from __future__ import annotations

from typing import Any

import panel as pn

from tilewright.app.components.component import Component
from tilewright.app.components.page_root import PageRoot
from tilewright.app.server.http import PAGE_MODULE

ROUTES: dict[str, Any] = {"extra_patterns": [PAGE_MODULE]}
"""Options of `panel.serve` for such a page."""


def alone(component: Component, width: int, height: int) -> PageRoot:
    """Put the component into the present document, with a size in pixels."""
    document = pn.state.curdoc
    assert document is not None
    document.template = f"""{{% block contents %}}
<div data-root="alone" style="position: relative; width: {width}px; height: {height}px"></div>
{{% for root in roots %}}{{{{ embed(root) }}}}{{% endfor %}}
{{% endblock %}}"""
    return PageRoot({"alone": component})
