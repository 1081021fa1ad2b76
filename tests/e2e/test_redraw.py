"""Updates of the DOM (static/components/core/redraw.js, reconcile.js): the result equals a new drawing; only changed nodes are touched."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page
from support.browser.modules import open_modules


@pytest.fixture
def drawing(page: Page) -> Page:
    """A page with `list`, and `show(items)`: rows with a text, a colour and a button that records its item in `pressed`."""
    open_modules(
        page,
        "<div id=list></div>",
        """import { h } from "./core/dom.js";
        import { reconcile } from "./core/reconcile.js";
        window.pressed = [];
        const row = (item) => h("div", { class: item.kind ?? "row", title: item.tip }, item.text,
          item.mark ? h("b", {}, item.mark) : null,
          h("button", { onclick: item.dumb ? null : () => pressed.push(item.text) }, "press"));
        window.show = (items) => reconcile(list, items, (item) => JSON.stringify(item), row);
        window.fresh = (items) => items.map((item) => row(item).outerHTML).join("");
        window.moves = () => {
          const watch = new MutationObserver(() => {});
          watch.observe(list, { childList: true });
          return () => watch.takeRecords().reduce((sum, record) => sum + record.addedNodes.length, 0);
        };
        """,
    )
    page.wait_for_function("() => window.show")
    return page


def test_a_patched_list_equals_a_freshly_drawn_one(drawing: Page) -> None:
    assert (
        drawing.evaluate("""() => {
      let seed = 7;
      const random = (n) => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
      const one = (...values) => values[random(values.length)];
      const item = () => ({text: `t${random(6)}`, tip: one(null, "a", "b"), mark: one("", "x", "y"),
        kind: one("row", "note"), dumb: one(0, 0, 1)});
      for (let round = 0; round < 400; round += 1) {
        const items = Array.from({length: random(9)}, item);
        show(items);
        if (list.innerHTML !== fresh(items)) return [list.innerHTML, fresh(items)];
        pressed = [];
        for (const button of list.querySelectorAll("button")) button.click();
        const wanted = items.filter((item) => !item.dumb).map((item) => item.text);
        if (JSON.stringify(pressed) !== JSON.stringify(wanted)) return [pressed, wanted];
      }
      return "";
    }""")
        == ""
    )


def test_a_moved_row_moves_alone_and_keeps_the_focus(drawing: Page) -> None:
    assert drawing.evaluate("""() => {
      const items = [..."abcdefgh"].map((text) => ({text}));
      show(items);
      const [moved] = list.children;
      moved.querySelector("button").focus();
      const count = moves();
      show([...items.slice(1, 6), items[0], ...items.slice(6)]);
      return [list.children[5] === moved, document.activeElement === moved.querySelector("button"), count()];
    }""") == [True, True, 1]


def test_another_row_reuses_the_element(drawing: Page) -> None:
    assert drawing.evaluate("""() => {
      show([{text: "a"}, {text: "b", mark: "x"}]);
      const element = list.children[1];
      const button = element.querySelector("button");
      button.focus();
      const count = moves();
      show([{text: "a"}, {text: "c", tip: "other"}]);
      button.click();
      return [list.children[1] === element, element.title, element.textContent, document.activeElement === button, count(), pressed];
    }""") == [True, "other", "cpress", True, 0, ["c"]]
