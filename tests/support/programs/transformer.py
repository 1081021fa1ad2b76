"""A long, realistic notebook: layers of a small transformer encoder, every product tiled and its weights staged on chip.

Two layers are about 200 blocks and loops, with a manual schedule of a hundred lines.
"""

from __future__ import annotations

ROWS, WIDTH, TILE = 32, 64, 16

HEAD = """# %% [markdown]
# # A transformer encoder of {layers} layers
#
# {rows} rows of {width}; what passes from block to block stays on chip, weights come in tiles.

# %% machine
import tilewright

machine = tilewright.machine("matrix-vector-npu")

# %% workload
from tilewright.script import tirx as T


@T.prim_func(s_tir=True)
def encoder(
"""

WEIGHTS = ("q", "k", "v", "proj", "up", "down")


def transformer_notebook(layers: int = 2) -> str:
    """The notebook's text: layers of 18 blocks, eight of them products. The weights of the last product are not placed."""
    lines = [HEAD.format(layers=layers, rows=ROWS, width=WIDTH).rstrip("\n")]
    lines.append(f"    X: {_buffer(ROWS, WIDTH)},")
    lines += [f"    W_{name}{n}: {_buffer(*_weight(name))}," for n in range(layers) for name in WEIGHTS]
    lines += [f"    Y: {_buffer(ROWS, WIDTH)},", "):"]
    for n in range(layers):
        last = n == layers - 1
        lines += [f'    {name}{n} = T.sblock_alloc_buffer({shape}, scope="local")' for name, shape in _buffers(last)]
    lines.append(f'    H = T.sblock_alloc_buffer(({ROWS}, {WIDTH}), scope="local")')
    lines += _elementwise("load", "H", "X[vi, vj]", ROWS, WIDTH)
    for n in range(layers):
        lines += _layer(n, "H" if n == 0 else f"out{n - 1}", "Y" if n == layers - 1 else f"out{n}")
    lines += ["", "", "# %% schedule", "sch = tilewright.Schedule(encoder)"]
    for n in range(layers):
        lines += ["", "# %% [markdown]", f"# ## Layer {n}", "", f"# %% schedule: layer {n}"]
        for name in WEIGHTS:
            lines += _tiled(f"{name}{n}", placed=(n, name) != (layers - 1, "down"))
    lines += [
        "",
        "# %% report",
        "report = tilewright.simulate(sch, machine)",
        "print(tilewright.report_text(report))",
        "",
    ]
    return "\n".join(lines)


def _buffer(*shape: int) -> str:
    return f'T.Buffer({shape}, "float32")'


def _weight(name: str) -> tuple[int, int]:
    return {"up": (WIDTH, 2 * WIDTH), "down": (2 * WIDTH, WIDTH)}.get(name, (WIDTH, WIDTH))


def _buffers(last: bool) -> list[tuple[str, tuple[int, ...]]]:
    wide, square, row = (ROWS, WIDTH), (ROWS, ROWS), (ROWS,)
    named = {
        "q": wide, "k": wide, "v": wide, "score": square, "scaled": square, "largest": row, "power": square, "total": row,
        "mixed": wide, "attended": wide, "proj": wide, "mid": wide, "mean": row, "norm": wide, "up": (ROWS, 2 * WIDTH),
        "relu": (ROWS, 2 * WIDTH), "down": wide,
    }  # fmt: skip
    return [*named.items(), *([] if last else [("out", wide)])]


def _layer(n: int, source: str, target: str) -> list[str]:
    """Attention of one head, then two products with a relu between them, each with a residual addition."""
    return [
        *(line for name in "qkv" for line in _product(f"{name}{n}", f"{source}[vi, vk] * W_{name}{n}[vk, vj]", WIDTH, WIDTH)),
        *_product(f"score{n}", f"q{n}[vi, vk] * k{n}[vj, vk]", ROWS, WIDTH),
        *_elementwise(f"scaled{n}", f"scaled{n}", f"score{n}[vi, vj] * T.float32(0.125)", ROWS, ROWS),
        *_reduction(f"largest{n}", f"T.max(largest{n}[vi], scaled{n}[vi, vk])", ROWS, 'T.min_value("float32")'),
        *_elementwise(f"power{n}", f"power{n}", f"T.exp(scaled{n}[vi, vj] - largest{n}[vi])", ROWS, ROWS),
        *_reduction(f"total{n}", f"total{n}[vi] + power{n}[vi, vk]", ROWS),
        *_product(f"mixed{n}", f"power{n}[vi, vk] * v{n}[vk, vj]", WIDTH, ROWS),
        *_elementwise(f"attended{n}", f"attended{n}", f"mixed{n}[vi, vj] / total{n}[vi]", ROWS, WIDTH),
        *_product(f"proj{n}", f"attended{n}[vi, vk] * W_proj{n}[vk, vj]", WIDTH, WIDTH),
        *_elementwise(f"mid{n}", f"mid{n}", f"{source}[vi, vj] + proj{n}[vi, vj]", ROWS, WIDTH),
        *_reduction(f"mean{n}", f"mean{n}[vi] + mid{n}[vi, vk]", WIDTH),
        *_elementwise(f"norm{n}", f"norm{n}", f"mid{n}[vi, vj] - mean{n}[vi] / T.float32({WIDTH})", ROWS, WIDTH),
        *_product(f"up{n}", f"norm{n}[vi, vk] * W_up{n}[vk, vj]", 2 * WIDTH, WIDTH),
        *_elementwise(f"relu{n}", f"relu{n}", f"T.max(up{n}[vi, vj], T.float32(0))", ROWS, 2 * WIDTH),
        *_product(f"down{n}", f"relu{n}[vi, vk] * W_down{n}[vk, vj]", WIDTH, 2 * WIDTH),
        *_elementwise(f"add{n}", target, f"mid{n}[vi, vj] + down{n}[vi, vj]", ROWS, WIDTH),
    ]  # fmt: skip


def _product(target: str, factors: str, columns: int, depth: int) -> list[str]:
    return [
        f"    for i, j, k in T.grid({ROWS}, {columns}, {depth}):",
        f'        with T.sblock("{target}"):',
        '            vi, vj, vk = T.axis.remap("SSR", [i, j, k])',
        "            with T.init():",
        f"                {target}[vi, vj] = T.float32(0)",
        f"            {target}[vi, vj] = {target}[vi, vj] + {factors}",
    ]


def _reduction(target: str, value: str, depth: int, first: str = "T.float32(0)") -> list[str]:
    return [
        f"    for i, k in T.grid({ROWS}, {depth}):",
        f'        with T.sblock("{target}"):',
        '            vi, vk = T.axis.remap("SR", [i, k])',
        "            with T.init():",
        f"                {target}[vi] = {first}",
        f"            {target}[vi] = {value}",
    ]


def _elementwise(block: str, target: str, value: str, rows: int, columns: int) -> list[str]:
    return [
        f"    for i, j in T.grid({rows}, {columns}):",
        f'        with T.sblock("{block}"):',
        '            vi, vj = T.axis.remap("SS", [i, j])',
        f"            {target}[vi, vj] = {value}",
    ]


def _tiled(name: str, placed: bool = True) -> list[str]:
    """A product in tiles of columns and depth, its weights in two slots; without `placed`, the weights are copied all at once."""
    lines = [
        f'{name} = sch.get_block("{name}")',
        f"i_{name}, j_{name}, k_{name} = sch.get_loops({name})",
        f'jo_{name}, ji_{name} = sch.split(j_{name}, [None, {TILE}], names=["jo_{name}", "ji_{name}"])',
        f'ko_{name}, ki_{name} = sch.split(k_{name}, [None, {TILE}], names=["ko_{name}", "ki_{name}"])',
        f"sch.reorder(jo_{name}, ko_{name}, i_{name}, ji_{name}, ki_{name})",
        f'w_{name} = sch.cache_read({name}, "W_{name}", "local")',
    ]
    return [*lines, f"sch.compute_at(w_{name}, ko_{name})", f"sch.double_buffer(w_{name})"] if placed else lines
