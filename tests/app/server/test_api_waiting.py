"""Requests that wait: none misses a change during the wait, and each is answered as soon as its result exists."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.sessions.served import Served, served
from support.sessions.slow import Slow

from tilewright.app.jobs import background_analysis as afterwards
from tilewright.app.jobs import drop_preview as drop_preview
from tilewright.app.jobs import on_demand as studies
from tilewright.app.server import api
from tilewright.app.session import session
from tilewright.app.session.registry import WatchedScreen

TOO_LONG_S = 15
"""Results arrive far earlier; requests that missed them would wait longer."""

PREDICTIONS = "targets?row=A_local.vtcm&predict=1&wait=30"
REFUSED_CALL = {"kind": "call", "method": "compute_at", "target": "A_local.vtcm", "arguments": {"loop": "ax0~3"}}


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    with served() as running:
        yield running


def until(holds: Callable[[], object]) -> None:
    cancel = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < cancel
        time.sleep(0.005)


def legal(answer: Any) -> set[str]:
    return {target["loop"] for target in answer["targets"] if target["legal"]}


def test_a_report_between_two_predictions_loses_none(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    report, drawn = Slow(afterwards.report_of), threading.Event()
    calls: list[str] = []
    draw, value = WatchedScreen.draw, drop_preview.prediction_value

    def drawing(self: WatchedScreen, *given: Any) -> None:
        draw(self, *given)
        if report.ended:
            drawn.set()

    def predicting(*given: Any) -> Any:
        calls.append("one")
        if len(calls) == 2:
            report.may_end.set()
            assert drawn.wait(60)
        return value(*given)

    monkeypatch.setattr(afterwards, "report_of", report)
    monkeypatch.setattr(WatchedScreen, "draw", drawing)
    monkeypatch.setattr(drop_preview, "prediction_value", predicting)
    address = server.opened()
    answer = server.ask("GET", f"{address}/{PREDICTIONS}")
    assert len(calls) >= 2, "the report came between two"
    assert answer.status == 200
    assert {entry["loop"] for entry in answer.json["predictions"]} == legal(answer.json)


def test_a_failed_prediction_is_reported_with_the_others(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    value, calls = drop_preview.prediction_value, list[str]()

    def failing(*given: Any) -> Any:
        calls.append("one")
        if len(calls) == 1:
            raise ZeroDivisionError("nothing to divide by")
        return value(*given)

    monkeypatch.setattr(drop_preview, "prediction_value", failing)
    address = server.opened()
    answer = server.ask("GET", f"{address}/{PREDICTIONS}")
    assert answer.status == 200
    values = {entry["loop"]: entry["value"] for entry in answer.json["predictions"]}
    assert values.keys() == legal(answer.json)
    (failed,) = (value for value in values.values() if "refused" in value)
    assert failed["code"] == "internal-error" and "nothing to divide by" in failed["refused"]


@pytest.mark.slow
def test_another_call_updates_the_predictions(
    server: Served,
) -> None:
    address = server.opened()
    before = server.ask("GET", f"{address}/{PREDICTIONS}").json
    assert server.ask("GET", f"{address}/{PREDICTIONS}").json["predictions"] == before["predictions"]
    call = {"kind": "call", "method": "compute_at", "target": "B_local.vtcm", "arguments": {"loop": "ko"}}
    assert server.ask("POST", address, call).status in (200, 202)
    after = server.ask("GET", f"{address}/{PREDICTIONS}")
    assert after.status == 200 and after.json["predictions"] != before["predictions"]
    assert {entry["loop"] for entry in after.json["predictions"]} == legal(after.json)


def test_a_change_during_an_answer_ends_the_wait(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    report = Slow(afterwards.report_of)
    monkeypatch.setattr(afterwards, "report_of", report)
    monkeypatch.setattr(afterwards, "DEBOUNCE_MS", 10**7)  # no other change
    monkeypatch.setattr(studies, "DEBOUNCE_MS", 10**7)
    address = server.opened()
    handle, original = server.sessions.find(address.rpartition("/")[2]), api.state_parts
    answers: list[Any] = []

    def recording(*given: Any) -> Any:
        answer = original(*given)
        answers.append(answer)
        if len(answers) == 1:
            simulating = handle.session.updater._background._simulating
            assert simulating is not None
            report.may_end.set()
            report.until_ended(1)
            assert simulating._done.wait(60)
        return answer

    monkeypatch.setattr(api, "state_parts", recording)
    began = time.monotonic()
    answer = server.ask("GET", f"{address}?parts=report&wait=30")
    assert answer.status == 200 and answer.json["state"]["report"]["cycles"] > 0
    assert time.monotonic() - began < TOO_LONG_S


@pytest.mark.slow
def test_a_change_refused_late_answers_all_waiting_requests(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    address = server.opened()
    handle = server.sessions.find(address.rpartition("/")[2])
    server.ask("GET", f"{address}?parts=report,verdict,problems&wait=60")
    slow = Slow(session.act)
    monkeypatch.setattr(session, "act", slow)
    with ThreadPoolExecutor(2) as pool:
        change = pool.submit(server.ask, "POST", address, REFUSED_CALL)
        assert slow.begun.wait(60)
        began = time.monotonic()
        waiting = pool.submit(server.ask, "GET", f"{address}?parts=steps&wait=30")
        until(lambda: handle.screen._waiting)
        slow.may_end.set()
        assert change.result().status == 409
        assert waiting.result().status == 200 and "change" not in waiting.result().json["pending"]
        assert time.monotonic() - began < TOO_LONG_S
