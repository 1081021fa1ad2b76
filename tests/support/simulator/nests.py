"""Random nests of loops with affine, clamped, wrapped and guarded accesses, and random caches."""

from __future__ import annotations

import random
from math import prod

from support.programs.sources import HEADER
from support.simulator.cachegrind import Geometry, cached_machine

from tilewright.engine.hwsim import Machine

STEPS = (0, 0, 1, 1, 2, 3, 4, 8, 16, 17, 32, 64, 100)


def random_nest(seed: int, most: int = 6000) -> str:
    """A program of one or two nests of at most `most` iterations; its first block is "one"."""
    rng = random.Random(seed)
    names = "ijkl"[: rng.randint(1, 4)]
    extents = [rng.choice([1, 2, 3, 5, 8, 13, 16, 24, 40]) for _ in names]
    while prod(extents) > most:
        extents[rng.randrange(len(extents))] = 2
    uniform, buffers = rng.random() < 0.8, "ABCD"[: rng.randint(2, 4)]
    places: dict[str, list[str]] = {}
    sizes: dict[str, int] = {}
    for buffer in buffers:
        steps = [rng.choice(STEPS) for _ in names]
        places[buffer], sizes[buffer] = [], 0
        for _ in range(1 if buffer == buffers[-1] else rng.choice([1, 1, 2, 3])):
            place, last = _place(rng, names, extents, steps if uniform else [rng.choice(STEPS) for _ in names])
            places[buffer].append(place)
            sizes[buffer] = max(sizes[buffer], last + 1)
    value = " + ".join(f"{b}[{place}]" for b in buffers[:-1] for place in places[b])
    if rng.random() < 0.25:
        at = rng.randrange(len(names))
        chosen = f"T.if_then_else(v{names[at]} < {max(1, extents[at] // 2)}, A[{places['A'][0]}], T.float32(0))"
        value = rng.choice([chosen, f"{chosen} + {value}"])
    where, out = _where(rng, names, extents), f"{buffers[-1]}[{places[buffers[-1]][0]}]"
    text = _block("one", names, extents, where, f"{out} = {value}")
    if rng.random() < 0.3:
        text += _block("two", names, extents, where, f"{out} = {out} + A[{places['A'][0]}]")
    arguments = ", ".join(f'{b}: T.Buffer(({size},), "float32")' for b, size in sizes.items())
    return f"{HEADER}\n@T.prim_func\ndef moves({arguments}):\n{text}"


def _place(rng: random.Random, names: str, extents: list[int], steps: list[int]) -> tuple[str, int]:
    constant = rng.choice([0, 0, 1, 2, 16, 33])
    terms = [f"v{name} * {step}" for name, step in zip(names, steps, strict=True) if step]
    last = constant + sum((extent - 1) * step for extent, step in zip(extents, steps, strict=True))
    kind, name, limit = rng.random(), rng.choice(names), rng.choice([2, 3, 4])
    if kind < 0.1:
        terms.append(f"v{name} % {limit} * 7")
        last += 7 * (limit - 1)
    elif kind < 0.15:
        terms.append(f"T.min(v{name}, {limit})")
        last += limit
    return " + ".join([*terms, str(constant)]), last


def _where(rng: random.Random, names: str, extents: list[int]) -> str:
    kind = rng.random()
    if kind < 0.15:
        return f"T.where({names[0]} < {max(1, extents[0] - 1)})"
    if kind < 0.25 and len(names) > 1:
        return f"T.where({names[0]} + {names[1]} < {max(1, (extents[0] + extents[1]) // 2)})"
    return f"T.where({names[-1]} % 3 < 2)" if kind < 0.3 else "pass"


def _block(name: str, names: str, extents: list[int], where: str, store: str) -> str:
    several = len(names) > 1
    loops, sizes = ", ".join(names), ", ".join(map(str, extents))
    axes = ", ".join(f"v{n}" for n in names)
    remap = f'T.axis.remap("{"S" * len(names)}", [{loops}])' if several else f"T.axis.spatial({sizes}, {loops})"
    lines = [f"for {loops} in {'T.grid' if several else 'range'}({sizes}):", f'    with T.block("{name}"):']
    lines += [f"        {line}" for line in (where, f"{axes} = {remap}", store) if line != "pass"]
    return "".join(f"    {line}\n" for line in lines)


def random_machine(seed: int) -> Machine:
    """A core with two or three levels of cache, of all kinds that are warped."""
    rng = random.Random(seed)
    lines = sorted(rng.choice([16, 32, 64]) for _ in range(rng.choice([2, 3])))
    if rng.random() < 0.5:
        lines = [lines[0]] * len(lines)
    machine = cached_machine(
        *(
            Geometry(line * ways * sets, ways, line)
            for line in lines
            for ways, sets in [(rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 3, 4, 8, 16]))]
        )
    )
    for level, before in zip(machine.caches, (None, *machine.caches), strict=False):
        machine = machine.replace(f"caches.{level.name}.replacement", rng.choice(["lru", "lru", "plru", "fifo"]))
        if before is not None and level.line_bytes == before.line_bytes and rng.random() < 0.5:
            machine = machine.replace(f"caches.{level.name}.inclusion", "exclusive")
    if rng.random() < 0.4:
        machine = machine.replace("caches.first.prefetcher", rng.choice(["next-line", "stride"]))
        machine = machine.replace("caches.first.prefetch_lines", rng.choice([1, 1, 2, 4]))
        machine = machine.replace("caches.first.prefetch_distance", rng.choice([1, 1, 2, 5]))
    return machine
