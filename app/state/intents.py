"""The base classes of intents, the actions that a user can request, and of messages, the intents that a client sends as JSON.

A class declares what holds for it in class attributes. Functions that handle it register themselves in a `Handlers`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Generic, TypeVar

import msgspec

from .model import NoticePlace, State

Whole = Annotated[int, msgspec.Meta(ge=-(1 << 53), le=1 << 53)]
"""An integer that JavaScript represents exactly."""

Texts = tuple[str, ...]


Handler = TypeVar("Handler", bound=Callable[..., object])

Kind = TypeVar("Kind", bound="Intent")


class Intent(msgspec.Struct, frozen=True):
    """An action that a user requests.

    - `is_quick`: the state after it is immediate; it requires no evaluation and no trial.
    - `keeps_draft`: an unfinished draft continues; before other intents the typed text becomes an edit of its own.
    - `keeps_program`: background analyses of the program continue, and it waits for no change of the notebook.
    - `is_dragging`: a drag is in progress; the preview of its drop has priority.
    - `needs_page`: the view of a notebook in a Jupyter cell ignores it.
    - `writes_file`: the notebook is in a file after it.
    - `refused_at`: where its refusal is shown.
    - `doing`: what the page shows if it takes long.
    """

    is_quick: ClassVar[bool] = False
    keeps_draft: ClassVar[bool] = False
    keeps_program: ClassVar[bool] = False
    is_dragging: ClassVar[bool] = False
    needs_page: ClassVar[bool] = False
    writes_file: ClassVar[bool] = False
    refused_at: ClassVar[NoticePlace] = "page"
    doing: ClassVar[str] = "Reading the notebook"


class Message(Intent, frozen=True, kw_only=True, tag_field="kind", forbid_unknown_fields=True):
    """An intent as a client sends it: rows of the tree by their ids, cells and schedule lines by their positions.

    `base` is the `revision` of the text that the client shows. A message about an older text is refused, unless it is typed text, which is
    merged with the changes since.
    """

    base: Whole | None = None


class ViewMessage(Message, frozen=True):
    """A message that changes what is shown of the program."""

    is_quick = keeps_draft = keeps_program = True


class PageMessage(Message, frozen=True):
    """A message that only a page sends."""


class Query(PageMessage, frozen=True):
    """A message that changes nothing; its answer goes to the view that sent it."""


class Handlers(Generic[Handler]):
    """The function that handles each class of intents: `@HANDLERS(Undo)` before a function makes it that of `Undo`."""

    def __init__(self) -> None:
        self._of: dict[type[Intent], Handler] = {}

    def __call__(self, *kinds: type[Intent]) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            for kind in kinds:
                assert kind not in self._of, f"{kind.__name__} has two handlers"
                self._of[kind] = handler
            return handler

        return register

    def __iter__(self) -> Iterator[type[Intent]]:
        return iter(self._of)

    def __getitem__(self, intent: Intent) -> Handler:
        handler = self.of(intent)
        if handler is None:
            raise TypeError(f"{type(intent).__name__} has no handler here")
        return handler

    def of(self, intent: Intent) -> Handler | None:
        """The function for an intent; None if there is none."""
        return self._of.get(type(intent))


ACTIONS: Handlers[Callable[[State, Any], State]] = Handlers()
"""A handler receives the state and the intent, and returns the next state."""


def kinds_of(base: type[Kind]) -> Iterator[type[Kind]]:
    """All classes below `base` that have no classes below them."""
    for kind in base.__subclasses__():
        if kind.__subclasses__():
            yield from kinds_of(kind)
        else:
            yield kind
