"""A port model of compiled code: llvm-mca's cycles for stretches of the path that a program takes, and a chain of stores that are loaded
again.

llvm-mca (LLVM's machine code analyzer) knows the ports and latencies of a processor; every load hits the first cache. It assumes that a
load does not depend on a store before it; where it does, `FORWARD_CYCLES` and the latency of the operation between bound the cycles.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from ...ir import Refusal, TilewrightError
from ..measured import Measured
from .assembly import Code, Instruction, read_assembly
from .clock import clock_hz
from .walk import REGISTERS, Stretch, TooLongError, address, is_memory, walked

WINDOWS = 4
WINDOW_INSTRUCTIONS = 1200
WARM_INSTRUCTIONS = 600
"""Stretches of the path that are analysed, evenly spaced, and their length. The cycles of the instructions before each are taken off, so
that the pipeline is full."""

FORWARD_CYCLES = 10
"""From a store to the end of a load of it: measured on a Zen 4 host, 13 to 14 cycles with an addition or FMA (`cpu_zen4_trial`)."""

OPERATION_CYCLES = 4
"""Latency of the floating-point operation between: FMA on Zen 3 and Zen 4 (AMD software optimization guide, family 19h)."""

CALL_CYCLES = 20
"""A call of the C library's functions; assumed."""

UNKNOWN = ("vgather", "vpgather", "vscatter", "vpscatter")
"""Instructions that LLVM 19's tables of Zen 4 count as one operation, and that take tens of cycles."""

NAMES = ("llvm-mca", *(f"llvm-mca-{n}" for n in range(24, 14, -1)))
TIMEOUT = 60.0

FUNCTION = "__tvm_ffi_main"


class PortCycles(msgspec.Struct, frozen=True):
    """The cycles of a call with all data in the first cache: of the ports, and of the longest chain through memory."""

    ports: float
    chain: float
    instructions: int

    @property
    def cycles(self) -> float:
        return max(self.ports, self.chain)


def port_times(measured: Measured) -> tuple[float | str, ...]:
    """The time of a call of each measured program in microseconds, with all data in the first cache, or why it is not
    known. The measurement has the compiled code.

    Raises TilewrightError "no-llvm-mca" without an llvm-mca that knows the processor.
    """
    found = re.search(r"-mcpu=(\S+)", measured.host.flags)
    cpu = found[1] if found else "generic"
    mca = find_mca(cpu)
    if mca is None:
        raise TilewrightError(
            Refusal(
                "no-llvm-mca", f"no llvm-mca of this computer knows {cpu}", expected="the package llvm, or a newer one (llvm-19)"
            )
        )  # fmt: skip
    hertz = clock_hz()
    return tuple(_microseconds(row.assembly, cpu, mca, hertz) for row in measured.rows)


def _microseconds(assembly: str, cpu: str, mca: str, hertz: float) -> float | str:
    try:
        return port_cycles(assembly, cpu, mca).cycles / hertz * 1e6 if assembly else "no compiled code"
    except TilewrightError as error:
        return f"{error.refusal.message}: {error.refusal.found}"


def find_mca(cpu: str) -> str | None:
    """The newest llvm-mca of this computer that knows a processor; None without one."""
    for name in sorted(filter(None, map(shutil.which, NAMES)), key=_version, reverse=True):
        found = subprocess.run(
            [name, f"-mcpu={cpu}"], input="\tnop\n", capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
        if found.returncode == 0 and "not a recognized processor" not in found.stderr:
            return name
    return None


def _version(name: str) -> int:
    found = re.search(r"-(\d+)$", name)
    return int(found[1]) if found else 0


def port_cycles(assembly: str, cpu: str, mca: str) -> PortCycles:
    """The cycles of a call of a program that TVM compiled. Raises TilewrightError "no-port-model" for code that cannot be followed."""
    try:
        code = read_assembly(assembly, FUNCTION)
        path = walked(code)
    except (ValueError, TooLongError, LookupError, RecursionError) as error:
        raise TilewrightError(
            Refusal("no-port-model", "the path through the compiled code is not known", type(error).__name__)
        ) from error
    unknown = {
        i.name for n in {s.block for s in path} for i in code.blocks[n].instructions if i.name.startswith(UNKNOWN)
    }
    if unknown:
        raise TilewrightError(
            Refusal(
                "no-port-model",
                "llvm-mca does not know the time of instructions of this code",
                ", ".join(sorted(unknown)),
            )
        )
    ends = list(accumulate(len(code.blocks[s.block].instructions) * s.times for s in path))
    total = ends[-1]
    cycles, chains, analysed = 0.0, 0.0, 0
    for first, warm in _starts(total):
        window = list(_window(code, path, ends, first, WARM_INSTRUCTIONS * warm + WINDOW_INSTRUCTIONS))
        before = window[: WARM_INSTRUCTIONS * warm]
        counted = window[len(before) :]
        calls = sum(i.name.startswith("call") for i, _ in counted)
        cycles += _analysed(mca, cpu, window) - _analysed(mca, cpu, before) + calls * CALL_CYCLES
        chains += _chain(counted)
        analysed += len(counted)
    scale = total / max(1, analysed)
    return PortCycles(cycles * scale, chains * scale, total)


def _starts(total: int) -> Iterator[tuple[int, bool]]:
    """The first instruction of each window, and whether some before it are analysed too; windows of a short path follow each other."""
    if total <= WINDOWS * WINDOW_INSTRUCTIONS:
        yield from ((first, False) for first in range(0, total, WINDOW_INSTRUCTIONS))
        return
    step = total / WINDOWS
    yield from ((int(step * (n + 0.5)), True) for n in range(WINDOWS))


def _window(
    code: Code, path: Sequence[Stretch], ends: Sequence[int], first: int, left: int
) -> Iterator[tuple[Instruction, tuple[int, ...]]]:
    """Yield about `left` instructions from the block that contains number `first`, each with the registers before its block."""
    at = bisect_right(ends, first)
    skipped = 0
    if at < len(path):
        start = ends[at - 1] if at else 0
        skipped = (first - start) // len(code.blocks[path[at].block].instructions)
    while at < len(path) and left > 0:
        block, times, before, step = path[at]
        for n in range(skipped, times):
            registers = tuple(b + n * s for b, s in zip(before, step, strict=True)) if n else before
            for instruction in code.blocks[block].instructions:
                yield instruction, registers
            left -= len(code.blocks[block].instructions)
            if left <= 0:
                return
        skipped = 0
        at += 1


def _analysed(mca: str, cpu: str, window: Sequence[tuple[Instruction, tuple[int, ...]]]) -> float:
    """The cycles of instructions that follow each other once, without calls and what belongs to them."""
    instructions = [i for i, _ in window if not i.name.startswith(("call", "ret", "push", "pop"))]
    if not instructions:
        return 0.0
    labels = {i.operands[0] for i in instructions if i.name.startswith("j") and i.operands}
    text = "\n".join(
        (*(i.text for i in instructions), *(f"{name}:" for name in sorted(labels) if name.startswith(".")), "")
    )
    command = [mca, f"-mcpu={cpu}", "-iterations=1", "-all-views=false", "-summary-view"]
    found = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    cycles = re.search(r"Total Cycles:\s+(\d+)", found.stdout)
    if cycles is None:
        raise TilewrightError(Refusal("no-port-model", "llvm-mca does not read the code", found.stderr.strip()[:200]))
    return float(cycles[1])


def _chain(window: Sequence[tuple[Instruction, tuple[int, ...]]]) -> float:
    """The cycles of the longest chain of stores and loads of equal addresses through vector registers."""
    stored: dict[int, float] = {}
    depth: dict[str, float] = {}
    longest = 0.0
    moved: dict[int, int] = {}
    last: tuple[int, ...] = ()
    for instruction, registers in window:
        if registers is not last:
            last, moved = registers, {}
        name, operands = instruction.name, instruction.operands
        if not instruction.is_vector or not operands:
            _follow(instruction, moved)
            continue
        target = operands[-1]
        inputs = operands if name.startswith(("vfm", "vfn")) else operands[:-1]
        begin = max((_depth(o, stored, depth, registers, moved) for o in inputs), default=0.0)
        if is_memory(target):
            stored[_place(target, registers, moved)] = begin + FORWARD_CYCLES
        else:
            is_move = name.startswith(("vmov", "vbroadcast", "vpxor", "vxor"))
            depth[_number(target)] = begin + (0.0 if is_move or not begin else OPERATION_CYCLES)
        longest = max(longest, begin)
    return longest


def _depth(
    operand: str, stored: dict[int, float], depth: dict[str, float], registers: tuple[int, ...], moved: dict[int, int]
) -> float:
    """The cycles until an operand is there: of a register, or of a place that was stored before."""
    if is_memory(operand):
        return stored.get(_place(operand, registers, moved), 0.0)
    return depth.get(_number(operand), 0.0)


def _number(operand: str) -> str:
    found = re.search(r"%[xyz]mm(\d+)", operand)
    return found[1] if found else ""


def _place(operand: str, registers: tuple[int, ...], moved: dict[int, int]) -> int:
    if moved:
        registers = tuple(value + moved.get(n, 0) for n, value in enumerate(registers))
    return address(operand, registers)


def _follow(instruction: Instruction, moved: dict[int, int]) -> None:
    """Keep additions of constants to registers inside of a block."""
    name, operands = instruction.name, instruction.operands
    sign = -1 if name.startswith(("sub", "dec")) else 1
    if name.startswith(("add", "sub")) and operands[0].startswith("$") and operands[1] in REGISTERS:
        step, target = int(operands[0][1:], 0), operands[1]
    elif name.startswith(("inc", "dec")) and operands[0] in REGISTERS:
        step, target = 1, operands[0]
    else:
        return
    number = REGISTERS[target][0]
    moved[number] = moved.get(number, 0) + sign * step


__all__ = ["PortCycles", "find_mca", "port_cycles", "port_times"]
