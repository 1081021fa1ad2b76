"""Values to propose for a program that needs some: those with which it opens, found by reading it a few times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from time import monotonic

from msgspec.structs import replace

from ...ir import TilewrightError
from .needs import MissingValuesError, Need, missing_values

MAX_TRIES = 12
MAX_SECONDS = 3.0
_SMALLER = ("32", "16")
"""Examples of sizes, if larger ones are out of the range of a type."""
_TYPES = ("float32", "int32")
"""Examples of types, if the text names none."""
_FIXED = ("thread", "block", "stage", "warp", "dtype")
"""Words in the names of sizes that stay as they are."""


def proposed(
    error: MissingValuesError, given: Mapping[str, int | str], read: Callable[[Mapping[str, int | str]], object]
) -> MissingValuesError:
    """Return the error with the needs of all further readings too, and with examples with which the program opens, if a few tries find
    them. `read` reads the program with values; it raises the same error as long as some are missing."""
    needs = {need.name: need for need in error.needs}
    changed: dict[str, Need] = {}
    variants: Iterator[dict[str, Need]] | None = None
    until = monotonic() + MAX_SECONDS
    for _ in range(MAX_TRIES):
        try:
            read({**given, **{name: typed_example(changed.get(name, need)) for name, need in needs.items()}})
        except MissingValuesError as further:
            new = {need.name: need for need in further.needs if need.name not in needs and need.name not in given}
            if new:
                needs |= {**changed, **new}
                changed, variants = {}, None
                continue
            found: TilewrightError = further
        except TilewrightError as other:
            found = other
        else:
            needs |= changed
            break
        variants = variants or _variants([*needs.values()], found)
        changed = next(variants, None) or {}
        if not changed or monotonic() > until:
            break
    cause = error.cause if len(needs) == len(error.needs) else ""
    return missing_values(str(error.refusal.found), error.refusal.place, [*needs.values()], cause)


def typed_example(need: Need) -> int | str:
    """Return the example of a need as `--size` reads it."""
    text = need.example
    return int(text) if text.removeprefix("-").isdigit() else text


def _variants(needs: list[Need], error: TilewrightError) -> Iterator[dict[str, Need]]:
    """Yield other examples for some needs, those that the error asks for first."""
    sizes = [need for need in needs if need.kind == "size" and need.example == "128" and not _is_fixed(need)]
    smaller = [{n.name: replace(n, sample=size) for n in sizes} for size in _SMALLER] if len(sizes) > 2 else []
    is_range = error.refusal.code == "out-of-range"
    yield from smaller if is_range else ()
    for need in needs:
        for option in need.options or _TYPES if need.kind in ("flag", "dtype") else ():
            if option != need.example:
                yield {need.name: replace(need, sample=option)}
    yield from () if is_range else smaller


def _is_fixed(need: Need) -> bool:
    return any(word in need.name.lower() for word in _FIXED)


__all__ = ["proposed"]
