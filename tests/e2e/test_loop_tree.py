"""The loop tree alone in a real browser, over a real schedule: drags, refusals, keyboard, menus, forms. One page for each flow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import panel as pn
import pytest
from playwright.sync_api import Locator, Page, expect
from support.browser.page import until
from support.browser.tree_bench import Bench, go_to
from support.programs.sources import BOX_BLUR, ELEMENTWISE_CHAIN, MATMUL_RELU, matmul

from tilewright.app.views.tree.rows import row_ids
from tilewright.engine.schedule import Schedule

MATMUL = matmul(64, 64, 64)
COPY, WRITE = "A_local.vtcm", "C_local.acc"


def staged(sch: Schedule) -> None:
    """Tiles of the matmul, and a copy of A that is not yet placed."""
    sch.split("i", [None, 32], names=["io", "ii"])
    sch.split("j", [None, 32], names=["jo", "ji"])
    sch.split("k", [None, 32], names=["ko", "ki"])
    sch.reorder("io", "jo", "ko", "ii", "ji", "ki")
    sch.cache_read("C", 0, "local.vtcm")
    sch.cache_write("C", 0, "local.acc")


@pytest.fixture(scope="module")
def shown(serve) -> tuple[list[Bench], str]:
    """The served bench, and its address: the browser caches the scripts of the file's first page."""
    benches: list[Bench] = []

    def view() -> object:
        return benches[-1].view()

    return benches, serve(view)


@pytest.fixture
def bench(shown, open_page):
    """`bench(text, prepare)` -> (Bench, Page with the tree drawn)."""
    benches, url = shown

    def make(
        text: str = MATMUL, prepare: Callable[[Schedule], object] = staged, **page_options: Any
    ) -> tuple[Bench, Page]:
        tree_bench = Bench(text, prepare)
        benches.append(tree_bench)
        page = open_page(**page_options)
        go_to(page, url)
        if page_options.get("dark"):
            page.evaluate("document.documentElement.dataset.theme = 'dark'")
        row(page, next(iter(row_ids(tree_bench.schedule.func)))).wait_for()
        return tree_bench, page

    return make


def reopen(tree_bench: Bench, page: Page, text: str, prepare: Callable[[Schedule], object] = lambda _: None) -> None:
    """Another program in the same page."""
    tree_bench.open(text, prepare)
    until(page, lambda: order(page) == list(row_ids(tree_bench.schedule.func)))


def row(page: Page, name: str) -> Locator:
    return page.locator(f'.row[data-id="{name}"]')


def middle(target: Locator) -> tuple[float, float]:
    box = target.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def grab(page: Page, name: str) -> None:
    """Press on a row and move far enough for a drag to begin."""
    x, y = middle(row(page, name))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 6, y + 6, steps=3)
    grabbed(page)


def grabbed(page: Page) -> None:
    """Wait until the loops show the effect of a drop."""
    page.locator(".tw-tree.is-grabbing .row[data-offer]").first.wait_for()


def drag(page: Page, name: str, target: str) -> None:
    grab(page, name)
    page.mouse.move(*middle(row(page, target)), steps=8)
    page.mouse.up()


def order(page: Page) -> list[str]:
    return page.locator(".row").evaluate_all("rows => rows.map(r => r.dataset.id)")


def offers(page: Page) -> dict[str, str]:
    return dict(page.locator(".row[data-offer]").evaluate_all("rows => rows.map(r => [r.dataset.id, r.dataset.offer])"))


def inside(page: Page, target: Locator) -> None:
    """The element is wholly in the viewport."""
    box, size = target.bounding_box(), page.viewport_size
    assert box is not None
    assert size is not None
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= size["width"]
    assert box["y"] + box["height"] <= size["height"]


def moved_then_undone(tree_bench: Bench, page: Page, loop: str, level: str) -> None:
    expect(page.locator(".row-block").first).to_have_attribute("aria-level", level)
    assert tree_bench.kinds() == ["move"]
    assert tree_bench.last["loop"] == loop
    tree_bench.act({"kind": "undo"})
    tree_bench.intents.clear()
    expect(page.locator(".row-block").first).to_have_attribute("aria-level", "3")


def test_a_block_moves_by_drag_keys_grip_and_menu(bench):
    tree_bench, page = bench()
    page.emulate_media(reduced_motion="reduce")  # sliding rows are not yet at their final position
    before = tree_bench.schedule.func
    own = row_ids(before).of(tree_bench.schedule.get_loops(COPY)[0])
    grab(page, COPY)
    found = offers(page)
    assert set(found) == {name for name in order(page) if row(page, name).get_attribute("data-kind") == "loop"}
    assert {found["io"], found["jo"], found["ko"]} <= {"legal", "costly"}
    assert found[own] == "illegal"
    # The state of a loop is shown by more than colour.
    shown = {state: row(page, name).locator(".mark path").get_attribute("d") for name, state in found.items()}
    assert len(set(shown.values())) == len(shown)
    assert all(row(page, name).locator(".offer").inner_text() for name, state in found.items() if state != "illegal")
    page.mouse.move(*middle(row(page, own)), steps=8)
    reason = next(e.reason for e in tree_bench.targets_of(COPY) if e.loop == own).splitlines()[0]
    expect(page.locator(".tip")).to_contain_text(reason)
    inside(page, page.locator(".tip"))
    page.mouse.up()
    expect(page.locator(".notice")).to_contain_text(reason)
    page.wait_for_timeout(300)
    expect(page.locator(".notice")).to_be_visible()
    assert tree_bench.kinds() == []
    assert tree_bench.schedule.func is before
    page.get_by_label("Dismiss").click()
    expect(page.locator(".notice")).to_be_hidden()

    # By keys, by the grip and by the menu, each followed by undo.
    row(page, COPY).focus()
    page.keyboard.press("c")
    grabbed(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    expect(page.locator(".is-grabbing")).to_have_count(0)
    expect(row(page, COPY)).to_be_focused()
    assert tree_bench.kinds() == []

    page.keyboard.press("Enter")
    grabbed(page)
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(row(page, "ko")).to_be_focused()
    expect(page.locator(".tip")).to_be_visible()
    inside(page, page.locator(".tip"))
    expect(page.get_by_role("status")).to_contain_text("ko: ")
    page.keyboard.press("Enter")
    until(page, lambda: tree_bench.kinds() == ["move"])
    assert tree_bench.last == {"kind": "move", "block": COPY, "loop": "ko", "primitive": "compute_at"}
    expect(page.locator(".row-block").first).to_have_attribute("aria-level", "6")
    expect(row(page, COPY)).to_be_focused()
    page.keyboard.press("Control+z")
    until(page, lambda: tree_bench.kinds() == ["move", "undo"])
    expect(page.locator(".row-block").first).to_have_attribute("aria-level", "3")
    tree_bench.intents.clear()

    page.keyboard.press("Enter")
    grabbed(page)
    row(page, "jo").click()  # grabbed by a key, dropped by a click
    moved_then_undone(tree_bench, page, "jo", "5")

    row(page, COPY).hover()
    row(page, COPY).locator(".grip").click()
    grabbed(page)
    row(page, "ko").hover()
    expect(page.locator(".tip")).to_contain_text("compute_at")
    row(page, "ko").click()
    moved_then_undone(tree_bench, page, "ko", "6")

    row(page, COPY).click(button="right")
    page.get_by_role("menuitem", name="Move to a loop").click()
    grabbed(page)
    row(page, "ko").click()
    moved_then_undone(tree_bench, page, "ko", "6")

    drag(page, COPY, "ko")
    expect(page.locator(".row-block").first).to_have_attribute("aria-level", "6")
    assert tree_bench.last == {"kind": "move", "block": COPY, "loop": "ko", "primitive": "compute_at"}
    assert [f.loop_var.name for f in tree_bench.schedule.index.loops_of(COPY)][:3] == ["io", "jo", "ko"]
    assert order(page) == list(row_ids(tree_bench.schedule.func))
    assert offers(page) == {}

    drag(page, WRITE, "jo")
    until(page, lambda: tree_bench.kinds() == ["move", "move"])
    assert tree_bench.last["primitive"] == "reverse_compute_at"
    assert tree_bench.schedule.verify().status == "tested"

    tree_bench.tree.active = ["ko", "C"]
    expect(page.locator(".row.is-active")).to_have_count(2)
    expect(row(page, "ko")).to_have_class(re.compile("is-active"))
    row(page, "ko").click()
    until(page, lambda: tree_bench.tree.selected == "ko")
    tree_bench.tree.selected = COPY
    expect(row(page, COPY)).to_have_attribute("aria-selected", "true")
    expect(row(page, "ko")).to_have_attribute("aria-selected", "false")


def with_targets(tree_bench: Bench, page: Page, block: str, *entries: dict[str, Any]) -> None:
    """Give the tree prepared answers, and wait until they are drawn."""
    page.evaluate(
        """() => Bokeh.documents[0].on_message("bokeh_event", ({ data }) => {
            window.hasTargets = data.parameters?.packed_targets?.includes("primitive");
        })"""
    )
    tree_bench.tree.targets = {
        block: [{"legal": True, "costly": False, "reason": "", "code": "", "fix": [], **entry} for entry in entries]
    }
    page.wait_for_function("() => window.hasTargets")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_drops_can_be_repaired_chosen_refused_or_of_loops(bench):
    tree_bench, page = bench(ELEMENTWISE_CHAIN, lambda _: None)
    target = row_ids(tree_bench.schedule.func).of(tree_bench.schedule.get_loops("D")[0])
    grab(page, "B")
    page.mouse.move(*middle(row(page, target)), steps=8)
    expect(page.locator(".tip")).to_contain_text("Possible after one more call")
    page.mouse.up()
    expect(page.locator(".notice .repair")).to_contain_text("sch.compute_inline('C')")
    page.get_by_role("button", name="Apply both calls").click()
    expect(page.locator(".notice")).to_be_hidden()
    assert tree_bench.last == {"kind": "move", "block": "B", "loop": target, "primitive": "compute_at", "repair": True}

    reopen(tree_bench, page, MATMUL_RELU)
    drag(page, "k", row_ids(tree_bench.schedule.func).of(tree_bench.schedule.get_loops("relu")[0]))
    expect(page.locator(".notice")).to_contain_text("not perfectly nested")
    assert tree_bench.kinds() == []
    with_targets(tree_bench, page, "relu", {"loop": "k", "primitive": "reverse_compute_at"})  # refused by the engine
    drag(page, "relu", "k")
    expect(page.locator(".notice")).to_contain_text("refused")
    assert tree_bench.schedule.verify().status == "tested"

    reopen(tree_bench, page, MATMUL_RELU)
    with_targets(
        tree_bench, page, "matmul", *({"loop": "i", "primitive": p} for p in ("compute_at", "reverse_compute_at"))
    )
    drag(page, "matmul", "i")
    choice = page.get_by_role("menu").get_by_role("menuitem")
    expect(choice).to_have_text([re.compile("^compute_at"), re.compile("^reverse_compute_at")])
    inside(page, page.locator(".sheet"))
    choice.nth(1).click()
    until(page, lambda: tree_bench.kinds() == ["move"])
    assert tree_bench.last["primitive"] == "reverse_compute_at"

    reopen(tree_bench, page, MATMUL)
    page.emulate_media(reduced_motion="reduce")
    page.evaluate("() => { window.slid = 0; Element.prototype.animate = () => { window.slid += 1; }; }")
    drag(page, "k", "i")
    expect(page.locator(".row").first).to_have_attribute("data-id", "k")
    assert tree_bench.last == {"kind": "reorder", "loops": ["k", "i", "j"]}
    assert [f.loop_var.name for f in tree_bench.schedule.index.loops_of("C")] == ["k", "i", "j"]
    assert page.evaluate("window.slid") == 0, "nothing slides for who wants less motion"


@pytest.mark.slow
def test_menus_forms_and_keys(bench, monkeypatch):
    tree_bench, page = bench(MATMUL_RELU, lambda _: None)
    row(page, "i").hover()
    row(page, "i").locator(".kebab").click()
    inside(page, page.locator(".sheet"))
    page.get_by_role("menuitem", name="Split").click()
    form = page.get_by_role("dialog")
    form.get_by_label("Factors").fill("None, x")
    expect(form.get_by_role("alert")).to_contain_text("not a whole number")
    expect(form.get_by_role("button", name="Apply")).to_be_disabled()
    form.get_by_label("Factors").fill("4, None, 8")
    expect(form.get_by_label("Names")).to_have_value("i_0, i_1, i_2")
    form.get_by_label("Factors").fill("None, 32")
    form.get_by_label("Names").fill("io, ii")
    expect(form.locator("code")).to_have_text('sch.split(i, factors=[None, 32], names=["io", "ii"])')
    form.get_by_role("button", name="Apply").click()
    row(page, "io").wait_for()
    expect(row(page, "ii").locator(".loop-extent")).to_have_text("32")
    assert tree_bench.last["arguments"] == {"factors": [None, 32], "names": ["io", "ii"]}

    row(page, "j").focus()
    page.keyboard.press("s")
    form.get_by_label("Factors").fill("None, None")
    page.keyboard.press("Enter")
    expect(form.get_by_role("alert")).to_contain_text("refused")
    expect(page.locator(".notice")).to_be_hidden()
    inside(page, page.locator(".sheet"))
    form.get_by_label("Factors").fill("None, 16")
    page.keyboard.press("Enter")
    row(page, "j_0").wait_for()
    expect(form).to_have_count(0)
    assert tree_bench.kinds() == ["call"] * 3

    row(page, "io").focus()
    page.keyboard.press("p")
    expect(row(page, "io").locator(".loop-kind")).to_have_text("parallel")
    copy_of_a(page)
    page.keyboard.press("t")
    form.get_by_label("Index map").fill("lambda i, j: [j // 4, AXIS_SEPARATOR, i, j % 4]")
    page.keyboard.press("Enter")
    until(page, lambda: tree_bench.kinds() == ["call"] * 6)
    until(page, lambda: tree_bench.schedule.get("A_local.vtcm").writes[0].buffer.axis_separators == (1,))

    # The answer to a form arrives after the next form opened: the next one stays open.
    reopen(tree_bench, page, MATMUL_RELU)
    late, send = [], tree_bench.tree.send

    def hold_answers(message: dict[str, Any]) -> None:
        if message["kind"] == "answered":
            late.append(pn.state.curdoc)
        else:
            send(message)

    monkeypatch.setattr(tree_bench.tree, "send", hold_answers)
    copy_of_a(page)
    page.keyboard.press("t")
    form.get_by_label("Index map").fill("lambda i, j: [j, i]")
    until(page, lambda: bool(late))
    late[0].add_next_tick_callback(lambda: send({"kind": "answered"}))
    late[0].add_next_tick_callback(lambda: tree_bench.tree.notify("came after it"))
    expect(page.locator(".notice")).to_contain_text("came after it")
    expect(form.get_by_label("Index map")).to_have_value("lambda i, j: [j, i]")
    page.keyboard.press("Escape")

    # In a small window menus stay inside.
    reopen(tree_bench, page, MATMUL)
    page.set_viewport_size({"width": 480, "height": 400})
    sheet = page.locator(".sheet")
    page.mouse.click(450, middle(row(page, "C"))[1], button="right")
    inside(page, sheet)
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    row(page, "C").focus()
    page.keyboard.press(".")
    inside(page, sheet)
    entries = page.get_by_role("menu").get_by_role("menuitem")
    expect(entries.first).to_be_focused()
    page.keyboard.type("pad")
    expect(entries.first).to_have_attribute("data-method", "pad_einsum")
    expect(page.get_by_label("Find an action")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Find an action")).to_have_value("")
    page.get_by_role("menuitem", name=re.compile(r"^\d+ more$")).click()
    expect(page.get_by_role("menuitem", name="Set layout")).to_be_visible()
    inside(page, sheet)
    page.keyboard.type("pad")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_label("Multiples of")).to_be_focused()
    assert tree_bench.kinds() == []
    page.keyboard.press("Escape")

    row(page, "i").focus()
    for key, at in (("ArrowDown", "j"), ("ArrowRight", "k"), ("End", "C"), ("ArrowLeft", "k"), ("Home", "i")):
        page.keyboard.press(key)
        expect(row(page, at)).to_be_focused()
    expect(row(page, "i")).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("ArrowLeft")
    expect(row(page, "i")).to_have_attribute("aria-expanded", "false")
    expect(row(page, "j")).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(row(page, "j")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    inside(page, sheet)
    page.keyboard.press("Escape")
    expect(row(page, "i")).to_be_focused()


def copy_of_a(page: Page) -> None:
    """Make a copy by the letter of the block's menu, and go to it."""
    row(page, "matmul").focus()
    page.keyboard.press("l")
    page.get_by_role("dialog").get_by_label("Scope").fill("local.vtcm")
    page.keyboard.press("Enter")
    row(page, "A_local.vtcm").wait_for()
    row(page, "A_local.vtcm").focus()


def many_rows(sch: Schedule) -> None:
    """A tree of more than 200 rows: sixteen caches in a row, loops split apart."""
    for block in ("padded", "x_blur", "y_blur"):
        for n in range(16):
            sch.cache_read(block, 0, f"local.s{n}")
        for _ in range(5):
            sch.split(sch.get_loops(block)[-1], [None, 1])


@pytest.mark.slow
def test_drag_among_two_hundred_rows(bench, shoot):
    tree_bench, page = bench(BOX_BLUR, many_rows)
    rows = order(page)
    assert len(tree_bench.tree.rows) >= 200 > 100 > len(rows)  # the visible rows, and some around
    block = next(n for n in rows if row(page, n).get_attribute("data-kind") == "block")
    row(page, block).scroll_into_view_if_needed()
    grab(page, block)
    shoot(page, "loop-tree-200")
    page.keyboard.press("Escape")
    page.mouse.up()
    assert tree_bench.kinds() == []


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_tree_is_drawn_in_its_theme(bench, shoot, dark):
    def finished(sch: Schedule) -> None:
        staged(sch)
        sch.compute_at(COPY, sch.get_loops("C")[2])
        sch.reverse_compute_at(WRITE, sch.get_loops("C")[1])
        sch.double_buffer(COPY)
        sch.parallel("io")
        sch.vectorize(sch.get_loops(COPY)[-1])

    _, page = bench(prepare=finished, dark=dark)
    expect(page.locator(".tw-tree")).to_have_css(
        "background-color", "rgb(23, 25, 31)" if dark else "rgb(255, 255, 255)"
    )
    name = "dark" if dark else "light"
    row(page, COPY).hover()
    page.locator(".tip").wait_for()
    shoot(page, f"loop-tree-{name}")
    grab(page, COPY)
    page.mouse.move(*middle(row(page, "ji")), steps=6)
    shoot(page, f"loop-tree-{name}-drag")
    page.keyboard.press("Escape")
    page.mouse.up()
    row(page, COPY).click(button="right")
    shoot(page, f"loop-tree-{name}-menu")
