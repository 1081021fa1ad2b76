"""Refusals for programs that cannot be lowered."""

from __future__ import annotations

from ..ir import Node, Refusal, TilewrightError


class LowerError(TilewrightError):
    """A program that cannot be lowered.

    Codes: "unknown-pass", "not-opaque", "bad-match-buffer"; for software pipelines "half-a-pipeline", "pipeline-body", "pipeline-loop",
    "pipeline-size", "pipeline-order", "pipeline-stage", "broken-dependence", "opaque-access"; for sizes "unknown-size", "bad-size";
    for deep nests "too-deep".
    """


def refuse(code: str, message: str, *nodes: Node, found: str = "", expected: str = "") -> LowerError:
    """The error to raise: `raise refuse("unknown-pass", "…")`."""
    return LowerError(Refusal(code, message, found, expected, (), nodes))
