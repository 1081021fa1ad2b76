"""Numbers on the page have no type prefix."""

from __future__ import annotations

from tilewright.app.views.labels.sizes import plain_text
from tilewright.engine.ir import Var, build


def test_int64_constants_print_as_plain_numbers() -> None:
    i = Var("i", "int64")
    assert plain_text(build.const(48, "int64")) == "48"
    assert plain_text(build.add(build.mul(i, build.const(16, "int64")), build.const(-3, "int64"))).replace(" ", "") in (
        "i*16-3",
        "i*16+-3",
    )
    assert plain_text(build.const(2.0, "float32")) == "T.float32(2.0)"
