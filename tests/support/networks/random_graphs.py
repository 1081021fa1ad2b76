"""Random networks: graphs of calls of a few kernels, schedules of these kernels, and tensors that stay on chip."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from tilewright.engine.hwsim import Machine, load_machine
from tilewright.engine.ir import Network, PrimFunc
from tilewright.engine.network import prepared_calls
from tilewright.engine.schedule import Schedule
from tilewright.engine.script.relax import parse_network

SIZE = 64

HEAD = """
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
"""

KERNELS = {
    "scale": (("x",), "y[vi, vj] = x[vi, vj] * T.float32(0.5)", "spatial"),
    "flip": (("x",), "y[vi, vj] = x[vj, vi] + T.float32(1)", "spatial"),
    "join": (("x", "z"), "y[vi, vj] = x[vi, vj] + z[vi, vj]", "spatial"),
    "product": (("x", "z"), "y[vi, vj] = y[vi, vj] + x[vi, vk] * z[vk, vj]", "reduction"),
}
"""Each kernel: its arguments, its statement, and whether it sums."""


class Case(NamedTuple):
    network: Network
    machine: Machine
    scheduled: dict[str, PrimFunc]
    on_chip: dict[str, str]


def kernel_text(name: str) -> str:
    arguments, body, kind = KERNELS[name]
    buffers = ", ".join(f'{a}: T.Buffer(({SIZE}, {SIZE}), "float32")' for a in (*arguments, "y"))
    lines = [f"    @T.prim_func(private=True, s_tir=True)\n    def {name}({buffers}):"]
    if kind == "reduction":
        lines += [f"        for i, j, k in T.grid({SIZE}, {SIZE}, {SIZE}):", '            with T.sblock("y"):']
        lines += ['                vi, vj, vk = T.axis.remap("SSR", [i, j, k])', "                with T.init():"]
        lines += ["                    y[vi, vj] = T.float32(0)"]
    else:
        lines += [f"        for i, j in T.grid({SIZE}, {SIZE}):", '            with T.sblock("y"):']
        lines += ['                vi, vj = T.axis.remap("SS", [i, j])']
    return "\n".join([*lines, f"                {body}"]) + "\n"


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Two to six calls on earlier tensors. Unused results are results of the model."""
    tensor = f'R.Tensor(({SIZE}, {SIZE}), "float32")'
    known = ["a", "b", "w", "v"]
    calls: list[str] = []
    for number in range(draw(st.integers(2, 6))):
        kernel = draw(st.sampled_from([*sorted(KERNELS), *["product"] * 4]))
        given = [draw(st.sampled_from(known)) for _ in KERNELS[kernel][0]]
        arguments = ", ".join(given) + ("," if len(given) == 1 else "")
        calls.append(f"        t{number} = R.call_tir(cls.{kernel}, ({arguments}), out_ty={tensor})")
        known.append(f"t{number}")
    read = {name for call in calls for name in known if f"({name}," in call or f", {name})" in call}
    results = [f"t{n}" for n in range(len(calls)) if f"t{n}" not in read or n == len(calls) - 1]
    parameters = ", ".join(f"{name}: {tensor}" for name in known[:4])
    lines = ["    @R.function", f"    def main({parameters}):", '        R.func_attr({"num_input": 2})']
    lines += ["        cls = Module", *calls, f"        return ({', '.join(results)},)"]
    return parse_network(HEAD + "\n".join([*map(kernel_text, KERNELS), *lines]) + "\n")


def staged(name: str, tile: int, slots: int, write: str) -> PrimFunc:
    """The kernel in tiles of rows, with its operands staged in the vtcm, and its result in the scope `write`, if that is not empty."""
    func = parse_network(HEAD + kernel_text(name) + _main(name)).kernels[0]
    sch = Schedule(func)
    outer, _ = sch.split(sch.get_loops("y")[0], [None, tile])
    if write:
        result = sch.cache_write("y", 0, write)
        sch.reverse_compute_at(result, outer)
    copies = [sch.cache_read("y", argument, "local.vtcm") for argument in KERNELS[name][0]]
    for copy in copies:
        sch.compute_at(copy, outer)
        if slots > 1:
            sch.double_buffer(copy, slots=slots)
    if slots > 1 and SIZE // tile > 2:
        stages = [0] * len(copies) + [1] * (1 + bool(write))
        sch.pipeline(outer, stages=stages)
    return sch.func


def _main(name: str) -> str:
    count = len(KERNELS[name][0])
    tensor = f'R.Tensor(({SIZE}, {SIZE}), "float32")'
    parameters = ", ".join(f"a{n}: {tensor}" for n in range(count))
    arguments = ", ".join(f"a{n}" for n in range(count)) + ","
    return (
        f"    @R.function\n    def main({parameters}):\n        cls = Module\n"
        f"        t = R.call_tir(cls.{name}, ({arguments}), out_ty={tensor})\n        return t\n"
    )


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A network on a variant of dual-bank-npu, with random schedules and tensors on chip that may not fit."""
    network = draw(networks())
    machine = load_machine("dual-bank-npu")
    machine = machine.replace("memories.vtcm.capacity_bytes", draw(st.sampled_from([65_536, 131_072, 262_144])))
    machine = machine.replace("engines.dma.setup_cycles", draw(st.sampled_from([0, 40, 500])))
    machine = machine.replace("memories.vtcm.ports", draw(st.sampled_from(["separate", "shared"])))
    machine = machine.replace("memories.ddr.read_bytes_per_cycle", draw(st.sampled_from([4, 26, 64])))
    machine = machine.replace("engines.dma.channels", draw(st.sampled_from([1, 2])))
    machine = machine.replace("engines.matrix.cycles_per_tile", draw(st.sampled_from([32, 1000])))
    names = [f.name for f in network.kernels]
    scheduled = {
        name: staged(
            name,
            draw(st.sampled_from([8, 16, 32])),
            draw(st.sampled_from([1, 2])),
            draw(st.sampled_from(["local.acc", "local.acc", "local.vtcm", *([] if name == "product" else [""])])),
        )
        for name in names
        if name == "product" or draw(st.booleans())
    }
    prepared = prepared_calls(network.graph)
    calls = [call for at, call in enumerate(network.graph.calls) if at not in prepared]
    tensors = {t.name for call in calls for t in (*call.arguments, *call.results)}
    inner = sorted(tensors - {t.name for t in network.graph.results})
    scopes = ["local.vtcm_Block_1", "local.vtcm_Block_2"]
    on_chip = {name: draw(st.sampled_from(scopes)) for name in inner if draw(st.booleans())}
    return Case(network, machine, scheduled, on_chip)
