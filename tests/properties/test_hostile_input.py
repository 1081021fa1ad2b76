"""The server answers any input: a message or a text ends in a state that can be drawn, within a bounded time.

`HYPOTHESIS_PROFILE=deep` runs more of them; docs/security.md has the figures of such a run.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.profile import few
from support.sessions.hostile import EXAMPLES, NASTY, all_views, messages, mutated_texts, onlooked, values
from support.sessions.pages import painted
from tornado.httputil import HTTPHeaders

from tilewright.app.actions.opening import OpenText
from tilewright.app.actions.table import act
from tilewright.app.protocol.messages import REQUESTS, decode_request
from tilewright.app.server.access import AccessPolicy, PassOn, make_policy
from tilewright.app.session.execute_request import perform
from tilewright.app.state.model import State
from tilewright.engine.ir import Refusal

NAMES = sorted({f.encode_name for message in REQUESTS.values() for f in msgspec.structs.fields(message)})
"""Of all fields."""

SOURCES = tuple(example.text for example in EXAMPLES)

pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")  # for large fields

PATIENCE_SECONDS = 20.0
"""The longest time of a message, in seconds; far above the measured times, for busy machines."""


class Stopwatch:
    def __enter__(self) -> None:
        self._began = time.process_time()

    def __exit__(self, *_: object) -> None:
        spent = time.process_time() - self._began
        assert spent < PATIENCE_SECONDS, f"{spent:.1f} s"


@few(4)
@given(st.sampled_from(["place_the_copies", "box_blur", "vtcm_double_buffer"]), st.lists(messages(), max_size=6))
def test_law_any_messages_leave_a_page_that_can_be_drawn(name: str, sent: list[dict[str, Any]]) -> None:
    with onlooked(name) as session:
        for message in sent:
            with Stopwatch():
                session.receive(message, msgspec.json.encode)
                for query in ({"kind": "targets", "rows": ["ko"]}, {"kind": "menu", "row": str(message.get("row"))}):
                    session.receive(query, msgspec.json.encode)


@few(4)
@given(mutated_texts(SOURCES))
def test_law_any_text_opens_and_can_be_drawn_or_is_refused(text: str) -> None:
    with Stopwatch():
        state = act(State(), OpenText(text))
        assert (state.notebook is None) == (state.notice is not None)
        msgspec.json.encode(all_views(*painted(state)))


@few(4)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(REQUESTS)), st.dictionaries(st.sampled_from(NAMES), values, max_size=5)),
        max_size=5,
    )
)
def test_law_any_requests_are_executed_refused_or_invalid(sent: list[tuple[str, dict[str, Any]]]) -> None:
    with onlooked("place_the_copies") as session:
        answers: list[Refusal | None] = []
        for name, given_fields in sent:
            wanted = {f.encode_name for f in msgspec.structs.fields(REQUESTS[name])}
            data = {"kind": name, **{key: value for key, value in given_fields.items() if key in wanted}}
            try:
                message = decode_request(json.dumps(data).encode())
            except (msgspec.MsgspecError, RecursionError):
                continue
            before = session.state
            with Stopwatch():
                perform(session, message, answers.append)
            refused = answers.pop()
            if refused is not None:
                json.dumps(refused.to_json()).encode()
                assert session.state.notebook is before.notebook


@given(
    st.one_of(
        st.binary(max_size=200),
        values.map(lambda v: json.dumps(v).encode()),
        st.integers(0, 20_000).map(lambda n: b"[" * n),
    )
)
def test_law_any_body_is_a_message_or_invalid(body: bytes) -> None:
    with suppress(msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        assert type(decode_request(body)).__name__


header_texts = st.one_of(
    st.sampled_from(["127.0.0.1:5006", "localhost", "evil.example", "http://127.0.0.1:5006", "null", "Bearer x", "a=x", "[::1]", "[", ":"]),
    st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=30),
)  # fmt: skip


@given(
    st.sampled_from([make_policy(), make_policy("0.0.0.0", "correct-horse-battery"), make_policy(prefix="/tiles")]),
    st.sampled_from(["GET", "POST", "PUT", "TRACE", "", "get"]),
    st.one_of(st.sampled_from(["/", "/api", "/api/sessions", "/ws", "/login", "//evil/", "/?token=x", *NASTY[:6]]), st.text(max_size=30)),
    st.dictionaries(st.sampled_from(["Host", "Origin", "Cookie", "Authorization", "Sec-Fetch-Site", "Sec-Fetch-Mode"]), header_texts),
)  # fmt: skip
def test_law_requests_without_the_token_are_refused(
    policy: AccessPolicy, method: str, target: str, headers: dict[str, str]
) -> None:
    decision = policy.decide(method, target, HTTPHeaders(headers))
    if isinstance(decision, PassOn):
        assert decision.target.startswith(("/login", "/healthz")) and "evil" not in headers["Host"]
    else:
        assert decision.status in (302, 400, 401, 403, 405)
        assert decision.status != 302 or dict(decision.headers).keys() == {"Location"}, "no cookie"
