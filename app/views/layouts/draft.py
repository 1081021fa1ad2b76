"""Parsing of an index map from the text field. The text is never executed."""

from __future__ import annotations

import ast
import warnings

import msgspec

from ....engine.explore.space.layout_choices import Candidate, by_map
from ....engine.ir import Refusal, TilewrightError
from ...actions.call_arguments import read_index_map
from ..labels.buffer_ids import BlockAccess
from ..labels.values import Value


class LayoutError(Value, frozen=True):
    """A refused layout."""

    code: str
    message: str
    found: str
    expected: str


class Reading(msgspec.Struct, frozen=True, eq=False):
    """The result for a typed map: the call, or the error with its `column` in the text, from 1 (0: no column)."""

    candidate: Candidate | None = None
    error: TilewrightError | None = None
    column: int = 0


def read_draft(access: BlockAccess, text: str) -> Reading:
    """The call of a typed map, or why its text is no map. A trial decides whether the call is legal."""
    unread = syntax_error(text)
    if unread is not None:
        return unread
    try:
        read_index_map(text)
    except TilewrightError as error:
        return Reading(error=error)
    return Reading(typed_map(access, text.strip()))


def typed_map(access: BlockAccess, text: str, *, trusted: bool = False) -> Candidate:
    """The layout of a typed map."""
    return by_map(access, text, f"custom {text}", "custom map", trusted=trusted)


def syntax_error(text: str) -> Reading | None:
    """The syntax error of a text that is no Python expression; None for a valid expression. (`read_index_map` parses it within a call.)"""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        indent = len(text) - len(text.lstrip())
        column = min(max(1, error.offset or 1) + indent, len(text) + 1)
        found = f"column {column}" if (error.lineno or 1) == 1 else f"line {error.lineno}"
        return Reading(error=TilewrightError(Refusal("syntax", error.msg, found=found)), column=column)
    except (ValueError, RecursionError, MemoryError):
        return Reading(error=TilewrightError(Refusal("syntax", "the map cannot be parsed")))
    return None


def with_padding(candidate: Candidate, value: float = 0.0) -> Candidate:
    """The same map with padding `value` in positions without an element."""
    return msgspec.structs.replace(candidate, arguments=(*candidate.arguments, ("pad_value", value)))


def error_value(error: TilewrightError) -> LayoutError:
    refusal = error.refusal
    return LayoutError(refusal.code, refusal.message, refusal.found, refusal.expected)
