"""Random machines with every law of docs/simulator.md except caches, which have separate oracles."""

from __future__ import annotations

from random import Random

from tilewright.engine.hwsim import Machine, read_machine

SCOPES = '["local", "shared"]'


def random_machine(rng: Random) -> Machine:
    """A far memory, a scratchpad and an accumulator memory, with a DMA or two, a matrix unit or an array, a vector and a scalar unit."""
    text = [f'name = "random"\nclock_hz = 1_000_000_000\n{_far(rng)}{_pad(rng)}{_accumulator(rng)}']
    reach = 'reads = ["ddr", "pad", "acc"]\nwrites = ["ddr", "pad", "acc"]'
    near = reach.replace('"ddr", ', "") if rng.random() < 0.4 else reach
    engines = ["dma", *(["dma2"] if rng.random() < 0.2 else []), "matrix", "vector", "scalar"]
    unit = rng.sample(engines, 2) if rng.random() < 0.25 else []
    like = _dma(rng, channels="dma" not in unit)
    bodies = {"dma": like, "dma2": like, "matrix": _array(rng) if rng.random() < 0.5 else _matrix(rng), "vector": _vector(rng),
              "scalar": f'kind = "scalar"\ncycles_per_operation = {rng.choice([1, 2])}\n{_rates(rng)}'}  # fmt: skip
    shared = _queue(rng)
    for name in engines:
        body, tables = bodies[name].partition("\n\n")[::2]
        queue = shared if name in unit else _queue(rng)
        own = 'unit = "core"\n' if name in unit else ""
        times = "" if name == "dma2" else _times(rng)
        where = near if name in ("matrix", "vector") else reach
        text.append(f"[engines.{name}]\n{body}\n{where}\n{queue}{own}{times}{tables.format(name=name)}\n")
    if rng.random() < 0.3:
        members = ", ".join(f'"{n}"' for n in rng.sample(engines, rng.randint(1, 3)))
        burst = rng.choice([1, 8, 64])
        text.append(
            f"[buses.bus]\nengines = [{members}]\nbytes_per_cycle = {rng.choice([4, 16])}\nburst_bytes = {burst}\n"
        )
    return read_machine("\n".join(text))


def _maybe(rng: Random, likely: float, text: str) -> str:
    return f"{text}\n" if rng.random() < likely else ""


def _width(rng: Random, parts: int = 1) -> str:
    read, write = (parts * rng.choice([1, 3, 4, 16, 64]) for _ in range(2))
    ports = rng.choice(["shared", "separate", "separate"])
    return f'read_bytes_per_cycle = {read}\nwrite_bytes_per_cycle = {write}\nports = "{ports}"\n'


def _far(rng: Random) -> str:
    return (
        f'[memories.ddr]\nscopes = ["global"]\ncapacity_bytes = 16_777_216\n{_width(rng)}'
        f"burst_bytes = {rng.choice([1, 8, 12, 32, 64])}\nlatency_cycles = {rng.choice([0, 7, 60])}\n"
    )


def _pad(rng: Random) -> str:
    kind, banks = rng.choice(["plain", "blocks", "interleaved", "interleaved", "groups"]), rng.choice([2, 4, 8])
    capacity = rng.choice([512, 1_024, 3_840, 1_966_080])
    head = f"[memories.pad]\nscopes = {SCOPES}\ncapacity_bytes = {capacity}\nlatency_cycles = {rng.choice([0, 0, 3])}\n"
    burst = f"burst_bytes = {rng.choice([1, 1, 8, 16])}\n"
    if kind == "plain":
        return f"{head}{_width(rng)}{burst}"
    own = 'block_ports = "own"\n' if kind != "groups" and rng.random() < 0.4 else ""
    width = _width(rng, banks)
    if kind == "blocks":
        return f"{head}{width}{burst}banks = {banks}\n{own}"
    more = f'mapping = "interleave"\ninterleave_bytes = {rng.choice([4, 8, 16, 32])}\n'
    if kind == "groups":
        more += f"bank_groups = {banks}\n"
        banks *= rng.choice([1, 2, 4])
    more += _maybe(rng, 0.3, f"bank_ports = {rng.choice([2, 3])}") + _maybe(rng, 0.3, "broadcast = false")
    more += _maybe(rng, 0.3, f"phase_bytes = {rng.choice([8, 16, 64])}")
    if rng.random() < 0.4:
        more += f"thread_bytes = {rng.choice([4, 8, 16])}\n" + _maybe(rng, 0.7, "joined_phases = true")
    return f"{head}{width}{burst}banks = {banks}\n{own}{more}"


def _accumulator(rng: Random) -> str:
    return f'[memories.acc]\nscopes = ["local.acc"]\ncapacity_bytes = 65_536\n{_width(rng)}burst_bytes = {rng.choice([1, 16])}\n'


def _queue(rng: Random) -> str:
    return f"queue_tasks = {rng.choice([1, 2, 8])}\n"


def _times(rng: Random) -> str:
    found = f"setup_cycles = {rng.choice([0, 3, 20])}\nlatency_cycles = {rng.choice([0, 0, 9])}\n"
    return found + _maybe(rng, 0.15, f"wait_cycles = {rng.choice([1, 5])}") + _maybe(rng, 0.15, "signal_cycles = 2")


def _dma(rng: Random, *, channels: bool) -> str:
    found = f'kind = "dma"\nbytes_per_cycle = {rng.choice([1, 4, 6, 16])}\n'
    if channels:
        found += _maybe(rng, 0.25, f"channels = {rng.choice([2, 3])}")
    found += _maybe(rng, 0.3, f"outstanding_requests = {rng.choice([1, 2, 16])}")
    found += _maybe(rng, 0.3, f"dimensions = {rng.choice([1, 2, 3])}") + _maybe(
        rng, 0.3, f"max_extent = {rng.choice([3, 8, 16])}"
    )
    found += _maybe(rng, 0.4, f"transpose_bytes_per_cycle = {rng.choice([1, 4])}") + _maybe(
        rng, 0.5, "zero_padding = true"
    )
    every = ["cast", "clip", "offset", "relu", "scale", "bias", "channel_scale"]
    names = ", ".join(f'"{a}"' for a in rng.sample(every, rng.choice([0, 4, 7])))
    return found + f"activations = [{names}]"


def _matrix(rng: Random) -> str:
    rows, columns, depth = (rng.choice([1, 2, 4, 8]) for _ in range(3))
    found = f'kind = "matrix"\ntile_rows = {rows}\ntile_columns = {columns}\ntile_depth = {depth}\ncycles_per_tile = {rng.choice([1, 9])}\n'
    found += f"element_bytes = {rng.choice([1, 2, 4])}\nregister_rows = {rng.choice([1, 2])}\nregister_columns = {rng.choice([1, 3])}\n"
    found += _maybe(rng, 0.3, 'accumulate_in = "memory"') + _maybe(rng, 0.6, 'operand_rows = "banked"')
    return found + ("\n[engines.{name}.cycles_by_type]\nint8 = 2\nint32 = 7\n" if rng.random() < 0.3 else "")


def _array(rng: Random) -> str:
    flow = rng.choice(["output_stationary", "weight_stationary", "input_stationary"])
    found = (
        f'kind = "systolic"\nrows = {rng.choice([2, 4, 8])}\ncolumns = {rng.choice([2, 4, 8])}\ndataflow = "{flow}"\n'
    )
    found += f"element_bytes = {rng.choice([1, 4])}\n" + _maybe(rng, 0.6, 'operand_rows = "banked"')
    if flow != "output_stationary":
        found += _maybe(rng, 0.5, 'weights = "double"')
    return found + ("\n[engines.{name}.passes_by_type]\nint8 = 1\nint32 = 3\n" if rng.random() < 0.3 else "")


def _vector(rng: Random) -> str:
    found = f'kind = "vector"\nvector_bytes = {rng.choice([8, 16, 32, 64])}\ncycles_per_operation = {rng.choice([1, 1, 2])}\n'
    found += _maybe(rng, 0.5, 'operands = "together"')
    found += _maybe(rng, 0.15, 'lanes = "program"')
    lanes = "\n[engines.{name}.lanes_by_type]\nint8 = 12\nint32 = 5\n" if rng.random() < 0.2 else ""
    return found + _rates(rng) + lanes


def _rates(rng: Random) -> str:
    return "\n[engines.{name}.rates]\ncast = 2\ndiv = 9\nmax = 3\nexp = 5\nshuffle = 2\n" if rng.random() < 0.4 else ""
