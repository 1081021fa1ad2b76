"""Random TE programs with random schedules, as text: chains of computes on square int32 tensors, then lines of a schedule."""

from __future__ import annotations

from hypothesis import strategies as st

_SIZES = (4, 6, 9)
_BODIES = (
    "{a}[i, j] * 2 + i",
    "{a}[i, te.max(j - 1, 0)] + {a}[i, j]",
    "{a}[te.min(i + 2, N - 1), j] - {a}[i, j]",
    "{a}[j, i]",
    "{a}[i][j] + {b}[i, j]",
    "te.if_then_else(j < 3, {a}[i, j], {b}[j, i])",
)


class _Stage:
    """A stage of the generator: its variable and the variables of its leaf axes, spatial and reduced."""

    def __init__(self, name: str, spatial: list[str], reduced: list[str]) -> None:
        self.name = name
        self.leaves = [*spatial, *reduced]
        self.reduced = {*reduced}


@st.composite
def te_texts(draw: st.DrawFn) -> str:
    """A program of two to four computes with up to ten schedule lines. Lines that TE itself would refuse are drawn too."""
    lines = [f"N = {draw(st.sampled_from(_SIZES))}", 'A = te.placeholder((N, N), "int32", name="A")']
    tensors = ["A"]
    stages: list[_Stage] = []
    readers: dict[str, list[str]] = {"A": []}
    for number in range(draw(st.integers(2, 4))):
        name, a, b = f"T{number}", tensors[-1], draw(st.sampled_from(tensors))
        if draw(st.integers(0, 3)) == 0:
            k = f"k{number}"
            lines.append(f'{k} = te.reduce_axis((0, N), "k")')
            lines.append(
                f'{name} = te.compute((N, N), lambda i, j: te.sum({a}[i, {k}] * {b}[{k}, j], axis={k}), name="{name}")'
            )
            reduced = [k]
        else:
            body = draw(st.sampled_from(_BODIES)).format(a=a, b=b)
            lines.append(f'{name} = te.compute((N, N), lambda i, j: {body}, name="{name}")')
            reduced = []
        for source in {a, b} if "{b}" in lines[-1] or f"{b}[" in lines[-1] else {a}:
            readers[source].append(name)
        readers[name] = []
        tensors.append(name)
        stages.append(_Stage(name, [f"{name}_i", f"{name}_j"], reduced))
    lines.append(f"s = te.create_schedule({tensors[-1]}.op)")
    lines += _caches(draw, stages, readers)
    lines += [f"{s.name}_i, {s.name}_j = s[{s.name}].op.axis" for s in stages]
    for _ in range(draw(st.integers(0, 8))):
        lines.append(_line(draw, stages))
    lines.append(f"tvm.lower(s, [A, {tensors[-1]}])")
    return "\n".join(lines) + "\n"


def _caches(draw: st.DrawFn, stages: list[_Stage], readers: dict[str, list[str]]) -> list[str]:
    """Up to two caches; their stages join `stages` where they are computed."""
    lines: list[str] = []
    for number in range(draw(st.integers(0, 2))):
        source = draw(st.sampled_from([s for s in readers if readers[s]]))
        if draw(st.booleans()):
            used = draw(st.lists(st.sampled_from(readers[source]), min_size=1, unique=True))
            lines.append(f'R{number} = s.cache_read({source}, "local", [{", ".join(used)}])')
            at = min(i for i, s in enumerate(stages) if s.name in used)
            stages.insert(at, _Stage(f"R{number}", [f"R{number}_i", f"R{number}_j"], []))
        elif source != "A":
            stage = next(s for s in stages if s.name == source)
            lines.append(f'W{number} = s.cache_write({source}, "local")')
            stages.insert(stages.index(stage), _Stage(f"W{number}", [f"W{number}_i", f"W{number}_j"], [*stage.reduced]))
            stage.leaves, stage.reduced = stage.leaves[:2], set()
            readers[source] = readers.pop(source)
            break
    return lines


def _line(draw: st.DrawFn, stages: list[_Stage]) -> str:
    position = draw(st.integers(0, len(stages) - 1))
    stage = stages[position]
    axis = draw(st.sampled_from(stage.leaves))
    kind = draw(
        st.sampled_from(("split", "split", "tile", "reorder", "fuse", "at", "at", "at", "inline", "kind", "scope"))
    )
    match kind:
        case "split":
            way = draw(st.sampled_from(("factor", "nparts")))
            halves = [f"{axis}o", f"{axis}i"]
            _replace(stage, [axis], halves)
            return f"{', '.join(halves)} = s[{stage.name}].split({axis}, {way}={draw(st.integers(1, 4))})"
        case "reorder":
            order = draw(st.permutations(stage.leaves))[: draw(st.integers(2, 3))]
            places = sorted(stage.leaves.index(a) for a in order)
            for place, leaf in zip(places, order, strict=True):
                stage.leaves[place] = leaf
            return f"s[{stage.name}].reorder({', '.join(order)})"
        case "tile" if len({*stage.leaves} - stage.reduced) > 1 and {*stage.leaves[:2]}.isdisjoint(stage.reduced):
            x, y = stage.leaves[:2]
            halves = [f"{x}o", f"{y}o", f"{x}i", f"{y}i"]
            _replace(stage, [x, y], halves)
            return f"{', '.join(halves)} = s[{stage.name}].tile({x}, {y}, {draw(st.integers(1, 4))}, {draw(st.integers(1, 4))})"
        case "fuse" if axis != stage.leaves[-1]:
            after = stage.leaves[stage.leaves.index(axis) + 1]
            if (axis in stage.reduced) == (after in stage.reduced):
                _replace(stage, [axis, after], [f"{axis}f"])
                return f"{axis}f = s[{stage.name}].fuse({axis}, {after})"
        case "at" if position + 1 < len(stages):
            other = stages[draw(st.integers(position + 1, len(stages) - 1))]
            return f"s[{stage.name}].compute_at(s[{other.name}], {draw(st.sampled_from(other.leaves))})"
        case "inline" if position + 1 < len(stages):
            return f"s[{stage.name}].compute_inline()"
        case "scope" if position + 1 < len(stages):
            return f's[{stage.name}].set_scope("local")'
        case _:
            pass
    return f"s[{stage.name}].{draw(st.sampled_from(('unroll', 'parallel', 'vectorize')))}({axis})"


def _replace(stage: _Stage, old: list[str], new: list[str]) -> None:
    at = stage.leaves.index(old[0])
    reduced = {*old} <= stage.reduced
    rest = [leaf for leaf in stage.leaves if leaf not in old]
    stage.leaves = [*rest[:at], *new, *rest[at:]]
    stage.reduced = {*(stage.reduced - {*old}), *(new if reduced else ())}
