"""Three texts brought together line by line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewright.app.document.merging import Clash, alike, merge, merged, resolved

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\r\n", "\n", "d"]), max_size=8).map("".join)


@given(LINES, LINES)
def test_what_one_side_changed_is_taken(base: str, changed: str) -> None:
    assert merged(merge(base, changed, base)) == changed
    assert merged(merge(base, base, changed)) == changed
    assert merged(merge(base, changed, changed)) == changed


@given(LINES, LINES, LINES)
def test_each_side_is_there_whole_and_the_sides_are_alike(base: str, ours: str, theirs: str) -> None:
    parts, other = merge(base, ours, theirs), merge(base, theirs, ours)
    clashes = [part for part in parts if isinstance(part, Clash)]
    assert [(c.theirs, c.ours) for c in clashes] == [(p.ours, p.theirs) for p in other if isinstance(p, Clash)]
    if not clashes:
        assert merged(parts) == merged(other)
    assert all(c.ours != c.theirs and c.ours != c.base and c.theirs != c.base for c in clashes)
    assert "".join(c.ours for c in clashes) in ours or len(clashes) > 1


@given(LINES, st.lists(LINES, min_size=2, max_size=2))
def test_changes_with_lines_between_them_never_clash(middle: str, ends: list[str]) -> None:
    kept = "-- kept 1\n-- kept 2\n"
    base = "x\n" + kept + "y\n"
    first, last = (text.replace("d", "d\n") for text in ends)
    assert merged(merge(base, first + kept + "y\n", "x\n" + kept + last)) == first + kept + last


def test_given_a_clash_when_chosen_then_the_rest_stays() -> None:
    parts = merge("a\nb\nc\n", "A\nb\nmine\n", "a\nb\ntheirs\nd\n")
    assert merged(parts) is None
    assert resolved(parts, ["ours"]) == "A\nb\nmine\n"
    assert resolved(parts, ["theirs"]) == "A\nb\ntheirs\nd\n"
    assert resolved(parts, ["both"]) == "A\nb\nmine\ntheirs\nd\n"
    (clash,) = [part for part in parts if isinstance(part, Clash)]
    assert clash.line == 3 and clash.base == "c\n"


def test_given_both_without_a_last_line_ending_then_they_do_not_run_together() -> None:
    assert resolved(merge("a", "mine", "theirs"), ["both"]) == "mine\ntheirs"


@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_runs_are_alike_and_in_order(old: list[str], new: list[str]) -> None:
    at = (0, 0)
    for a, b, length in alike(old, new):
        assert length and a >= at[0] and b >= at[1] and old[a : a + length] == new[b : b + length]
        at = (a + length, b + length)
