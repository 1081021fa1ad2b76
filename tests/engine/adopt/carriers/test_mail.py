"""E-mail: encodings, alternatives, attachments, quoted text, and the lines of the message."""

from __future__ import annotations

from email.message import EmailMessage

from support.pasted.carriers import SCHEDULE, TWICE, code, notebook

from tilewright.engine.adopt import Content, Piece, programs_of, read_program, unwrapped

HEAD = "From: Ada <ada@example.org>\nSubject: Re: [tvm-dev] slow split\nDate: Fri, 27 Nov 2026 10:00:00 +0100\n"


def content_of(text: str) -> Content:
    found = unwrapped(text)
    assert found is not None
    return found


def names(piece: Piece) -> list[str]:
    return [program.name for program in programs_of(piece.parts).programs]


def written(text: str, **how: str) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Subject"], message["MIME-Version"] = "ada@example.org", "slow split", "1.0"
    message.set_content(text, **how)  # pyright: ignore[reportArgumentType]
    return message


def test_a_plain_message_keeps_its_lines() -> None:
    text = HEAD + "\nHello, this program is slow:\n\n" + TWICE + "\nThanks!\n"
    (piece,) = content_of(text).pieces
    assert names(piece) == ["twice"] and piece.text.startswith("# Re: [tvm-dev] slow split")
    (part,) = [part for part in piece.parts if part.kind == "code"]
    assert text.split("\n")[piece.origin(part.first).line - 1] == "@T.prim_func"


def test_quoted_code_is_read() -> None:
    quoted = "".join(f"> {line}\n" for line in TWICE.splitlines())
    (piece,) = content_of(
        f"{HEAD}\nOn Friday Bob wrote:\n{quoted}\nSplit its loop like this, please:\n\n{SCHEDULE}"
    ).pieces
    (program,) = programs_of(piece.parts).programs
    assert len(read_program(program).schedule.trace.steps) == 3


def test_encoded_messages_are_decoded() -> None:
    text = f"A program with a long line and “quotes”.\n\n{TWICE.replace('* T.float32(2)', '* T.float32(2)' + ' + T.float32(1)' * 5)}"
    printable = written(text, cte="quoted-printable").as_string()
    assert "=\n" in printable
    (piece,) = content_of(printable).pieces
    assert names(piece) == ["twice"]
    (part,) = [part for part in piece.parts if part.kind == "code"]
    assert printable.split("\n")[piece.origin(part.first).line - 1] == "@T.prim_func"
    (piece,) = content_of(written(text, cte="base64").as_string()).pieces
    assert names(piece) == ["twice"] and piece.origin(3).section == "the decoded text"


def test_of_alternatives_the_plain_text_is_read() -> None:
    message = written("Slow program below, please help.\n\n" + TWICE)
    message.add_alternative(f"<html><body><pre>{TWICE.replace('twice', 'other')}</pre></body></html>", subtype="html")
    (piece,) = content_of(message.as_string()).pieces
    assert names(piece) == ["twice"]


def test_a_page_in_a_message_is_read() -> None:
    message = EmailMessage()
    message["From"], message["Subject"] = "a@example.org", "page"
    message.set_content(
        f"<html><body><p>Slow:</p><pre>{TWICE}</pre></body></html>", subtype="html", cte="quoted-printable"
    )
    (piece,) = content_of(message.as_string()).pieces
    assert names(piece) == ["twice"]


def test_attached_programs_are_texts_of_their_own() -> None:
    message = written("Please see the attached files.\n")
    message.add_attachment("M = 64\n" + TWICE.replace("64", "M"), filename="twice.py")
    message.add_attachment(
        notebook(code(TWICE.replace("twice", "again"))).encode(),
        maintype="application",
        subtype="x-ipynb+json",
        filename="again.ipynb",
    )
    message.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="loops.png")
    found = content_of(message.as_string())
    assert [(piece.name, names(piece)) for piece in found.pieces] == [
        ("", []),
        ("twice.py", ["twice"]),
        ("again.ipynb", ["again"]),
    ]
    assert str(found.pieces[2].origin(1)) == "again.ipynb, cell 1, line 1"
    (note,) = found.notes
    assert note.text == "the attachment 'loops.png' (image/png) is left out"


def test_flowed_lines_are_joined() -> None:
    flowed = TWICE.replace("b: T.Buffer", " \nb: T.Buffer").replace("\n    ", "\n     ")
    text = f"{HEAD}Content-Type: text/plain; format=flowed\n\nThis is the slow program:\n\n{flowed}"
    (piece,) = content_of(text).pieces
    assert names(piece) == ["twice"]


def test_a_text_that_mentions_headers_is_no_message() -> None:
    assert unwrapped(f"Subject: how do I split a loop?\n\n{TWICE}") is None
    assert unwrapped(f"Note: this is slow\nFrom: the forum\n\n{TWICE}") is None
