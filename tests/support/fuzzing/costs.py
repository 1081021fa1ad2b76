"""CPU by the size of an input: seeds with a line, or a piece of a line, repeated many times."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .judging import Data, judged
from .mutations import TOKEN
from .readers import Reader

SIZES = (6_000, 24_000, 96_000)
"""Bytes of a repeated piece."""


class Cost(NamedTuple):
    """Seconds of CPU for the sizes of one repeated piece, and the microseconds for a byte at the largest."""

    per_byte: float
    growth: float
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    piece: str
    code: str


def costs(reader: Reader, most_seconds: float = 20.0) -> Iterator[Cost]:
    """One result for each piece of each seed; `growth` is the exponent of the CPU by size."""
    for family in _families(reader):
        sizes, seconds, code, piece = [], [], "", ""
        for data, name in family:
            outcome = judged(reader.read, data)
            sizes.append(len(data))
            seconds.append(outcome.seconds)
            code, piece = outcome.code or "read", name
            if outcome.seconds > most_seconds:
                break
        rising = [
            (b / a) ** (1 / max(0.1, (n / m - 1) and _log(n / m))) if a > 0.002 and n > m else 1.0
            for (a, m), (b, n) in zip(
                zip(seconds, sizes, strict=True), zip(seconds[1:], sizes[1:], strict=True), strict=False
            )
        ]
        yield Cost(
            1e6 * seconds[-1] / max(1, sizes[-1]),
            max(rising, default=1.0),
            tuple(sizes),
            tuple(round(s, 3) for s in seconds),
            piece,
            code,
        )


def _log(ratio: float) -> float:
    """Base four, as sizes rise by four."""
    return math.log(ratio, 4)


def _families(reader: Reader) -> Iterator[list[tuple[Data, str]]]:
    seen: set[str] = set()
    for seed in sorted(reader.seeds(), key=len)[:6]:
        text = seed if isinstance(seed, str) else seed.decode("utf-8", "replace")
        if text.startswith(("[", "{")):
            yield from _json_families(text)
            continue
        lines = text.split("\n")
        for at, line in enumerate(lines):
            if not line.strip() or line in seen:
                continue
            seen.add(line)
            yield [
                (
                    "\n".join([*lines[:at], *[line] * max(1, size // (len(line) + 1)), *lines[at + 1 :]]),
                    f"line {line.strip()[:60]}",
                )
                for size in SIZES
            ]
        yield from _piece_families(lines, seen)
        for blocks in (_paragraphs(text),):
            for at, block in enumerate(blocks):
                if len(block) > 40:
                    yield [
                        (
                            "\n\n".join([*blocks[:at], *[block] * max(1, size // len(block)), *blocks[at + 1 :]]),
                            f"paragraph {block.strip()[:50]!r}",
                        )
                        for size in SIZES
                    ]


def _paragraphs(text: str) -> list[str]:
    return text.split("\n\n")


def _piece_families(lines: Sequence[str], seen: set[str]) -> Iterator[list[tuple[Data, str]]]:
    """Runs of tokens of a line, repeated in it."""
    for at, line in enumerate(lines[:60]):
        tokens = TOKEN.findall(line)
        for start in range(0, len(tokens), 3):
            for count in (1, 2, 4):
                piece = "".join(tokens[start : start + count])
                if not piece.strip() or piece in seen:
                    continue
                seen.add(piece)
                before, after = "".join(tokens[:start]), "".join(tokens[start + count :])
                yield [
                    (
                        "\n".join([*lines[:at], before + piece * max(1, size // len(piece)) + after, *lines[at + 1 :]]),
                        f"piece {piece[:40]!r} in {line.strip()[:40]!r}",
                    )
                    for size in SIZES
                ]


def _json_families(text: str) -> Iterator[list[tuple[Data, str]]]:
    """Each list of the tree with its items repeated, each text repeated."""
    value = json.loads(text)
    stack, paths = [(value, ())], []
    while stack:
        item, path = stack.pop()
        if isinstance(item, list | dict):
            paths.append(path)
            stack += [(v, (*path, k)) for k, v in (enumerate(item) if isinstance(item, list) else item.items())]
        elif isinstance(item, str):
            paths.append(path)
    for path in paths:
        family = []
        for size in SIZES:
            copy = json.loads(text)
            holder, key = None, None
            at = copy
            for part in path:
                holder, key, at = at, part, at[part]
            many = max(1, size // max(4, len(json.dumps(at))))
            grown = (
                at * many if isinstance(at, list | str) else {f"{k}{n}": v for n in range(many) for k, v in at.items()}
            )
            if holder is None:
                copy = grown
            else:
                holder[key] = grown
            family.append((json.dumps(copy), f"at {'/'.join(map(str, path))}"))
        yield family
