"""The front holds the vectors that no other result dominates, in any order of results."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tilewright.engine.explore import Front, dominates

vectors = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 2)), max_size=12)


@given(vectors, st.randoms(use_true_random=False))
def test_the_front_is_not_dominated_in_any_order(found: list[tuple[int, ...]], rng) -> None:
    ranked = list(enumerate(found))
    rng.shuffle(ranked)
    front: Front[int] = Front()
    for rank, vector in ranked:
        front.add(vector, rank, rank)
    expected = sorted({v for v in found if not any(dominates(other, v) for other in found)})
    assert front.vectors == tuple(expected)
    assert front.items == tuple(found.index(v) for v in expected)


@given(vectors)
def test_adding_to_a_front_returns_whether_it_is_kept(found: list[tuple[int, ...]]) -> None:
    front: Front[int] = Front()
    for rank, vector in enumerate(found):
        assert front.add(vector, rank, rank) == (
            vector not in found[:rank] and not any(dominates(o, vector) for o in found[:rank])
        )
