"""A network as a Python file for Apache TVM: one module with the relax function and the scheduled programs of its kernels."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import indent

from msgspec.structs import replace

from ..ir import IRModule, Network, PrimFunc, allocated_buffers, replace_buffers
from ..script import to_script
from ..script.relax import graph_text

MODULE = "Module"

_HEADER = '''\
"""{title}: a module for Apache TVM 0.26 or newer, exported by Tilewright.

`Module` has the relax function `{main}` and {count} tensor programs, {scheduled} of them scheduled. The first parameters, {inputs} of them,
are inputs, the others weights. `build()` compiles the module and returns TVM's virtual machine:

    results = build()["{main}"](*inputs, *weights)
"""

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


'''

_IMPORTS = """\
# from tvm.script import ir as I
# from tvm.script import relax as R
# from tvm.script import tirx as T

"""

_FOOTER = '''

def build(target="llvm"):
    """Compile the module for a target and return a virtual machine on this computer's CPU."""
    return relax.VirtualMachine(tvm.compile(Module, target), tvm.cpu())


if __name__ == "__main__":
    print(Module.script())
'''


def network_tvm_python(network: Network, scheduled: Mapping[str, PrimFunc] | None = None, title: str = "") -> str:
    """Return the text of a Python file that defines the network as a module of TVM.

    `scheduled` are the programs of kernels after their schedules, by name; the others are as they are. The functions are TVMScript with
    loops, scopes and annotations of the schedules, which TVM lowers; nothing is scheduled when the file is read.
    """
    programs = scheduled or {}
    head = _HEADER.format(
        title=title or network.graph.name,
        main=network.graph.name,
        count=len(network.kernels),
        scheduled=sum(f.name in programs for f in network.kernels),
        inputs=len(network.graph.inputs),
    )
    return head + _module_text(network, programs) + _FOOTER


def network_tvm_script(network: Network, scheduled: Mapping[str, PrimFunc] | None = None) -> str:
    """Return the network as the text of a module of TVM, which `tvm.script.from_source` reads and `tilewright import` reads back."""
    return _IMPORTS + _module_text(network, scheduled or {})


def _module_text(network: Network, programs: Mapping[str, PrimFunc]) -> str:
    text = to_script(IRModule(tuple(_as_text_has_it(programs.get(f.name, f)) for f in network.kernels)))
    body = text[text.index("@I.ir_module") :].rstrip("\n")
    return body + "\n\n" + indent(graph_text(network.graph, MODULE), "    ")


def _as_text_has_it(func: PrimFunc) -> PrimFunc:
    """The program without axis separators of intermediate buffers: TVM's text has none for them (`sblock_alloc_buffer`, 0.27), and on a
    CPU they do not change results."""
    flat = {b: replace(b, axis_separators=()) for b in allocated_buffers(func) if b.axis_separators}
    return replace_buffers(func, flat) if flat else func


__all__ = ["network_tvm_python", "network_tvm_script"]
