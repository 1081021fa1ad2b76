"""The path that a program takes through its code: integer instructions are followed with numbers, floating-point ones only listed.

Addresses of arrays are unknown: each value that is loaded is a pointer of its own, far from all others. A branch that depends on a
loaded value takes the way to the loops. A block that jumps to itself is followed once; its other repeats are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .assembly import Code, Instruction

POINTER = 1 << 40
"""The first of the numbers that stand for loaded values; they are 2**36 apart."""
APART = 1 << 36
HALF = 0x7FFF_0000
"""The first of the numbers that stand for loaded values of 32 bits."""
CONSTANTS = POINTER
FROM_VECTOR = HALF + 0xABC
"""Stands for what an integer register takes from a vector."""
STACK = 1 << 62

MOST_STEPS = 1_000_000
"""Blocks that are followed."""

_MEMORY = re.compile(r"^(?:%fs:)?(-?\w*)\((%\w+)?(?:,(%\w+)(?:,(\d))?)?\)$")
_WIDE = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"]


def _registers() -> dict[str, tuple[int, int]]:
    """The number and the width in bits of each integer register by name."""
    found: dict[str, tuple[int, int]] = {}
    for n, name in enumerate(_WIDE):
        core = name[1:]
        numbered = core.isdigit() or core[0].isdigit()
        narrow = (
            (f"{name}d", f"{name}w", f"{name}b")
            if numbered
            else (f"e{core}", core, f"{core[0]}l" if core.endswith("x") else f"{core}l")
        )
        found |= {f"%{name}": (n, 64), f"%{narrow[0]}": (n, 32), f"%{narrow[1]}": (n, 16), f"%{narrow[2]}": (n, 8)}
    return found


REGISTERS = _registers()


class Stretch(NamedTuple):
    """`times` executions of a block one after the other, and the registers before the first and before the second."""

    block: int
    times: int
    before: tuple[int, ...]
    step: tuple[int, ...]


class TooLongError(Exception):
    """More blocks than MOST_STEPS."""


def walked(code: Code) -> list[Stretch]:
    """The path from the entry to the return. Raises TooLongError, and ValueError for code that is not understood."""
    return list(_Walk(code).run())


class _Walk:
    def __init__(self, code: Code) -> None:
        self.code = code
        self.registers = [0] * len(_WIDE)
        self.registers[_WIDE.index("rsp")] = STACK
        self.loaded = 0
        self.stack: dict[int, int] = {}
        self.flags: tuple[str, int, int, int] = ("cmp", 0, 0, 64)
        self.steps = [[self.step(i) for i in block.instructions] for block in code.blocks]

    def run(self) -> Iterator[Stretch]:
        block: int | None = 0
        for register in ("rdi", "rsi", "rdx", "rcx", "r8", "r9"):
            self.registers[_WIDE.index(register)] = self.fresh(64)
        for _ in range(MOST_STEPS):
            if block is None:
                return
            before = tuple(self.registers)
            following = self.follow(block)
            times = 1
            step = tuple(a - b for a, b in zip(self.registers, before, strict=True))
            if following == block:
                times += self.repeats(block, step)
                following = self.follow(block) if times > 1 else following
            yield Stretch(block, times, before, step)
            block = following
        raise TooLongError

    def follow(self, number: int) -> int | None:
        """Execute a block and return the next one."""
        block = self.code.blocks[number]
        for step in self.steps[number]:
            step()
        last = block.instructions[-1]
        if len(block.targets) < 2 or not last.name.startswith("j"):
            return block.targets[0] if block.targets else None
        onward, jumped = block.targets
        taken = self.condition(last.name[1:])
        if taken is not None:
            return jumped if taken else onward
        hot = self.code.hot
        return jumped if jumped in hot and onward not in hot else onward

    def repeats(self, number: int, step: tuple[int, ...]) -> int:
        """The further executions of a block that has jumped to itself; all but the last are skipped. 0 if their number is not known."""
        *_, compare, jump = self.code.blocks[number].instructions
        change = self.compared_change(compare, step)
        if not change:
            return 0
        kind, left, right, bits = self.flags
        if jump.name == "jne":
            distance = right - left if kind == "cmp" else -left
            count = distance // change if distance % change == 0 else 0
        else:
            count = self.first_end(jump.name[1:], (kind, left, right, bits), change)
        if count < 2:
            return 0
        self.registers = [r + s * (count - 1) for r, s in zip(self.registers, step, strict=True)]
        return count

    def first_end(self, name: str, flags: tuple[str, int, int, int], change: int) -> int:
        """The first repeat after which an inequality no longer holds, for a left side that grows by `change`; 0 beyond 2**32."""
        kind, left, right, bits = flags

        def holds(count: int) -> bool:
            self.flags = kind, left + count * change, right, bits
            return bool(self.condition(name))

        low, high = 0, 1
        while holds(high):
            low, high = high, 2 * high
            if high > 1 << 32:
                high = 0
                break
        while high and high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if holds(middle) else (low, middle)
        self.flags = flags
        return high

    def compared_change(self, compare: Instruction, step: tuple[int, ...]) -> int | None:
        """How much the difference that the jump depends on changes in a repeat; None if it is not known."""
        steps = [step[REGISTERS[o][0]] if o in REGISTERS else 0 for o in compare.operands]
        if any(is_memory(o) for o in compare.operands):
            return None
        if compare.name.startswith("cmp"):
            return steps[1] - steps[0]
        return steps[-1] if compare.name.startswith(("add", "sub", "inc", "dec")) else None

    def condition(self, name: str) -> bool | None:
        """Whether a condition holds; None if it depends on a loaded value."""
        kind, left, right, bits = self.flags
        if kind == "value":
            right = 0
        loaded = _is_loaded(left), _is_loaded(right)
        if (loaded[0] != loaded[1] and kind != "test") or (any(loaded) and (bits < 64 or kind == "test")):
            return None
        if kind == "test":
            left, right = left & right, 0
        mask = (1 << bits) - 1
        a, b = left & mask, right & mask
        half = 1 << (bits - 1)
        signed_a, signed_b = a - (mask + 1) * (a >= half), b - (mask + 1) * (b >= half)
        match name:
            case "e" | "z":
                return a == b
            case "ne" | "nz":
                return a != b
            case "b" | "c" | "nae":
                return a < b
            case "ae" | "nc" | "nb":
                return a >= b
            case "be" | "na":
                return a <= b
            case "a" | "nbe":
                return a > b
            case "l" | "nge":
                return signed_a < signed_b
            case "ge" | "nl":
                return signed_a >= signed_b
            case "le" | "ng":
                return signed_a <= signed_b
            case "g" | "nle":
                return signed_a > signed_b
            case "s":
                return signed_a - signed_b < 0
            case "ns":
                return signed_a - signed_b >= 0
            case _:
                return None

    def fresh(self, bits: int) -> int:
        """A number that stands for a loaded value."""
        self.loaded += 1
        return POINTER + self.loaded * APART if bits == 64 else HALF + self.loaded % 4096

    # --- instructions

    def step(self, instruction: Instruction) -> Callable[[], None]:
        """What an instruction does to the registers and flags."""
        name, operands = instruction.name, instruction.operands
        if name.startswith(("j", "ret", "nop", "prefetch", "ud2")):
            return _nothing
        if name.startswith("call"):
            return self.call
        if instruction.is_vector or name.startswith(("k", "v")):
            return self.from_vector(instruction) or _nothing
        if name.startswith("set"):
            return self.set_condition(name[3:], operands[0])
        if name.startswith("cmov"):
            return self.move_if(name, operands)
        return self.integer(name, operands)

    def call(self) -> None:
        self.registers[0] = self.fresh(64)

    def from_vector(self, instruction: Instruction) -> Callable[[], None] | None:
        target = instruction.operands[-1] if instruction.operands else ""
        if target in REGISTERS:
            return lambda: self.write(target, FROM_VECTOR)
        if "test" in instruction.name or "comis" in instruction.name:
            return lambda: self.set_flags("cmp", self.fresh(64), 0, 64)
        return None

    def set_condition(self, condition: str, target: str) -> Callable[[], None]:
        return lambda: self.write(target, int(bool(self.condition(condition))))

    def move_if(self, name: str, operands: tuple[str, ...]) -> Callable[[], None]:
        condition = name[4:] if name[4:] in CONDITIONS else name[4:-1]
        source, target = operands

        def move() -> None:
            if self.condition(condition):
                self.write(target, self.read(source, 64))

        return move

    def integer(self, name: str, operands: tuple[str, ...]) -> Callable[[], None]:
        if name.startswith(("movs", "movz")) and len(name) > 5:
            return lambda: self.extend(name, operands)
        if name.startswith("push"):
            return lambda: self.push(operands[0])
        if name.startswith("pop") and not name.startswith("popcnt"):
            return lambda: self.pop(operands[0])
        if name.startswith("leave"):
            return self.leave
        if name.startswith("lea"):
            return lambda: self.write(operands[1], self.address(operands[0]))
        if name.startswith(("cltq", "cltd", "cqto")):
            return _nothing
        base, bits = _base(name, operands)
        if base in ("shlx", "shrx", "sarx", "rorx", "andn"):
            return lambda: self.write(
                operands[2], _THREE[base](self.read(operands[0], bits), self.read(operands[1], bits))
            )
        if base == "imul" and len(operands) == 3:
            return lambda: self.write(operands[2], self.read(operands[0], bits) * self.read(operands[1], bits))
        match base:
            case "mov" | "movabs":
                return lambda: self.write(operands[1], self.read(operands[0], bits), bits)
            case "cmp":
                return lambda: self.set_flags("cmp", self.read(operands[1], bits), self.read(operands[0], bits), bits)
            case "test":
                return lambda: self.set_flags("test", self.read(operands[1], bits), self.read(operands[0], bits), bits)
            case "inc" | "dec" | "neg" | "not":
                return lambda: self.update(operands[0], _ONE[base](self.read(operands[0], bits)), bits)
            case "shl" | "shr" | "sar" | "sal":
                count = operands if len(operands) == 2 else ("$1", operands[0])
                return lambda: self.update(
                    count[1], _TWO[base](self.read(count[1], bits), self.read(count[0], 8)), bits
                )
            case _ if base in _TWO:
                return lambda: self.update(
                    operands[1], _TWO[base](self.read(operands[1], bits), self.read(operands[0], bits)), bits
                )
            case _:
                target = operands[-1] if operands else ""
                return (lambda: self.write(target, self.fresh(64))) if target in REGISTERS else _nothing

    def extend(self, name: str, operands: tuple[str, ...]) -> None:
        bits = {"b": 8, "w": 16, "l": 32}[name[4]]
        value = self.read(operands[0], bits) & ((1 << bits) - 1)
        if name[3] == "s" and value >= 1 << (bits - 1):
            value -= 1 << bits
        self.write(operands[1], value)

    def push(self, source: str) -> None:
        self.registers[7] -= 8
        self.stack[self.registers[7]] = self.read(source, 64)

    def pop(self, target: str) -> None:
        self.write(target, self.stack.get(self.registers[7], 0))
        self.registers[7] += 8

    def leave(self) -> None:
        self.registers[7] = self.registers[6]
        self.pop("%rbp")

    def set_flags(self, kind: str, left: int, right: int, bits: int) -> None:
        self.flags = kind, left, right, bits

    def update(self, target: str, value: int, bits: int) -> None:
        self.write(target, value, bits)
        self.flags = "value", value, 0, bits

    def address(self, operand: str) -> int:
        return address(operand, self.registers)

    def read(self, operand: str, bits: int) -> int:
        if operand.startswith("$"):
            return (
                int(operand[1:], 0)
                if operand[1:].lstrip("-").isalnum() and operand[1:].lstrip("-")[0].isdigit()
                else self.fresh(64)
            )
        found = REGISTERS.get(operand)
        if found is not None:
            value = self.registers[found[0]]
            if value == FROM_VECTOR or (_is_loaded(value) and 8 < found[1] < 64):
                return HALF
            return value if found[1] == 64 else value & ((1 << found[1]) - 1)
        if _MEMORY.match(operand):
            place = self.address(operand)
            return self.stack[place] if place in self.stack else self.fresh(bits)
        return self.fresh(bits)

    def write(self, target: str, value: int, bits: int = 64) -> None:
        found = REGISTERS.get(target)
        if found is None:
            if _MEMORY.match(target):
                place = self.address(target)
                if place > STACK - (1 << 30):
                    self.stack[place] = value
            return
        number, width = found
        if width == 64:
            # Numbers below 2**63 stay as they are, negative ones too.
            self.registers[number] = value
        elif width == 32:
            self.registers[number] = value & 0xFFFF_FFFF
        else:
            mask = (1 << width) - 1
            self.registers[number] = (self.registers[number] & ~mask) | (value & mask)


def address(operand: str, registers: tuple[int, ...] | list[int]) -> int:
    """The address of a memory operand; CONSTANTS for one relative to the code."""
    found = _MEMORY.match(operand)
    if found is None:
        return CONSTANTS
    offset, base, index, scale = found.groups()
    place = int(offset, 0) if offset and offset.lstrip("-")[0].isdigit() else 0
    if base in REGISTERS:
        place += registers[REGISTERS[base][0]]
    if index in REGISTERS:
        place += registers[REGISTERS[index][0]] * int(scale or 1)
    return place


def is_memory(operand: str) -> bool:
    return operand.endswith(")") and not operand.startswith(("$", "%st"))


CONDITIONS = frozenset(
    ("e", "z", "ne", "nz", "b", "c", "nae", "ae", "nc", "nb", "be", "na", "a", "nbe", "l", "nge", "ge", "nl", "le", "ng", "g", "nle", "s",
     "ns")
)  # fmt: skip

_ONE: dict[str, Callable[[int], int]] = {
    "inc": lambda a: a + 1,
    "dec": lambda a: a - 1,
    "neg": lambda a: -a,
    "not": lambda a: ~a,
}
_TWO: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "imul": lambda a, b: a * b,
    "shl": lambda a, b: a << (b & 63),
    "sal": lambda a, b: a << (b & 63),
    "shr": lambda a, b: a >> (b & 63),
    "sar": lambda a, b: a >> (b & 63),
}
_THREE: dict[str, Callable[[int, int], int]] = {
    "shlx": lambda count, a: a << (count & 63),
    "shrx": lambda count, a: a >> (count & 63),
    "sarx": lambda count, a: a >> (count & 63),
    "rorx": lambda count, a: a >> (count & 63),
    "andn": lambda b, a: b & ~a,
}
_PLAIN = frozenset({*_TWO, *_ONE, *_THREE, "mov", "movabs", "cmp", "test"})


def _base(name: str, operands: tuple[str, ...]) -> tuple[str, int]:
    """The instruction without the suffix of its width, and the width in bits."""
    width = {"b": 8, "w": 16, "l": 32, "q": 64}
    if name not in _PLAIN and name[:-1] in _PLAIN:
        return name[:-1], width.get(name[-1], 64)
    known = next((REGISTERS[o][1] for o in reversed(operands) if o in REGISTERS), 64)
    return name, known


def _is_loaded(value: int) -> bool:
    return POINTER <= value < STACK - (1 << 30) or HALF <= value < HALF + 4096


def _nothing() -> None:
    pass


__all__ = ["REGISTERS", "Stretch", "TooLongError", "address", "is_memory", "walked"]
