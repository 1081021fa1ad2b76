"""Files that a page uploads in parts: those that are dropped on the start page or chosen there. They stay in a private folder until they
are opened."""

from __future__ import annotations

import binascii
import re
import shutil
import zipfile
import zlib
from base64 import b64decode
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import msgspec

from ...engine.cancellation import checkpoint
from ...engine.ir import Refusal, TilewrightError
from ...engine.network import is_model_file
from ...engine.network.frontends import model_suffixes
from ..document import DocumentError, load_document
from ..document.files.program_folder import folder_text, is_text_file
from ..document.networks import MODEL, is_model
from ..document.posts import labels_of
from ..limits import LIMITS
from ..protocol.messages import UploadPart

MOST_FILES = 2_000
MOST_FOLDERS = 12

_CHUNK = 1 << 20
_FOREIGN = re.compile(r"[^\w .+-]")


class UploadContents(msgspec.Struct, frozen=True):
    """What can be opened: the programs of `text`, which has `labels` for them if there are also `models`, the files or folders of these,
    and the `folder` of the files beside the programs."""

    text: str
    labels: tuple[str, ...] = ()
    models: tuple[Path, ...] = ()
    folder: str = ""

    @property
    def model_labels(self) -> tuple[str, ...]:
        """The models in the list of what can be opened."""
        return tuple(f"{path.name}, a model" for path in self.models)

    def model_numbered(self, number: int) -> Path:
        """The model with this number (from 1) in the list of the programs and then the models; 0 is the first. Raises DocumentError
        "no-such-program"."""
        at = max(number - len(self.labels) - 1, 0)
        if at >= len(self.models):
            raise DocumentError(Refusal("no-such-program", f"the files have no program {number}"))
        return self.models[at]

    @property
    def is_one(self) -> bool:
        """Whether there is nothing to choose."""
        return not self.models or len(self.labels) + len(self.models) == 1


class Upload:
    """The files of one drop. `number` is that of the page."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.received = 0
        self._folder = TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True)
        self._files: dict[str, Path] = {}

    def add(self, part: UploadPart) -> None:
        """Append a part to its file. Raises DocumentError "bad-upload", "too-large"."""
        try:
            data = b64decode(part.data, validate=True)
        except (binascii.Error, ValueError) as error:
            raise DocumentError(Refusal("bad-upload", f"a part of {part.name[:80]!r} is not base64")) from error
        self.received += len(data)
        if self.received > LIMITS.upload_bytes:
            raise too_large(f"at most {LIMITS.upload_bytes >> 20} MiB")
        if part.name not in self._files:
            if len(self._files) == MOST_FILES:
                raise too_large(f"at most {MOST_FILES} files")
            self._files[part.name] = self.root / place_in_folder(part.name)
        path = self._files[part.name]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(data)

    @property
    def _unpacked_root(self) -> Path:
        return Path(self._folder.name) / "archive"

    @property
    def root(self) -> Path:
        """The folder of the files."""
        return Path(self._folder.name) / "files"

    @property
    def title(self) -> str:
        """The name of the file or of the folder that was dropped."""
        first = next(iter(self._files), "")
        return PurePosixPath(first).parts[0] if "/" in first else PurePosixPath(first).stem

    def contents(self) -> UploadContents:
        """The models and programs of the files, also of those in an archive. Raises DocumentError "too-large", and the errors of
        `load_document` and `folder_text`."""
        files, root = sorted(path for path in self.root.rglob("*") if path.is_file()), self.root
        if (
            len(files) == 1 and not is_model_file(files[0].name) and zipfile.is_zipfile(files[0])
        ):  # a .pt2 is a zip file too
            files, root = self._unpacked(files[0]), self._unpacked_root
        folders = [path.parent for path in files if path.name == MODEL and is_model(path)]
        models = [*folders, *(path for path in files if is_model_file(path.name))]
        if not models:
            return UploadContents(self._text(), folder=str(self.root) if len(self._files) > 1 else "")
        text = folder_text(root, folders)
        try:
            labels = labels_of(text, "", root)
        except TilewrightError:  # none of the texts is a program
            labels = ()
        return UploadContents(text, labels, tuple(models), str(root))

    def _text(self) -> str:
        files = list(self._files.values())
        if len(files) != 1:
            return folder_text(self.root)
        try:
            return load_document(files[0]).text
        except DocumentError as error:
            raise not_a_program(files[0].name) if error.code == "not-utf-8" else error from None

    def close(self) -> None:
        """Delete the files."""
        self._folder.cleanup()

    def _unpacked(self, path: Path) -> list[Path]:
        """The files of an archive that may be programs or parts of a model, unpacked beside it; none for an archive without a model."""
        try:
            with zipfile.ZipFile(path) as archive:
                entries = [entry for entry in archive.infolist() if not entry.is_dir()][: MOST_FILES + 1]
                names = [PurePosixPath(entry.filename).name for entry in entries]
                if not any(name == MODEL or is_model_file(name) for name in names):
                    return []
                if len(entries) > MOST_FILES:
                    raise too_large(f"at most {MOST_FILES} files")
                kept = [e for e in entries if _is_wanted(e.filename) and not e.flag_bits & 1]
                return list(_unpacked_files(archive, kept, self._unpacked_root))
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise DocumentError(
                Refusal("bad-archive", f"the archive is damaged: {error}", expected="a zip file")
            ) from error


def _is_wanted(name: str) -> bool:
    return is_model_file(name) or is_text_file(name)


def _unpacked_files(archive: zipfile.ZipFile, entries: list[zipfile.ZipInfo], target: Path) -> list[Path]:
    """Write entries of an archive below `target`; sizes are counted while they are unpacked."""
    found: list[Path] = []
    rest = LIMITS.upload_bytes
    for entry in entries:
        path = target / place_in_folder(entry.filename)
        path.parent.mkdir(parents=True, exist_ok=True)
        with archive.open(entry) as source, path.open("wb") as file:
            while chunk := source.read(_CHUNK):
                checkpoint()
                rest -= len(chunk)
                if rest < 0:
                    raise too_large(f"at most {LIMITS.upload_bytes >> 20} MiB")
                file.write(chunk)
        found.append(path)
    return sorted(found)


def place_in_folder(name: str) -> Path:
    """The place of a file inside of a folder, for any name. Raises DocumentError "bad-upload" for a name of no file."""
    parts = [part for part in PurePosixPath(name.replace("\\", "/")).parts if part not in ("/", ".", "..")]
    shown = [_FOREIGN.sub("_", part)[:120] for part in parts]
    if not shown or len(shown) > MOST_FOLDERS or any(set(part) <= {".", " "} for part in shown):
        raise DocumentError(Refusal("bad-upload", "this is not the name of a file", found=repr(name[:80])))
    return Path(*shown)


def copied_model(source: Path, target: Path) -> Path:
    """Copy the folder of a model: its file and its kernels."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    return target


def too_large(expected: str) -> DocumentError:
    """The error of an upload over a limit."""
    message = "the files are too large for the page"
    return DocumentError(Refusal("too-large", message, expected=expected, fix=("tilewright import FILE -o FOLDER",)))


def not_a_program(name: str) -> DocumentError:
    """The error of a file that is neither text nor a model."""
    expected = f"a program, a notebook, a post, a zip archive, or a model ({', '.join(model_suffixes())})"
    return DocumentError(Refusal("not-a-program", f"{name} is not text", expected=expected))


__all__ = ["Upload", "UploadContents", "copied_model", "place_in_folder"]
