"""The CodeMirror editor of a cell or a step, operated like a user. For the browser tests."""

from __future__ import annotations

from playwright.sync_api import Locator, Page

# The screen position behind a piece of the text, which scrolls into view.
_BEHIND = """(content, text) => {
    const line = [...content.querySelectorAll(".cm-line")].find(line => line.textContent.includes(text));
    let left = line.textContent.indexOf(text) + text.length;
    const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
    let node = walker.nextNode();
    while (left > node.length) { left -= node.length; node = walker.nextNode(); }
    const range = document.createRange();
    range.setStart(node, left);
    range.setEnd(node, left);
    const place = () => range.getBoundingClientRect();
    const scroller = content.closest(".cm-scroller");
    line.scrollIntoView({ block: "nearest", inline: "start" });
    scroller.scrollLeft += Math.max(0, place().x - scroller.getBoundingClientRect().right + 20);
    return [place().x, place().y + place().height / 2];
}"""


def cell_editor(page: Page) -> Locator:
    """The focusable element of the open editor."""
    return page.locator(".cm-content")


def edited_text(editor: Locator) -> str:
    """The text in an editor."""
    return "\n".join(editor.locator(".cm-line").all_text_contents())


def rewrite(editor: Locator, text: str) -> None:
    """Replace the whole text, as pasting does."""
    editor.press("Control+a")
    editor.press("Delete")
    editor.page.keyboard.insert_text(text)


def put_caret(editor: Locator, behind: str, select: int = 0) -> None:
    """Click behind a piece of a line; `select` selects that many characters before the caret."""
    editor.page.mouse.click(*editor.evaluate(_BEHIND, behind))
    for _ in range(select):
        editor.page.keyboard.press("Shift+ArrowLeft")
