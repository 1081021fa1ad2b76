"""Runtime errors of a program, as refusals that name the buffer, the index, the block and the loop values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from ..ir import Node, Refusal, TilewrightError


class ExecuteError(TilewrightError):
    """An invalid operation in the program, or a construct that this executor does not support.

    Codes: "out-of-bounds", "uninitialized-read", "division-by-zero", "assertion" are faults of the program; "bad-argument" of the caller;
    "unsupported", "too-costly" and "too-deep" are limits of the executor.
    """


class Where(msgspec.Struct, frozen=True):
    """A place in the run: the block and the values of its loops."""

    block: str
    loops: Mapping[str, int]

    def __str__(self) -> str:
        values = ", ".join(f"{name} = {value}" for name, value in self.loops.items())
        block = f"in block {self.block!r}" if self.block else "outside of blocks"
        return f"{block} at {values}" if values else block


def element(buffer: str, index: Sequence[int]) -> str:
    return f"{buffer}[{', '.join(map(str, index))}]"


def out_of_bounds(
    buffer: str, action: str, index: Sequence[int], axis: int, shape: Sequence[int], where: Where, node: Node
) -> ExecuteError:
    return ExecuteError(
        Refusal(
            "out-of-bounds",
            f"{action} of {element(buffer, index)} is outside the buffer's shape ({', '.join(map(str, shape))}), {where}",
            found=f"index {index[axis]} on axis {axis}",
            expected=f"0 <= index < {shape[axis]}",
            nodes=(node,),
        )
    )


def uninitialized_read(
    buffer: str, index: Sequence[int], shape: Sequence[int], where: Where, node: Node
) -> ExecuteError:
    return ExecuteError(
        Refusal(
            "uninitialized-read",
            f"read of {element(buffer, index)}, shape ({', '.join(map(str, shape))}), before its first write, {where}",
            found="an uninitialized element",
            expected="an earlier write to the element",
            nodes=(node,),
        )
    )


def division_by_zero(where: Where, node: Node) -> ExecuteError:
    return ExecuteError(
        Refusal("division-by-zero", f"integer division by zero, {where}", found="a divisor of 0", nodes=(node,))
    )


def assertion_failed(text: str, where: Where, node: Node) -> ExecuteError:
    return ExecuteError(Refusal("assertion", f"assertion failed: {text}, {where}", nodes=(node,)))


def unsupported(what: str, expected: str = "", nodes: tuple[Node, ...] = ()) -> ExecuteError:
    return ExecuteError(Refusal("unsupported", f"the executor cannot run {what}", expected=expected, nodes=nodes))


def bad_argument(name: str, found: str, expected: str) -> ExecuteError:
    message = f"argument {name!r} does not match the program"
    return ExecuteError(Refusal("bad-argument", message, found=found, expected=expected))


def too_large(buffer: str, shape: Sequence[int], limit: int) -> ExecuteError:
    sizes = ", ".join(map(str, shape))
    return ExecuteError(
        Refusal(
            "too-costly",
            f"{buffer} of shape ({sizes}) is too large to execute",
            expected=f"at most {limit} elements in a buffer",
        )
    )


def too_costly(limit: int) -> ExecuteError:
    return ExecuteError(Refusal("too-costly", f"the execution needs more than {limit:.0e} element operations"))
