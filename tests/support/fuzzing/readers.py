"""The fuzzed readers: their inputs, the seeds and the mutations."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import mkdtemp
from typing import Any, NamedTuple

import msgspec
from support.programs.sources import ELEMENTWISE_CHAIN, MATMUL
from support.sessions.hostile import FIELDS, METHODS, NASTY, ROWS, NoClock

from tilewright.app.cli import main
from tilewright.app.document import evaluate, read_document, schedule_items
from tilewright.app.document.editing.branches import branches
from tilewright.app.document.pasted import converted
from tilewright.app.links import text_of
from tilewright.app.protocol.messages import MESSAGES, decode_request
from tilewright.app.session.execute_request import perform
from tilewright.app.session.session import Session
from tilewright.app.views.shell.gallery import load_examples
from tilewright.engine.adopt import from_tvm_trace, programs_of, read_pasted, read_program, unwrapped
from tilewright.engine.hwsim import read_machine
from tilewright.engine.ir import Refusal, TilewrightError
from tilewright.engine.script import parse, read_calls
from tilewright.engine.te import read_te

from . import seeds
from .json_mutations import json_text, mutated_json
from .judging import Data, FindError
from .mutations import mutated_bytes, mutated_text

INSTRUCTIONS = (
    "GetSBlock",
    "GetLoops",
    "Split",
    "Fuse",
    "Reorder",
    "CacheRead",
    "ComputeAt",
    "RFactor",
    "Annotate",
    "Blockize",
    "b0",
    "l1",
    "l2",
    "v4",
)


class Reader(NamedTuple):
    """`read` raises the reader's refusal of an input; `mutate` creates a new input from an old one."""

    name: str
    seeds: Callable[[], Sequence[Data]]
    mutate: Callable[[Random, Data, Sequence[Data]], Data]
    read: Callable[[Data], object]


# ---- How inputs are read.


def _utf8(data: Data) -> str:
    return data if isinstance(data, str) else data.decode("utf-8", "replace")


def _notebook(data: Data) -> None:
    """Read a file's text like the app and the command line: cells, a post as a notebook, the schedule applied."""
    document = converted(read_document(_utf8(data)), "dual-bank-npu").document
    branches(document)
    schedule_items(document)
    _raise(evaluate(document).error)


def _raise(error: TilewrightError | None) -> None:
    if error is not None:
        raise error


def _carrier(data: Data) -> None:
    """What a carrier has, as the app and the command line read it; other texts are refused here."""
    content = unwrapped(_utf8(data))
    if content is None:
        raise TilewrightError(Refusal("no-carrier", "this is text"))
    for piece in content.pieces:
        found = programs_of(piece.parts)
        for note in (*content.notes, *found.notes):
            piece.note(note)
        for program in found.programs:
            read_program(program)


@cache
def _programs() -> tuple[Any, ...]:
    return tuple(parse(text).program for text in (MATMUL, ELEMENTWISE_CHAIN))


def _trace(data: Data) -> None:
    """A trace on a program that has the named blocks."""
    text = _utf8(data)
    from_tvm_trace(text, _programs()['"C"' not in text])


def _form(data: Data) -> None:
    """The body of a request, executed on a session."""
    body = data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")
    try:
        message = decode_request(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):  # the API answers these with 400
        return
    session = _session()
    answers: list[Refusal | None] = []
    perform(session, message, answers.append)
    for refusal in answers:
        if refusal is not None:
            json.dumps(refusal.to_json()).encode()
            raise TilewrightError(refusal)


def _messages(data: Data) -> None:
    """Messages of a page, one after the other. An impossible message leaves a notice."""
    try:
        sent = json.loads(_utf8(data))
    except (ValueError, RecursionError):  # no message: Bokeh refuses it
        return
    for message in sent if isinstance(sent, list) else ():
        if not isinstance(message, dict):
            continue
        session = _session()
        before = session.state.notice
        session.receive(message)
        notice = session.state.notice
        if notice is not None and notice is not before:
            if notice.code == "internal-error":
                raise FindError(notice.message)
            json.dumps(msgspec.to_builtins(notice), default=str).encode("utf-8", "surrogatepass")


class _Kept:
    session: Session | None = None
    used = 0


def _session() -> Session:
    """A page with an example, replaced by a fresh one from time to time."""
    if _Kept.session is None or _Kept.used >= 40:
        if _Kept.session is not None:
            _Kept.session.close()
        _Kept.session, _Kept.used = Session(NoClock(), load_examples()), 0
        _Kept.session.receive({"kind": "open", "name": "place_the_copies"})
    _Kept.used += 1
    return _Kept.session


@cache
def _folder() -> Path:
    folder = Path(mkdtemp(prefix="tilewright-fuzz-"))
    (folder / "program.py").write_text(MATMUL, encoding="utf-8")
    return folder


def _import(data: Data) -> None:
    """`tilewright import --json` of a file: the exit code, and JSON with the notebook or the error."""
    file = _folder() / "input"
    file.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    program = ["--program", str(_folder() / "program.py")] if data[:1] in ("[", b"[") else []
    out, stderr = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(stderr):
        code = main(["import", str(file), "--json", *program])
    answer = json.loads(out.getvalue())
    if (code == 0) != ("text" in answer):
        raise FindError(f"exit code {code}, and {sorted(answer)}")
    if code:
        fields = {name: answer["error"][name] for name in ("code", "message", "found", "expected")}
        raise TilewrightError(Refusal(**fields))


# ---- How inputs are changed.


def _text(random: Random, data: Data, others: Sequence[Data]) -> Data:
    return mutated_text(random, _utf8(data), [_utf8(o) for o in others])


def _json(words: Sequence[str], random: Random, data: Data, others: Sequence[Data]) -> Data:
    """Mutate mostly the tree; sometimes the text, which is then often not JSON."""
    text = _utf8(data)
    if random.random() < 0.1:
        return mutated_text(random, text, [_utf8(o) for o in others])
    try:
        value, seed = json.loads(text), json.loads(_utf8(random.choice(others)))
    except (ValueError, RecursionError):
        return mutated_text(random, text, [_utf8(o) for o in others])
    return json_text(mutated_json(random, value, [seed], words))


def _form_json(random: Random, data: Data, others: Sequence[Data]) -> Data:
    return _json((*ROWS, *METHODS, *FIELDS), random, data, others)


def _trace_text(random: Random, data: Data, others: Sequence[Data]) -> Data:
    if _utf8(data).lstrip().startswith("["):
        return _json(INSTRUCTIONS, random, data, [o for o in others if _utf8(o).startswith("[")])
    return _text(random, data, others)


def _bytes(random: Random, data: Data, others: Sequence[Data]) -> Data:
    if random.random() < 0.5:
        return _text(random, data, others)
    found = [o if isinstance(o, bytes) else o.encode("utf-8", "surrogatepass") for o in (data, *others)]
    return mutated_bytes(random, found[0], found[1:])


def _carried(random: Random, data: Data, others: Sequence[Data]) -> Data:
    """A carrier with another tree, if it is JSON, or other text."""
    if data[:1] in ("{", b"{") and random.random() < 0.7:
        try:
            return json_text(mutated_json(random, json.loads(data), ["x", 1, None, [], {}]))
        except (ValueError, RecursionError):
            pass
    return _text(random, data, others)


def _file(random: Random, data: Data, others: Sequence[Data]) -> Data:
    if data[:1] in ("[", b"["):
        return _trace_text(random, data, [o for o in others if o[:1] == "["])
    return _bytes(random, data, others)


READERS = {
    reader.name: reader
    for reader in (
        Reader("script", seeds.scripts, _text, lambda data: parse(_utf8(data))),
        Reader("te", seeds.te_texts, _text, lambda data: read_te(_utf8(data))),
        Reader("calls", lambda: (seeds.CALLS, *NASTY), _text, lambda data: read_calls(_utf8(data))),
        Reader("pasted", seeds.pasted, _text, lambda data: read_pasted(_utf8(data))),
        Reader("notebook", seeds.notebooks, _text, _notebook),
        Reader("trace", lambda: (*seeds.traces(), seeds.TRACE_TEXT), _trace_text, _trace),
        Reader("carriers", seeds.carriers, _carried, _carrier),
        Reader("machine", seeds.machines, _text, lambda data: read_machine(_utf8(data))),
        Reader("link", seeds.links, _bytes, lambda data: text_of(_utf8(data))),
        Reader("form", lambda: [json_text(f) for f in seeds.FORMS], _form_json, _form),
        Reader(
            "messages",
            lambda: [json_text([m]) for m in seeds.MESSAGES],
            partial(_json, (*ROWS, *MESSAGES, *FIELDS, *METHODS)),
            _messages,
        ),
        Reader(
            "import",
            lambda: (*seeds.pasted(), *seeds.scripts(), *seeds.traces(), *seeds.links(), *seeds.notebooks()),
            _file,
            _import,
        ),
    )
}
