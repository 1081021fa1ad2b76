"""The keys and tickets of browsers: their lifetime and scope."""

from __future__ import annotations

import pytest

from tilewright.app.server.keys import KEY_SECONDS, MOST_TICKETS, TICKET_SECONDS, Keys


class Clock:
    """A settable clock."""

    def __init__(self) -> None:
        self.seconds = 1_000_000_000.0

    def __call__(self) -> float:
        return self.seconds


def test_a_key_is_valid_for_its_lifetime() -> None:
    clock = Clock()
    keys = Keys(now=clock)
    key = keys.new_key()
    assert keys.why_refused(key) == ""
    clock.seconds += KEY_SECONDS - 1
    assert keys.why_refused(key) == "" and keys.why_refused(keys.new_key()) == ""
    renewed = keys.new_key()
    clock.seconds += 1
    assert keys.why_refused(key) == "expired" and keys.why_refused(renewed) == ""


def test_credentials_are_invalid_after_a_restart() -> None:
    before, after = Keys(), Keys()
    assert after.why_refused(before.new_key()) == "restarted"
    assert not after.redeem("page", before.new_ticket("page"))
    assert before.page_secret != after.page_secret


@pytest.mark.parametrize(
    "key", ["", ".", "..", "a.b.c", "x" * 9999, "\ud800.\udfff.\u00e4", "0123456789abcdef.99999999999.", "null"]
)
def test_a_missing_key_is_refused(key: str) -> None:
    assert Keys().why_refused(key) in ("wrong", "restarted")


def test_a_key_with_a_changed_expiry_is_refused() -> None:
    keys = Keys()
    run, until, digest = keys.new_key().split(".")
    assert keys.why_refused(f"{run}.{int(until) + 1}.{digest}") == "wrong"


def test_a_ticket_is_valid_once_for_its_kind_for_seconds() -> None:
    clock = Clock()
    keys = Keys(now=clock)
    ticket = keys.new_ticket("page")
    assert keys.redeem("page", ticket) and not keys.redeem("page", ticket)
    ticket = keys.new_ticket("entry")
    assert not keys.redeem("page", ticket) and not keys.redeem("entry", ticket), "used up"
    ticket = keys.new_ticket("page")
    clock.seconds += TICKET_SECONDS
    assert not keys.redeem("page", ticket)


def test_the_oldest_of_many_tickets_are_dropped() -> None:
    keys = Keys()
    tickets = [keys.new_ticket("page") for _ in range(MOST_TICKETS + 1)]
    assert not keys.redeem("page", tickets[0]) and keys.redeem("page", tickets[1]) and keys.redeem("page", tickets[-1])
