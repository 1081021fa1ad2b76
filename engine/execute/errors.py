"""What can go wrong when a program runs, as refusals that name the buffer, the index and the loop values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..ir import Node, Refusal, TilewrightError


class ExecuteError(TilewrightError):
    """The program did something that has no meaning, or that this executor does not know.

    Codes: "out-of-bounds", "uninitialized-read", "division-by-zero", "assertion", "unknown-intrinsic", "unsupported",
    "bad-argument".
    """


Where = Mapping[str, int]


def describe_where(where: Where) -> str:
    """ "i = 3, j = 0", or "outside of loops"."""
    return ", ".join(f"{name} = {value}" for name, value in where.items()) or "outside of loops"


def out_of_bounds(
    buffer: str, action: str, index: Sequence[int], axis: int, extent: int, where: Where, nodes: tuple[Node, ...] = ()
) -> ExecuteError:
    place = ", ".join(map(str, index))
    return ExecuteError(
        Refusal(
            "out-of-bounds",
            f"{action} of {buffer}[{place}] is outside the buffer at {describe_where(where)}",
            found=f"index {index[axis]} on axis {axis}",
            expected=f"0 <= index < {extent}",
            nodes=nodes,
        )
    )


def uninitialized_read(buffer: str, index: Sequence[int], where: Where, nodes: tuple[Node, ...] = ()) -> ExecuteError:
    place = ", ".join(map(str, index))
    return ExecuteError(
        Refusal(
            "uninitialized-read",
            f"read of {buffer}[{place}] before anything was written there, at {describe_where(where)}",
            found="an element that holds no value yet",
            expected="a write to it earlier in the program",
            nodes=nodes,
        )
    )


def division_by_zero(where: Where, nodes: tuple[Node, ...] = ()) -> ExecuteError:
    message = f"integer division by zero at {describe_where(where)}"
    return ExecuteError(Refusal("division-by-zero", message, found="a divisor of 0", nodes=nodes))


def assertion_failed(text: str, where: Where, nodes: tuple[Node, ...] = ()) -> ExecuteError:
    return ExecuteError(Refusal("assertion", f"assertion failed at {describe_where(where)}: {text}", nodes=nodes))


def unknown_intrinsic(name: str, known: Sequence[str], nodes: tuple[Node, ...] = ()) -> ExecuteError:
    return ExecuteError(
        Refusal(
            "unknown-intrinsic",
            f"the executor does not know the intrinsic {name!r}",
            found=name,
            expected="one of " + ", ".join(known),
            nodes=nodes,
        )
    )


def unsupported(what: str, expected: str = "", nodes: tuple[Node, ...] = ()) -> ExecuteError:
    return ExecuteError(Refusal("unsupported", f"the executor cannot run {what}", expected=expected, nodes=nodes))


def bad_argument(name: str, found: str, expected: str) -> ExecuteError:
    message = f"argument {name!r} does not fit the program"
    return ExecuteError(Refusal("bad-argument", message, found=found, expected=expected))
