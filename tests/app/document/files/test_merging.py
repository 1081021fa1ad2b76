"""Three-way merges, line by line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.app.document.files.merging import MergeConflict, alike, merge, merged, resolved

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d"]), max_size=8).map("".join)


@given(LINES, LINES)
def test_a_change_of_one_side_is_merged(base: str, changed: str) -> None:
    assert merged(merge(base, changed, base)) == changed
    assert merged(merge(base, base, changed)) == changed
    assert merged(merge(base, changed, changed)) == changed


@given(LINES, LINES, LINES)
def test_a_merge_is_symmetric_and_loses_no_text(base: str, ours: str, theirs: str) -> None:
    parts, other = merge(base, ours, theirs), merge(base, theirs, ours)
    clashes = [part for part in parts if isinstance(part, MergeConflict)]
    assert [(c.theirs, c.ours) for c in clashes] == [(p.ours, p.theirs) for p in other if isinstance(p, MergeConflict)]
    if not clashes:
        assert merged(parts) == merged(other)
    assert all(c.ours != c.theirs and c.ours != c.base and c.theirs != c.base for c in clashes)
    assert "".join(c.ours for c in clashes) in ours or len(clashes) > 1


@given(LINES, st.lists(LINES, min_size=2, max_size=2))
def test_separate_changes_never_conflict(middle: str, ends: list[str]) -> None:
    kept = "-- kept 1\n-- kept 2\n"
    base = "x\n" + kept + "y\n"
    first, last = (text.replace("d", "d\n") for text in ends)
    assert merged(merge(base, first + kept + "y\n", "x\n" + kept + last)) == first + kept + last


def test_resolving_a_conflict_keeps_the_rest() -> None:
    parts = merge("a\nb\nc\n", "A\nb\nmine\n", "a\nb\ntheirs\nd\n")
    assert merged(parts) is None
    assert resolved(parts, ["ours"]) == "A\nb\nmine\n"
    assert resolved(parts, ["theirs"]) == "A\nb\ntheirs\nd\n"
    assert resolved(parts, ["both"]) == "A\nb\nmine\ntheirs\nd\n"
    (clash,) = [part for part in parts if isinstance(part, MergeConflict)]
    assert clash.line == 3 and clash.base == "c\n"


def test_texts_without_a_last_line_ending_stay_separate() -> None:
    assert resolved(merge("a", "mine", "theirs"), ["both"]) == "mine\ntheirs"


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_common_runs_are_equal_and_in_order(old: list[str], new: list[str]) -> None:
    at = (0, 0)
    for a, b, length in alike(old, new):
        assert length and a >= at[0] and b >= at[1] and old[a : a + length] == new[b : b + length]
        at = (a + length, b + length)


@pytest.mark.slow
def test_one_sided_changes_of_long_texts_merge() -> None:
    base = [f"line {n}\n" for n in range(20_000)]
    ours = [line if n % 2 else "  " + line for n, line in enumerate(base)]
    theirs = [line if n % 4 != 1 else "# " + line for n, line in enumerate(base)]
    parts = merge("".join(base), "".join(ours), "".join(theirs))
    assert (
        sum(isinstance(part, MergeConflict) for part in parts) == 5_000
    )  # adjacent, as no unchanged line separates them
    assert resolved(parts, ()).count("  line") == 10_000
    apart = [line if n % 4 != 3 else "# " + line for n, line in enumerate(base)]
    spread = [line if n % 4 != 1 else "  " + line for n, line in enumerate(base)]
    both = "".join(s if n % 4 == 1 else a for n, (s, a) in enumerate(zip(spread, apart, strict=True)))
    assert merged(merge("".join(base), "".join(spread), "".join(apart))) == both


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (["x"] * 20_000, ["x"] * 9_000 + ["y"] + ["x"] * 11_000),
        (["x", "y"] * 10_000, ["y", "x"] * 10_000),
        ([f"{n % 100}" for n in range(20_000)], [f"{n * 7 % 100}" for n in range(20_000)]),
    ],
)
def test_long_repetitive_texts_merge_fast(old: list[str], new: list[str]) -> None:
    """Fast enough: a comparison of all pairs of lines would need minutes."""
    assert all(old[a : a + n] == new[b : b + n] for a, b, n in alike(old, new))
