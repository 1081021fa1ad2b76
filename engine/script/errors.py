"""Parse errors: ParseError carries the place, the found text, the expected text, and fixes."""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Place, Refusal, TilewrightError


class ParseError(TilewrightError):
    """Text that is not a program of the subset. `refusal.place` is its location.

    Codes: "syntax" (not Python), "too-large", "too-deep", "unsupported" (Python or TVM, but outside the subset), "unknown-name",
    "wrong-arguments", "wrong-type", "out-of-range", "not-a-program".
    """

    @property
    def place(self) -> Place | None:
        return self.refusal.place


class UnknownValueError(ParseError):
    """A value that is not known for certain where a program needs it. `name` is that of a variable, or the text of an attribute, item or
    call: `self.heads`. `is_undefined`: the text does not define the variable."""

    def __init__(self, refusal: Refusal, name: str = "", *, is_undefined: bool = False) -> None:
        super().__init__(refusal)
        self.name = name
        self.is_undefined = is_undefined


def undefined_error(error: ParseError, name: str, similar: Sequence[str]) -> ParseError:
    """Return the error of a name that the text does not define; if no other name is like it, its value can be given."""
    return error if similar else UnknownValueError(error.refusal, name, is_undefined=True)


def parse_error(
    code: str, message: str, place: Place | None, *, found: str = "", expected: str = "", fix: tuple[str, ...] = ()
) -> ParseError:
    return ParseError(Refusal(code, message, found=found, expected=expected, fix=fix, place=place))
