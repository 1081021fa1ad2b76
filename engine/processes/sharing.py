"""Calls and results between processes, in which IR nodes keep their identity.

Programs are compared by identity: a report refers to the loops and buffers of the program that was simulated. A request is pickled with
the list of its nodes; in the answer, a node of the request is its number in that list, and becomes the parent's own object again.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..cancellation import checkpoint


class _Recorder(pickle.Pickler):
    """Pickles values and lists their nodes."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.nodes: list[msgspec.Struct] = []
        self._known: set[int] = set()

    def persistent_id(self, obj: object) -> None:
        if isinstance(obj, msgspec.Struct) and id(obj) not in self._known:
            checkpoint()
            self._known.add(id(obj))
            self.nodes.append(obj)


class _Referring(pickle.Pickler):
    """Pickles values with numbers for known nodes."""

    def __init__(self, file: io.BytesIO, nodes: Sequence[msgspec.Struct]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._numbers = {id(node): number for number, node in enumerate(nodes)}

    def persistent_id(self, obj: object) -> int | None:
        return self._numbers.get(id(obj))


class _Resolving(pickle.Unpickler):
    """Reads values with the known nodes for their numbers."""

    def __init__(self, file: io.BytesIO, nodes: Sequence[msgspec.Struct]) -> None:
        super().__init__(file)
        self._nodes = nodes

    def persistent_load(self, pid: int) -> msgspec.Struct:
        return self._nodes[pid]


class SharedRequest:
    """A call to send: `data`, and the nodes that the answer may refer to."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], *more: float) -> None:
        file = io.BytesIO()
        pickler = _Recorder(file)
        pickler.dump((function, arguments, *more))
        pickler.dump(pickler.nodes)  # references to the first value: the pickler remembers it
        self.data, self._nodes = file.getvalue(), pickler.nodes

    def result(self, data: bytes) -> Any:
        """Return the value of an answer."""
        return _Resolving(io.BytesIO(data), self._nodes).load()


class ReceivedRequest:
    """A request in the child: its `values`, and the nodes that its answer may refer to."""

    def __init__(self, data: bytes) -> None:
        unpickler = pickle.Unpickler(io.BytesIO(data))
        self.values: tuple[Any, ...] = unpickler.load()
        self._nodes: list[msgspec.Struct] = unpickler.load()

    def answer(self, value: object) -> bytes:
        """Return the answer for the parent."""
        file = io.BytesIO()
        _Referring(file, self._nodes).dump(value)
        return file.getvalue()


__all__ = ["ReceivedRequest", "SharedRequest"]
