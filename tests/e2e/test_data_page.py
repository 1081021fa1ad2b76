"""Data that decides trip counts: the page asks for it, with the real mouse and keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect
from support.browser.page import open_text

TEXT = """\
# %% machine
machine = tilewright.machine("dual-bank-npu")

# %% workload
@T.prim_func(s_tir=True)
def rows(P: T.Buffer((65,), "int32"), V: T.Buffer((256,), "float32"), Y: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.sblock("row"):
            vi = T.axis.spatial(64, i)
            Y[vi] = T.float32(0)
            for j in range(P[vi + 1] - P[vi]):
                Y[vi] = Y[vi] + V[P[vi] + j]
"""


def test_a_mean_trip_count_is_typed(open_page: Callable[..., Page], app_url: str) -> None:
    page = open_page()
    open_text(page, app_url, TEXT)
    page.get_by_role("tab", name="Problems").click()
    form = page.locator(".problems form.setting")
    field = form.get_by_label("P (mean)")
    expect(field).to_have_value("16")
    field.fill("4")
    form.get_by_role("button", name="Use these values").click()
    expect(page.locator(".headline")).to_contain_text(re.compile("2.304"))
    expect(page.locator(".problems")).to_contain_text("the cycles assume data: P[x] = 4 * x")
