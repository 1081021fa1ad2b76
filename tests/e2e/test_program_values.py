"""Programs of a text that need values: the page asks for them by fields, with the real mouse and keyboard."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect
from support.browser.page import go_to_gallery

TEXT = """\
import tvm
from tvm import te


def scale(n, x: te.Tensor, dtype):
    if n > 4:
        return te.compute(x.shape, lambda i, j: x[i, j] * tvm.tir.const(2, dtype), name="scaled")
    return te.compute(x.shape, lambda i, j: x[i, j], name="copied")


def negate(x: te.Tensor, axis):
    return te.compute(x.shape, lambda i, j: -x[i, j] if axis > 0 else x[i, j], name="negated")
"""


def test_values_are_typed_into_fields(open_page: Callable[..., Page], app_url: str) -> None:
    page = open_page()
    go_to_gallery(page, app_url)
    page.get_by_label("A TVMScript program or a notebook").fill(TEXT)
    page.get_by_role("button", name="Open", exact=True).click()
    form = page.locator(".program-choice")
    expect(form).to_be_visible()
    form.get_by_label("n (size)").fill("8")
    form.get_by_label("x (tensor)").fill("8x16xfloat16")
    form.get_by_label("dtype (dtype)").fill("float16")
    form.get_by_label("dtype (dtype)").press("Enter")
    expect(page.get_by_role("treeitem").filter(has_text="scaled").first).to_be_visible()


KINDS = """\
import tvm
from tvm import te


def pad(x: te.Tensor, twice: bool, mode: str):
    if mode == "zero":
        return te.compute(x.shape, lambda i, j: x[i, j] * 0.0, name="zeros")
    if mode == "copy":
        return te.compute(x.shape, lambda i, j: x[i, j] * (2.0 if twice else 1.0), name="copied")
"""


def test_values_with_few_choices_are_chosen(open_page: Callable[..., Page], app_url: str) -> None:
    page = open_page()
    go_to_gallery(page, app_url)
    page.get_by_label("A TVMScript program or a notebook").fill(KINDS)
    page.get_by_role("button", name="Open", exact=True).click()
    form = page.locator(".program-choice")
    form.get_by_label("twice (flag)").select_option("0")
    expect(form.locator("datalist option")).to_have_count(2)
    form.get_by_label("x (tensor)").fill("8x16xfloat32")
    form.get_by_label("mode (dtype)").fill("copy")
    form.get_by_label("mode (dtype)").press("Enter")
    expect(page.get_by_role("treeitem").filter(has_text="copied").first).to_be_visible()


def test_the_second_program_is_chosen_and_opens_with_its_values(open_page: Callable[..., Page], app_url: str) -> None:
    page = open_page()
    go_to_gallery(page, app_url)
    page.get_by_label("A TVMScript program or a notebook").fill(TEXT)
    page.get_by_role("button", name="Open", exact=True).click()
    form = page.locator(".program-choice")
    form.get_by_label("Program").select_option("2")
    expect(form.get_by_label("axis (size)")).to_be_visible()
    form.get_by_label("x (tensor)").fill("4x8xfloat32")
    form.get_by_label("axis (size)").fill("1")
    form.get_by_role("button", name="Open with these values").click()
    expect(page.get_by_role("treeitem").filter(has_text="negated").first).to_be_visible()


KERNEL = """\
import tilelang
import tilelang.language as T


def make(N, dtype, op, IS_VARLEN, threads=128):
    if not IS_VARLEN:
        @T.prim_func
        def main(x: T.Tensor((N,), dtype), y: T.Tensor((N,), dtype)):
            with T.Kernel(T.ceildiv(N, threads), threads=threads) as bx:
                for i in T.Parallel(threads):
                    y[bx * threads + i] = op(x[bx * threads + i])
        return main
"""


def test_a_kernel_opens_with_the_examples_by_one_press(open_page: Callable[..., Page], app_url: str) -> None:
    page = open_page()
    go_to_gallery(page, app_url)
    page.get_by_label("A TVMScript program or a notebook").fill(KERNEL)
    page.get_by_role("button", name="Open", exact=True).click()
    page.get_by_role("button", name="Open with these values").click()
    expect(page.get_by_role("treeitem").filter(has_text="bx").first).to_be_visible()
    expect(page.get_by_text("op=T.exp").first).to_be_attached()
