"""Assembly of x86-64 in AT&T syntax, as LLVM prints it: the basic blocks of a function, and the loops with vector instructions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

_LABEL = re.compile(r"^([.\w$]+):")
_CODE = re.compile(r"^\s+([a-z]\w*)(?:\s+(.*?))?\s*$")
_VECTOR = re.compile(r"%[xyz]mm\d")

ENDS = ("ret", "ud2")


class Instruction(msgspec.Struct, frozen=True):
    """An instruction: its mnemonic, its operands, and its line for another assembler."""

    name: str
    operands: tuple[str, ...]
    text: str

    @property
    def is_vector(self) -> bool:
        return any(_VECTOR.search(operand) for operand in self.operands)


class BasicBlock(msgspec.Struct, frozen=True):
    """Instructions that are executed together: a jump is the last one. `targets` are the numbers of the blocks that may follow: of a
    conditional jump the one after it and the one that it jumps to."""

    instructions: tuple[Instruction, ...]
    targets: tuple[int, ...]


class Code(msgspec.Struct, frozen=True):
    """A function. `hot` are the blocks from which a loop with vector instructions is reached."""

    blocks: tuple[BasicBlock, ...]
    hot: frozenset[int]


def read_assembly(text: str, function: str) -> Code:
    """The blocks of a function; the first is its entry. Raises ValueError if the text does not have it."""
    pieces: list[tuple[list[str], list[Instruction]]] = []
    for line in _lines_of(text, function):
        label = _LABEL.match(line)
        if label:
            if pieces and not pieces[-1][1]:
                pieces[-1][0].append(label[1])
            else:
                pieces.append(([label[1]], []))
            continue
        if not pieces or (pieces[-1][1] and _ends(pieces[-1][1][-1])):
            pieces.append(([], []))
        found = _instruction(line)
        if found is not None:
            pieces[-1][1].append(found)
    pieces = [piece for piece in pieces if piece[1]]
    numbers = {name: n for n, (labels, _) in enumerate(pieces) for name in labels}
    blocks = tuple(
        BasicBlock(tuple(body), tuple(_targets(body, n, len(pieces), numbers))) for n, (_, body) in enumerate(pieces)
    )
    return Code(blocks, _hot(blocks))


def _lines_of(text: str, function: str) -> Iterator[str]:
    """Yield the lines of a function from its label to its end."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(f"{function}:"):
            yield line
            break
    else:
        raise ValueError(f"the assembly has no function {function}")
    for line in lines:
        if line.startswith(".Lfunc_end"):
            return
        stripped = line.split("#", 1)[0].rstrip()
        if _LABEL.match(stripped):
            if not stripped.startswith(".Ltmp"):
                yield stripped
        elif _CODE.match(stripped):
            yield stripped


def _instruction(line: str) -> Instruction | None:
    found = _CODE.match(line)
    if found is None:
        return None
    return Instruction(found[1], tuple(_operands(found[2] or "")), f"\t{found[1]}\t{found[2] or ''}")


def _operands(text: str) -> Iterator[str]:
    """Yield the operands; commas in parentheses or braces belong to one."""
    depth, start = 0, 0
    for n, letter in enumerate(text):
        depth += (letter in "({") - (letter in ")}")
        if letter == "," and depth == 0:
            yield text[start:n].strip()
            start = n + 1
    if text[start:].strip():
        yield text[start:].strip()


def _ends(instruction: Instruction) -> bool:
    return instruction.name.startswith(("j", *ENDS))


def _targets(body: list[Instruction], number: int, count: int, numbers: Mapping[str, int]) -> Iterator[int]:
    last = body[-1]
    if last.name.startswith(ENDS):
        return
    if last.name != "jmp" and number + 1 < count:
        yield number + 1
    if last.name.startswith("j") and last.operands[0] in numbers:
        yield numbers[last.operands[0]]


def _hot(blocks: tuple[BasicBlock, ...]) -> frozenset[int]:
    """The blocks from which a block with vector instructions that lies on a cycle is reached. A cycle has a jump backwards."""
    before: dict[int, set[int]] = {n: set() for n in range(len(blocks))}
    for n, block in enumerate(blocks):
        for target in block.targets:
            before[target].add(n)
    loops = [(target, n) for n, block in enumerate(blocks) for target in block.targets if target <= n]
    inside = {
        n for first, last in loops for n in range(first, last + 1) if any(i.is_vector for i in blocks[n].instructions)
    }
    found, todo = set(inside), list(inside)
    while todo:
        for n in before[todo.pop()] - found:
            found.add(n)
            todo.append(n)
    return frozenset(found)


__all__ = ["BasicBlock", "Code", "Instruction", "read_assembly"]
