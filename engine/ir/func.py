"""Functions and modules."""

from __future__ import annotations

from importlib import import_module

from .buffer import Buffer
from .contents import Contents
from .expr import Node, Var
from .stmt import Annotations, Stmt, shown


class Program(Node, frozen=True, eq=False):
    """A function or a module, with TVM's methods for its text."""

    def script(self) -> str:
        """Return the program as TVMScript of current TVM."""
        printer = import_module("..script", __package__)  # a package above this one, which prints what is defined here
        return str(printer.to_script(self))

    def show(self) -> None:
        """Print the program as TVMScript."""
        print(self.script())

    def __str__(self) -> str:
        return self.script()


class PrimFunc(Program, frozen=True, eq=False):
    """A tensor program. `params` are scalars and handles; `buffer_map` maps the handles to buffers, in the order of the params.

    `body` is the realize of the root block, which holds the intermediate buffers in its `alloc_buffers`. `data` is what is given of the
    contents of parameters, for simulations and tests; it is no part of the program's text.
    """

    name: str
    params: tuple[Var, ...]
    buffer_map: tuple[tuple[Var, Buffer], ...]
    body: Stmt
    attrs: Annotations = ()
    data: tuple[Contents, ...] = ()

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """The parameter buffers in order."""
        return tuple(buffer for _, buffer in self.buffer_map)

    def __repr__(self) -> str:
        buffers = (f"{b.name}: {b.dtype}[{', '.join(map(shown, b.shape))}]" for b in self.buffers)
        return f"PrimFunc({', '.join((repr(self.name), *buffers))})"


class IRModule(Program, frozen=True, eq=False):
    """Functions by name, in order."""

    functions: tuple[PrimFunc, ...]
    attrs: Annotations = ()

    def __repr__(self) -> str:
        return f"IRModule({', '.join(map(repr, self.functions))})"

    def __getitem__(self, name: str) -> PrimFunc:
        for func in self.functions:
            if func.name == name:
                return func
        raise KeyError(f"no function {name!r}; the module has {', '.join(f.name for f in self.functions)}")
