"""The loop tree alone in a real browser: drag with the mouse, refusals, keyboard, menus, looks."""

from __future__ import annotations

import panel as pn


def test_given_a_panel_app_when_opened_then_nothing_complains(page, serve, shoot):
    url = serve(lambda: pn.pane.Markdown("# hello"))
    page.goto(url)
    page.get_by_text("hello").wait_for()
    shoot(page, "hello")
