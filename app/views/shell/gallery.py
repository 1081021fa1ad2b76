"""The start screen's value: a card for each notebook with title, one sentence, the question that it answers and a few facts, all read
from its text, and a thumbnail."""

from __future__ import annotations

import codecs
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from itertools import islice
from pathlib import Path

import msgspec

from ....engine.adopt import is_carrier, unwrapped
from ....engine.ir import Refusal, TilewrightError
from ...actions.related import EXAMPLES
from ...document import Document, DocumentError, load_document, read_document
from ...document.files.read_write import MAX_BYTES, real_path, shown_path
from ...document.title import heading_of, plain, title_of
from ...state.addresses import Address, model_address
from ...state.model import Notice, State, Theme
from ..labels.fitness import DOES_NOT_FIT
from ..labels.numbers import grouped, percent_text
from ..labels.values import Value
from .thumbnails import Thumbnail, digest

FOLDER = EXAMPLES

TEMPLATES = FOLDER.parent / "templates"

THUMBNAILS = "thumbnails.json"
"""The file in the examples' folder that holds their thumbnails by name. `tests/support/record/thumbnails.py` writes it."""

ORDER = (
    "place_the_copies",
    "what_moves_what",
    "vtcm_double_buffer",
    "vtcm_two_halves",
    "fused_matmul_relu_roundtrip",
    "fused_matmul_relu",
    "box_blur",
)
"""The order of the cards; other examples follow by name."""

LONGEST_TEXT = 230

MOST_FILES = 60
"""The maximum number of cards for a folder; the most recently changed notebooks get them."""

MOST_LOOKED_AT = 1_000
"""The maximum number of files read from a folder."""

_NOTEBOOK = re.compile(r"^# %%|prim_func|\bte\.(?:placeholder|compute)\b|create_schedule\(|\bT\.Kernel\(", re.MULTILINE)
"""Matches the text of a file that the app can open."""
CARRIERS = (".ipynb", ".md", ".rst", ".txt", ".html", ".htm", ".eml", ".diff", ".patch", ".zip", ".json")
"""Suffixes of files beside Python's that may contain programs."""


class TemplateChoice(Value, frozen=True):
    """A template for a typical kernel."""

    name: str
    title: str


class Example(msgspec.Struct, frozen=True):
    """A card. `text` is the content of the notebook's file. A user's own file has a `path` and a modification time `changed` (seconds since
    1970). `model` is the name of a model in its address, "" for a notebook; the text is that of its file then. `obstacle` is the reason why
    the file cannot be opened; name and path are escaped and there is no text then."""

    name: str
    title: str
    sentence: str
    facts: tuple[str, ...]
    text: str
    discussion: str = ""
    question: str = ""
    machine: str = ""
    calls: tuple[str, ...] = ()
    path: str | None = None
    changed: float = 0.0
    model: str = ""
    obstacle: Refusal | None = None

    @property
    def picture_key(self) -> str:
        """The digest of what the thumbnail shows: the text, and for a model in a folder its kernels, which have other files."""
        return digest(f"{self.text}@{self.changed}" if self.model and self.path is not None else self.text)


def example_called(examples: Sequence[Example], name: str) -> Example:
    """The notebook of this name. Raises DocumentError "no-such-notebook", and for a file that cannot be opened, its obstacle."""
    for example in examples:
        if example.name == name:
            return _without_obstacle(example)
    raise DocumentError(Refusal("no-such-notebook", "there is no notebook with this name", found=name[:80]))


def opening_of(examples: Sequence[Example], name: str) -> tuple[str, str]:
    """Text and title of the notebook of this name. Raises as `example_called`."""
    example = example_called(examples, name)
    return example.text, example.title


def load_examples(folder: Path = FOLDER) -> tuple[Example, ...]:
    """The notebooks that come with Tilewright, as cards."""
    paths = sorted(
        folder.glob("*.py"), key=lambda path: (ORDER.index(path.stem) if path.stem in ORDER else len(ORDER), path.stem)
    )
    return tuple(example_of(path.stem, load_document(path)) for path in paths if path.stem != "__init__")


def _without_obstacle(example: Example) -> Example:
    if example.obstacle is not None:
        raise DocumentError(example.obstacle)
    return example


def example_at(examples: Sequence[Example], address: Address) -> Example:
    """The example, served file or model at an address; for a kernel its model. The address of an example may name a model. Raises the
    errors of `example_called`."""
    models = {example.model for example in examples}
    wanted = address.name if address.place == "example" and address.name in models else address.model
    for example in examples:
        if wanted or example.model:
            if wanted and example.model == wanted:
                return _without_obstacle(example)
            continue
        if example.name == address.name and (example.path is not None) == (address.place == "file"):
            return _without_obstacle(example)
    near = get_close_matches(
        address.name[:80], [example.model or example.name for example in examples], n=3, cutoff=0.5
    )
    message = f"there is no {address.place} {address.name[:80]!r} on this server"
    raise DocumentError(Refusal("no-such-notebook", message, expected=" or ".join(map(repr, near))))


def new_notebook() -> str:
    """The text of a new notebook: the first template of `tilewright new`."""
    return template_text("matmul")


def template_text(name: str) -> str:
    """The text of a template of `tilewright new`. Raises DocumentError "no-such-template"."""
    names = {template.name for template in load_templates()}
    if name not in names:
        raise DocumentError(
            Refusal("no-such-template", "there is no such template", name[:80], ", ".join(sorted(names)))
        )
    return (TEMPLATES / f"{name}.py").read_text(encoding="utf-8")


@cache
def load_templates() -> tuple[TemplateChoice, ...]:
    """The templates by their titles."""
    documents = {path.stem: load_document(path) for path in sorted(TEMPLATES.glob("*.py"))}
    return tuple(TemplateChoice(name, heading_of(document) or name) for name, document in documents.items())


def load_folder(folder: Path, most: int = MOST_FILES) -> tuple[Example, ...]:
    """The user's own notebooks and programs, the most recently changed first, and those that cannot be opened, each with its obstacle."""
    return tuple(islice(folder_cards(folder), most))


def folder_cards(folder: Path) -> Iterator[Example]:
    """The cards of `load_folder`. Skips files without a program, links to files outside of the folder, and pipes, which would block."""
    inside = folder.resolve()
    wanted = (path for path in folder.glob("*.*") if path.suffix.lower() in (".py", *CARRIERS))
    looked_at = sorted(wanted, key=lambda path: (path.suffix.lower() != ".py", path))[:MOST_LOOKED_AT]
    paths = [path for path in looked_at if (real := real_path(path)) is not None and real.is_relative_to(inside)]
    dated = [(changed, path) for path in paths if (changed := _changed(path)) is not None]
    cards = (_file_card(path, changed) for changed, path in sorted(dated, key=lambda pair: (-pair[0], pair[1].name)))
    return (card for card in cards if card is not None)


def _file_card(path: Path, changed: float) -> Example | None:
    """The card of a file; None for a file without a program."""
    try:
        document = load_document(path)
    except TilewrightError as error:
        is_python = path.suffix.lower() == ".py"
        return unreadable(path, error.refusal, changed) if is_python and _may_be_notebook(path) else None
    if not _has_program(path.suffix.lower(), document.text):
        return None
    return msgspec.structs.replace(example_of(path.name, document), path=str(path), changed=changed)


def _has_program(suffix: str, text: str) -> bool:
    """Whether the text of a file looks like one with a program."""
    if suffix == ".json":
        return _NOTEBOOK.search(text) is not None or is_carrier(text)
    if suffix != ".zip":
        return _NOTEBOOK.search(text) is not None
    try:
        content = unwrapped(text)
    except TilewrightError:
        return False
    return content is not None and any(_NOTEBOOK.search(piece.text) for piece in content.pieces)


def _may_be_notebook(path: Path) -> bool:
    """Whether a file that cannot be read as text looks like a notebook in an encoding that extends ASCII, or in UTF-16."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES)
    except OSError:
        return True
    encoding = "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "latin-1"
    return _NOTEBOOK.search(data.removeprefix(codecs.BOM_UTF8).decode(encoding, "replace")) is not None


def load_file(path: Path) -> tuple[Example, ...]:
    """The card of the single served file, for any content."""
    try:
        made = example_of(path.name, load_document(path))
    except TilewrightError as error:
        return (unreadable(path, error.refusal, _changed(path)),)
    return (msgspec.structs.replace(made, path=str(path), changed=path.stat().st_mtime),)


def unreadable(path: Path, obstacle: Refusal, changed: float | None, *, name: str = "", model: str = "") -> Example:
    """The card of a file that cannot be opened, called `name`, else by its file's name."""
    shown = shown_path(name or path.name)
    sentence = obstacle.message.replace(f"{path}", path.name)
    return Example(
        shown, shown, sentence, (), "", path=shown_path(path), changed=changed or 0.0, model=model, obstacle=obstacle
    )


def _changed(path: Path) -> float | None:
    """The modification time of a file; None for folders, pipes and devices, and without a file."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_mtime if stat.S_ISREG(seen.st_mode) else None


def load_thumbnails(folder: Path = FOLDER) -> dict[str, Thumbnail]:
    """The stored thumbnails by their text's digest; empty without a readable file."""
    try:
        kept = msgspec.json.decode((folder / THUMBNAILS).read_bytes(), type=dict[str, Thumbnail])
    except (OSError, msgspec.DecodeError):
        return {}
    return {thumbnail.text: thumbnail for thumbnail in kept.values()}


def example_of(name: str, document: Document) -> Example:
    """The card of a document, from its first Markdown cell and its calls."""
    cells = document.of_kind("markdown")
    paragraphs = re.split(r"\n\s*\n", cells[0].prose) if cells else []
    plain_paragraphs = [p for p in paragraphs if not p.lstrip().startswith(("#", ">", "|", "-", "1."))]
    quotes = [p for p in paragraphs if p.lstrip().startswith(">")]
    named = re.search(r"(?:discussion|reading of) \*([^*]+)\*", cells[0].prose) if cells else None
    machine, calls = _used(document)
    return Example(
        name=name,
        title=heading_of(document) or name,
        sentence=_first_sentences(plain(plain_paragraphs[-1])) if plain_paragraphs else "",
        facts=_facts(machine, calls, tile_construct(document)),
        text=document.text,
        discussion=plain(named[1]) if named else "",
        question=_question(quotes[0]) if quotes else "",
        machine=machine,
        calls=tuple(dict.fromkeys(calls)),
    )


def _used(document: Document) -> tuple[str, list[str]]:
    """The machine's name, and the calls that change the program."""
    schedule = "".join(cell.body for cell in document.of_kind("schedule"))
    machine = "".join(cell.body for cell in document.of_kind("machine"))
    named = re.findall(r"machine\(\s*[\"']([^\"']+)", machine)
    calls = re.findall(r"\bsch\.(\w+)\(", schedule)
    return named[0] if named else "", [call for call in calls if not call.startswith("get_")]


def tile_construct(document: Document) -> str:
    """Return the typical construct of a kernel of TileLang, "" for other programs."""
    bodies = [cell.body for cell in document.of_kind("workload")]
    if not any("tilelang" in body for body in bodies):
        return ""
    return "T.Scope" if any("T.Scope" in body for body in bodies) else "T.Pipelined"


def _facts(machine: str, calls: list[str], construct: str) -> tuple[str, ...]:
    if construct:
        return machine, "TileLang", construct
    typical = ("double_buffer", "transform_layout", "set_scope", "compute_inline", "cache_write", "compute_at", "tile")
    used = next((call for call in typical if call in calls), None)
    return tuple(fact for fact in (machine, f"{len(calls)} steps", used) if fact)


def _question(quote: str) -> str:
    """The first question in a quoted post; else its last sentence, which states the request."""
    text = plain(" ".join(line.lstrip().removeprefix(">").strip() for line in quote.splitlines()))
    sentences = re.split(r"(?<=[.?!]) (?=[A-Z\[])", text.replace("[…]", "").replace("  ", " ").strip())
    return next((s for s in sentences if s.endswith("?")), sentences[-1]).strip()


def _first_sentences(text: str) -> str:
    """As many whole sentences, or parts before a colon, as fit into LONGEST_TEXT; at least the first."""
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])|(?<=:) ", text)
    text = sentences[0]
    for sentence in sentences[1:]:
        if len(text) + len(sentence) > LONGEST_TEXT:
            break
        text += " " + sentence
    return f"{text[:-1]}." if text.endswith(":") else text


class ExampleCard(Value, frozen=True, kw_only=True):
    """A card. `words` is its search index in lower case, `changed` the time of a user's file in seconds since 1970;
    a draft has the `path` of its address; `obstacle` is the reason why the file cannot be opened, or ""."""

    name: str
    title: str
    sentence: str
    facts: tuple[str, ...]
    figures: list[str]
    discussion: str
    question: str
    machine: str
    model: str
    words: str
    changed: float | None
    obstacle: str
    thumbnail: Thumbnail | None
    path: str = ""


class Gallery(Value, frozen=True, kw_only=True):
    """The start screen: its cards, the error of a text that failed to open, and the served folder. `more_drafts`: there are older ones."""

    drafts: list[ExampleCard]
    more_drafts: bool
    examples: list[ExampleCard]
    theme: Theme
    problem: Notice | None
    folder: str
    can_make: bool
    templates: tuple[TemplateChoice, ...]


def gallery_value(
    state: State,
    examples: tuple[Example, ...],
    thumbnails: Mapping[str, Thumbnail] | None = None,
    folder: str = "",
    drafts: tuple[Example, ...] = (),
    more_drafts: bool = False,
) -> Gallery:
    """The start screen. `thumbnails` maps a text's digest to its thumbnail."""
    known = thumbnails or {}
    return Gallery(
        drafts=[_draft_card(draft, known.get(draft.picture_key)) for draft in drafts],
        more_drafts=more_drafts,
        examples=[_card(example, known.get(example.picture_key)) for example in examples],
        theme=state.theme,
        problem=state.notice if state.screen == "gallery" else None,
        folder=folder,
        can_make=bool(state.folder),
        templates=load_templates(),
    )


def _draft_card(draft: Example, thumbnail: Thumbnail | None) -> ExampleCard:
    """The card of a draft; `name` is the draft's name in its address, or that of the model."""
    if draft.model:
        card = _card(draft, thumbnail)
        return msgspec.structs.replace(card, name=draft.model, path=model_address(draft.model).path)
    name = draft.name.removesuffix(".py")
    title = title_of(read_document(draft.text)) if draft.title == draft.name and draft.text else draft.title
    card = _card(draft, thumbnail)
    return msgspec.structs.replace(card, name=name, title=title, path=Address("draft", name).path)


def _obstacle_text(example: Example) -> str:
    """The reason why the file of a card cannot be opened, and what to do; "" if it can be opened."""
    obstacle = example.obstacle
    if obstacle is None:
        return ""
    return f"{example.sentence}; expected: {obstacle.expected}" if obstacle.expected else example.sentence


def _card(example: Example, thumbnail: Thumbnail | None) -> ExampleCard:
    figures: list[str] = []
    if thumbnail is not None and any(memory.over for memory in thumbnail.memories):
        figures = [DOES_NOT_FIT]
    elif thumbnail is not None and thumbnail.cycles is not None:
        figures = [f"{grouped(thumbnail.cycles)} cycles"]
        if thumbnail.overlap is not None:
            figures.append(f"{percent_text(thumbnail.overlap)} overlap")
    words = (example.name, example.title, example.sentence, example.question, example.discussion, example.machine)
    return ExampleCard(
        name=example.name,
        title=example.title,
        sentence=example.sentence,
        facts=example.facts,
        figures=figures,
        discussion=example.discussion,
        question=example.question,
        machine=example.machine,
        model=example.model,
        words=" ".join((*words, *example.calls)).lower(),
        changed=example.changed if example.path is not None else None,
        obstacle=_obstacle_text(example),
        thumbnail=thumbnail,
    )
