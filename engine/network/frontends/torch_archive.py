"""Archives of torch.export: which entries a file may have, and a copy of them that holds nothing which PyTorch would run.

The copy has the tensors byte by byte and the JSON as it was decoded; examples of inputs, which are pickled, and files of the user are left
out. PyTorch reads the copy alone, so that it cannot see another file in the archive than this module has checked.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...ir import Refusal, TilewrightError
from .torch_schema import ExportedProgram, Payloads

MAX_ENTRIES = 20_000
MAX_JSON_BYTES = 64 << 20
MAX_LINE_BYTES = 100
"""Of entries that hold one word, such as the version."""

FIXED: dict[str, tuple[bytes, ...]] = {
    "archive_format": (b"pt2",),
    "archive_version": (b"0",),
    "byteorder": (b"little", b"big"),
    ".data/version": (),
}
"""Entries of one word, with its possible values; PyTorch checks its version itself."""

TENSOR = re.compile(r"data/(?:weights/weight_\d{1,7}|constants/tensor_\d{1,7})")
RECORDS = {
    "models/model.json": ExportedProgram,
    "data/weights/model_weights_config.json": Payloads,
    "data/constants/model_constants_config.json": Payloads,
}
EXAMPLES = "data/sample_inputs/model.pt"
LEFT_OUT = re.compile(r"\.data/serialization_id|extra/[^/].*")

REASONS = (
    (re.compile(r".*(?:custom_obj|opaque_obj).*"), "it is a pickled object"),
    (re.compile(r"data/aotinductor/.*|.*\.(?:so|dll|dylib|o|a|cpp|cu|cubin|ptx|py|pyc)"), "it is code"),
    (re.compile(r"data/(?:weights|constants)/.*\.pt"), "it is pickled: save it with PyTorch 2.9 or newer"),
    (re.compile(r"(?:version|serialized_.*)"), "its format is old: save it with PyTorch 2.9 or newer"),
    (re.compile(r"models/.*|data/sample_inputs/.*"), "one program is expected, with the name 'model'"),
)
"""Why entries are not among the known ones."""


class ArchiveEntry(NamedTuple):
    """An entry of the archive, and its name below the folder that all entries share."""

    info: zipfile.ZipInfo
    name: str


def copy_known(path: Path, copy: Path) -> None:
    """Write a copy of the archive with what is known. Raises TilewrightError "unsafe-model" for an unknown entry or field."""
    try:
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
            for entry in _entries(path, archive):
                _copy(path, archive, entry, target)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, UnicodeDecodeError) as error:
        raise _refused(path, f"it is no intact archive ({error})") from error


def _entries(path: Path, archive: zipfile.ZipFile) -> Iterator[ArchiveEntry]:
    """The entries after checks of names and sizes."""
    infos = archive.infolist()
    if len(infos) > MAX_ENTRIES:
        raise _refused(path, f"it has {len(infos):,} entries; at most {MAX_ENTRIES:,} are read")
    if sum(info.file_size for info in infos) > path.stat().st_size:
        raise _refused(path, "its entries are larger than the file: compressed or overlapping entries are not read")
    folder = infos[0].filename.partition("/")[0] if infos else ""
    seen: set[str] = set()
    for info in infos:
        first, _, name = info.filename.partition("/")
        parts = info.filename.split("/")
        if first != folder or "\\" in name or any(part in ("", ".", "..") for part in parts):
            raise _refused(path, f"the entry {info.filename[:100]!r} is outside of its folder")
        if name in seen:
            raise _refused(path, f"two entries are named {name[:100]!r}")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise _refused(path, f"the entry {name[:100]!r} is compressed or encrypted")
        seen.add(name)
        yield ArchiveEntry(info, name)


def _copy(path: Path, archive: zipfile.ZipFile, entry: ArchiveEntry, target: zipfile.ZipFile) -> None:
    """Write the copy of one entry. Raises TilewrightError if it is not known."""
    info, name = entry
    to = f"model/{name}"
    if TENSOR.fullmatch(name):
        with archive.open(info) as source, target.open(to, "w", force_zip64=True) as written:
            shutil.copyfileobj(source, written, 1 << 20)
    elif name in RECORDS:
        target.writestr(to, _record(path, archive, entry))
    elif name in FIXED:
        data = _small(path, archive, entry, MAX_LINE_BYTES)
        if FIXED[name] and data not in FIXED[name]:
            raise _refused(path, f"{name} is {data[:20]!r}, not {FIXED[name][0].decode()}")
        target.writestr(to, data)
    elif name == EXAMPLES:
        target.writestr(to, b"")  # PyTorch unpickles examples of inputs, and needs none
    elif not LEFT_OUT.fullmatch(name):
        reason = next((text for pattern, text in REASONS if pattern.fullmatch(name)), "this entry is not known")
        raise _refused(path, f"{name[:100]}: {reason}")


def _record(path: Path, archive: zipfile.ZipFile, entry: ArchiveEntry) -> bytes:
    """An entry in JSON, decoded with the fields that are known, and encoded again."""
    data = _small(path, archive, entry, MAX_JSON_BYTES)
    try:
        return msgspec.json.encode(msgspec.json.decode(data, type=RECORDS[entry.name]))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _refused(path, f"{entry.name}: {str(error)[:300]}") from error


def _small(path: Path, archive: zipfile.ZipFile, entry: ArchiveEntry, most_bytes: int) -> bytes:
    if entry.info.file_size > most_bytes:
        raise _refused(path, f"{entry.name} has {entry.info.file_size:,} B; at most {most_bytes:,} B are read")
    return archive.read(entry.info)


def _refused(path: Path, found: str) -> TilewrightError:
    message = f"{path.name} could run code when PyTorch reads it: {found}"
    expected = "a program saved by torch.export.save: tensors, operators of ATen, arithmetic on sizes"
    return TilewrightError(Refusal("unsafe-model", message, expected=expected))


__all__ = ["copy_known"]
