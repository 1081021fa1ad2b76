"""The recorded answers of TVM: a question whose program changes is asked, and the record is that of these tests."""

from __future__ import annotations

import pytest
from support.tvm import recorded as answers
from support.tvm.recorded import agreed, agreed_in, recorded, source_digest, version

pytestmark = pytest.mark.tvm


def test_the_record_is_of_these_tests_and_this_tvm() -> None:
    old = [file for file, known in recorded()["files"].items() if known["source"] != source_digest(file)]
    assert not old and recorded()["version"] == version, "record anew: PYTHONPATH=tests python -m support.record.tvm"


def test_another_question_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.delenv(answers.NEW, raising=False)
    agreed("a program that nobody has recorded", lambda: asked.append("new"))
    assert asked == ["new"]


def test_a_question_that_tvm_agreed_with_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    file, known = max(recorded()["files"].items(), key=lambda item: len(item[1]["agreed"]))
    assert len(agreed_in(file)) == len(known["agreed"].split()) > 20
    monkeypatch.setenv("PYTEST_CURRENT_TEST", f"tests/{file}::test_x (call)")
    monkeypatch.delenv(answers.NEW, raising=False)
    monkeypatch.setattr(answers, "IS_DEEP", False)
    for key, asks in (("1" * 12, False), ("0" * 12, True)):
        asked: list[str] = []
        monkeypatch.setattr(answers, "agreed_in", lambda _, key=key: {key})
        monkeypatch.setattr(answers, "digest", lambda _, key=key: key)
        agreed("", lambda asked=asked: asked.append("asked"))
        assert bool(asked) == asks


def test_a_changed_test_or_another_tvm_has_no_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    file = next(iter(recorded()["files"]))
    for name, other in (("source_digest", lambda _: "other"), ("version", "0.0")):
        with monkeypatch.context() as patch:
            patch.setattr(answers, name, other)
            agreed_in.cache_clear()
            assert not agreed_in(file)
    agreed_in.cache_clear()
