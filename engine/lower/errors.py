"""Programs that cannot be lowered, as refusals."""

from __future__ import annotations

from ..ir import Node, Refusal, TilewrightError


class LowerError(TilewrightError):
    """A program that cannot be lowered.

    Codes: "unknown-pass", "not-opaque", "bad-match-buffer"; of software pipelines "half-a-pipeline", "pipeline-body", "pipeline-loop",
    "pipeline-size", "pipeline-order", "pipeline-stage", "broken-dependence", "opaque-access"; of sizes "unknown-size", "bad-size";
    of deep nests "too-deep".
    """


def refuse(code: str, message: str, *nodes: Node, found: str = "", expected: str = "") -> LowerError:
    """The error to raise: `raise refuse("unknown-pass", "…")`."""
    return LowerError(Refusal(code, message, found, expected, (), nodes))
