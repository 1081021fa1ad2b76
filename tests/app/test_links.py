"""Links that carry a notebook: the round trip, and damaged or hostile links."""

from __future__ import annotations

import base64
import random
import string
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sessions.notebooks import MATMUL_NOTEBOOK

from tilewright.app.document import DocumentError
from tilewright.app.limits import LIMITS
from tilewright.app.links import KEY, MAX_LINK, fragment_of, is_link, text_of


@pytest.mark.slow
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_any_text_round_trips_through_a_link(text: str) -> None:
    link = f"http://127.0.0.1:5006/{fragment_of(text)}"
    assert is_link(link) and text_of(link) == text
    assert set(link.partition(KEY)[2]) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_a_notebook_has_a_short_link() -> None:
    assert len(fragment_of(MATMUL_NOTEBOOK)) < 1_000


def test_too_long_a_text_is_refused_with_its_size() -> None:
    noise = "".join(random.Random(0).choices(string.printable, k=60_000))
    with pytest.raises(DocumentError) as refused:
        fragment_of(noise)
    assert refused.value.code == "too-large-for-a-link" and f"{MAX_LINK:,}" in refused.value.refusal.expected


@pytest.mark.parametrize("link", ["x.py", "", "http://127.0.0.1/#other=abc", f"two words{KEY}abc"])
def test_other_text_is_not_a_link(link: str) -> None:
    assert not is_link(link)


@pytest.mark.parametrize("packed", ["", "!!!!", "AAAA", "_____w", "%C3%A9"])
def test_a_damaged_link_is_reported(packed: str) -> None:
    with pytest.raises(DocumentError) as refused:
        text_of(KEY + packed)
    assert refused.value.code == "bad-link"


def test_a_truncated_link_is_reported() -> None:
    whole = fragment_of(MATMUL_NOTEBOOK)
    for length in range(len(KEY) + 4, len(whole) - 1, 37):
        with pytest.raises(DocumentError) as refused:
            text_of(whole[:length])
        assert refused.value.code == "bad-link"


def test_a_decompression_bomb_is_refused() -> None:
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    data = b"".join(
        [
            *(packer.compress(b"a" * (1 << 20)) for _ in range(4 * LIMITS.text_characters // (1 << 20) + 8)),
            packer.flush(),
        ]
    )
    with pytest.raises(DocumentError) as refused:
        text_of(KEY + base64.urlsafe_b64encode(data).decode().rstrip("="))
    assert refused.value.code == "text-too-long"
