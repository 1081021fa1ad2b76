"""Vectors as values: their types, ramps that move, and the box that a ramp runs over."""

from __future__ import annotations

import pytest

from tilewright.engine.ir import (
    Add,
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    IntImm,
    Mul,
    Ramp,
    Var,
    accessed_dtype,
    build,
    structural_equal,
)
from tilewright.engine.ir import dtype as dt

HERE = Var("i")


def ramp(base=HERE, stride: int = 1, lanes: int = 4) -> Ramp:
    return Ramp(base, IntImm(stride), IntImm(lanes))


@pytest.mark.parametrize(
    ("dtype", "valid"),
    [
        ("int8x4", True), ("float32xvscalex4", True), ("boolx16", True), ("float8_e4m3fnx2", True),
        ("int8x0", False), ("int8x", False), ("intx4", False), ("handlex2", False), ("int8xx4", False), ("int8x4x2", False),
    ],
)  # fmt: skip
def test_names_of_types_are_recognised(dtype: str, valid: bool):
    assert dt.is_valid(dtype) is valid


def test_a_vector_type_has_its_parts():
    assert (dt.element("int8x4"), dt.lanes("int8x4"), dt.bits("int8x4"), dt.size_bytes("int8x4")) == ("int8", 4, 8, 4)
    assert (dt.element("int8"), dt.lanes("int8"), dt.is_vector("int8")) == ("int8", 1, False)
    assert dt.with_lanes_of("bool", "float32xvscalex4") == "boolxvscalex4"


def test_values_have_their_lanes():
    assert ramp().dtype == "int32x4"
    assert Broadcast(IntImm(0, "int64"), Mul(Call("vscale", (), "int32"), IntImm(8))).dtype == "int64xvscalex8"
    assert build.lt(ramp(), Broadcast(HERE, IntImm(4))).dtype == "boolx4"
    assert BufferLoad(Buffer("A", (IntImm(8),)), (ramp(),)).dtype == "float32x4"
    assert accessed_dtype(Buffer("A", (IntImm(8),), "float32x4"), (ramp(lanes=2),)) == "float32x8"


def test_a_scalar_with_a_vector_is_broadcast():
    assert structural_equal(build.maximum(ramp(), 2), build.maximum(ramp(), Broadcast(IntImm(2), IntImm(4))))
    mixed = build.div(Broadcast(HERE, IntImm(4)), build.const(2.0, "float32"))
    assert mixed.dtype == "float32x4"
    assert isinstance(mixed.a, Cast)
    assert mixed.a.dtype == "float32x4"
    with pytest.raises(TypeError, match="lanes"):
        build.add(ramp(), ramp(lanes=2))


def test_a_moved_ramp_is_a_ramp():
    assert structural_equal(build.add(ramp(), 3), ramp(build.add(HERE, 3)))
    assert structural_equal(build.add(HERE, ramp()), ramp(build.add(HERE, HERE)))
    assert structural_equal(build.sub(ramp(), 3), ramp(build.sub(HERE, 3)))
    assert structural_equal(build.mul(ramp(), 2), ramp(build.mul(HERE, 2), 2))
    assert isinstance(build.add(ramp(), ramp()), Add)


def test_box_of_a_ramp_spans_first_to_last_element():
    box = build.point(ramp(stride=3))
    assert box.min is HERE
    assert build.is_const(box.extent, 10)
