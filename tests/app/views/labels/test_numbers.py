"""Numbers formatted for people."""

import pytest

from tilewright.app.views.labels.numbers import change_of, grouped, percent_text, size_text

THIN = "\u202f"


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (41216, f"41{THIN}216"), (10**12, f"1{THIN}000{THIN}000{THIN}000{THIN}000"), (10**18, "1.000e+18")],
)
def test_digits_are_grouped(number: int, text: str) -> None:
    assert grouped(number) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, f"0{THIN}B"),
        (1023, f"1023{THIN}B"),
        (16384, f"16{THIN}KiB"),
        (1536, f"1.5{THIN}KiB"),
        (1152, f"1.125{THIN}KiB"),
        (1 << 20, f"1{THIN}MiB"),
        (None, ""),
    ],
)
def test_bytes_get_a_fitting_unit(size_bytes: int | None, text: str) -> None:
    assert size_text(size_bytes) == text


@pytest.mark.parametrize(
    ("before", "after", "text", "trend"),
    [
        (100, 68, f"−32{THIN}%", "better"),
        (100, 101, f"+1.0{THIN}%", "worse"),
        (100, 100, f"±0{THIN}%", "same"),
        (100, 1250, "×12", "worse"),
        (0, 5, "new", "worse"),
        (40_000, 200, "1/200", "better"),
        (5, 0, f"−100{THIN}%", "better"),
        (100_000, 100_001, f"+<0.1{THIN}%", "worse"),
    ],
)
def test_a_change_has_a_sign_and_a_trend(before: int, after: int, text: str, trend: str) -> None:
    assert change_of(before, after) == (text, trend)


def test_a_fraction_is_a_percentage() -> None:
    assert percent_text(0.8749) == f"87{THIN}%"


def test_a_small_part_is_not_rounded_to_zero() -> None:
    assert percent_text(0.0) == f"0{THIN}%"
    assert percent_text(1e-9) == percent_text(0.004) == percent_text(0.0099) == f"<{THIN}1{THIN}%"
    assert percent_text(0.01) == f"1{THIN}%"
