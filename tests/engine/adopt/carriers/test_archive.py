"""Zip archives: their files are texts of their own, within limits that the archive cannot falsify."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest
from support.pasted.carriers import TWICE, code, notebook

from tilewright.engine.adopt import Content, archive_text, programs_of, unwrapped
from tilewright.engine.ir import TilewrightError


def zipped(files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> str:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    text = archive_text(stream.getvalue())
    assert text is not None
    return text


def content_of(text: str) -> Content:
    found = unwrapped(text)
    assert found is not None
    return found


def test_each_file_has_its_own_names() -> None:
    found = content_of(
        zipped(
            {
                "b.py": b"M = 64\n" + TWICE.replace("64", "M").encode(),
                "a/n.ipynb": notebook(code(TWICE)).encode(),
                "c.py": b"M = 1",
            }
        )
    )
    names = [(piece.name, [p.name for p in programs_of(piece.parts).programs]) for piece in found.pieces]
    assert names == [("a/n.ipynb", ["twice"]), ("b.py", ["twice"]), ("c.py", [])]
    assert str(found.pieces[0].origin(1)) == "cell 1, line 1"


def test_files_that_are_no_text_are_listed() -> None:
    found = content_of(
        zipped({"x.png": b"\x89PNG\0", "l.py": b"caf\xe9", "inner.zip": b"PK\x03\x04\0\0", "k.py": TWICE.encode()})
    )
    assert [piece.name for piece in found.pieces] == ["k.py"]
    assert [note.text for note in found.notes] == [
        "the file 'inner.zip', which is not text, is left out",
        "the file 'l.py', which is not UTF-8 text, is left out",
        "the file 'x.png', which is not text, is left out",
    ]


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = zipped({f"{n}.py": b" " * 4_000_000 for n in range(9)})
    assert len(bomb) < 60_000
    with pytest.raises(TilewrightError) as caught:
        unwrapped(bomb)
    assert caught.value.code == "too-large"


def test_sizes_that_the_archive_claims_do_not_count() -> None:
    text = zipped({"k.py": b" " * 11_000_000})
    from base64 import b64decode, b64encode

    prefix, _, encoded = text.partition(",")
    data = b64decode(encoded).replace((11_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    found = content_of(f"{prefix},{b64encode(data).decode()}")
    assert not found.pieces or len(found.pieces[0].text) <= 10


def test_too_many_files_are_refused() -> None:
    with pytest.raises(TilewrightError) as caught:
        unwrapped(zipped({f"{n}.py": b"" for n in range(2_001)}, zipfile.ZIP_STORED))
    assert caught.value.code == "too-large"


@pytest.mark.parametrize("name", ["../../etc/passwd", "/etc/passwd", "C:\\x.py", "a\x1b[2Jb.py"])
def test_names_are_labels_only(name: str) -> None:
    (piece,) = content_of(zipped({name: TWICE.encode()})).pieces
    assert piece.name.isprintable() and [p.name for p in programs_of(piece.parts).programs] == ["twice"]


@pytest.mark.parametrize("text", ["UEsDBA==", "UEs", "§", "", "UEsFBgAAAAAAAAAAAAAAAAAAAAAAAAA=="])
def test_a_damaged_archive_is_refused(text: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        unwrapped(f"data:application/zip;base64,{text}")
    assert caught.value.code in ("bad-archive", "internal-error") and "bug" not in str(caught.value)


def test_an_encrypted_file_is_listed() -> None:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("k.py", TWICE)
    data = bytearray(stream.getvalue())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    text = archive_text(bytes(data))
    assert text is not None
    (note,) = content_of(text).notes
    assert note.text == "the file 'k.py', which is encrypted, is left out"
