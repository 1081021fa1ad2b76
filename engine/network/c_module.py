"""A network as one C file: its kernels with their schedules, a function that calls them in order, and a main with files."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ..arith import simplify
from ..export import CFunction, c_functions
from ..export.c_words import c_type, literal
from ..ir import (
    Buffer,
    Expr,
    GraphTensor,
    KernelCall,
    Network,
    PrimFunc,
    Refusal,
    TilewrightError,
    build,
    free_vars,
    substitute,
)
from ..ir import dtype as dt

INFERENCE = "inference"

_MAIN = """\
static int moved(FILE *file, void *data, size_t bytes, int writes) {{
    return (writes ? fwrite(data, 1, bytes, file) : fread(data, 1, bytes, file)) == bytes;
}}

/* program IN OUT: IN has the inputs and then the weights, OUT gets the results: elements in C's order, one tensor after the other. */
int main(int argc, char **argv) {{
    static const size_t sizes[] = {{{sizes}}};
    void *tensors[sizeof(sizes) / sizeof(*sizes)] = {{NULL}};
    const size_t given = {given}, count = sizeof(sizes) / sizeof(*sizes);
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    FILE *out = in != NULL ? fopen(argv[2], "wb") : NULL;
    int failed = out == NULL;
    if (failed)
        fprintf(stderr, "usage: %s IN OUT: files of the inputs and weights ({bytes} bytes), and of the results\\n", argv[0]);
    for (size_t n = 0; n < count && !failed; ++n) {{
        tensors[n] = malloc(sizes[n] ? sizes[n] : 1);
        failed = tensors[n] == NULL || (n < given && !moved(in, tensors[n], sizes[n], 0));
        if (failed)
            fprintf(stderr, "tensor %zu of %zu bytes could not be read\\n", n, sizes[n]);
    }}
    failed = failed || {inference}({arguments});
    for (size_t n = given; n < count && !failed; ++n)
        failed = !moved(out, tensors[n], sizes[n], 1);
    for (size_t n = 0; n < count; ++n)
        free(tensors[n]);
    if (in != NULL)
        fclose(in);
    return failed | (out != NULL && fclose(out) != 0);
}}
"""


def network_c(
    network: Network, scheduled: Mapping[str, PrimFunc] | None = None, sizes: Mapping[str, int] | None = None
) -> str:
    """Return the C file. `scheduled` are programs of kernels after their schedules, by name; `sizes` are those that the model leaves open.

    `inference(inputs…, weights…, results…)` returns 0, or 1 if there is not enough memory. Raises TilewrightError "missing-size", "no-c"
    for what C cannot express, such as float16.
    """
    programs = [(scheduled or {}).get(f.name, f) for f in network.kernels]
    text, functions = c_functions(programs)
    writer = _Writer(network, dict(zip((f.name for f in network.kernels), functions, strict=True)), sizes or {})
    text = text.replace("#include <stdlib.h>\n", "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n", 1)
    return "\n".join([text, writer.inference(), writer.main()])


class _Writer:
    def __init__(self, network: Network, functions: Mapping[str, CFunction], sizes: Mapping[str, int]) -> None:
        self.graph = network.graph
        self.functions = functions
        self.sizes = sizes
        self.name = INFERENCE
        while any(f.name == self.name for f in functions.values()):
            self.name += "_"
        self.given = tuple(dict.fromkeys(self.graph.parameters))
        made = dict.fromkeys(t for call in self.graph.calls for t in call.results)
        self.inner = tuple(made)
        self.called = {t: f"t{n}" for n, t in enumerate((*self.given, *self.inner, *self.graph.scalars))}

    def inference(self) -> str:
        """The function that calls the kernels. A result of the model is copied to the caller's memory at the end."""
        parameters = [f"const {c_type(t.dtype)} *{self.called[t]} /* {t.name} */" for t in self.given]
        parameters += [f"{c_type(t.dtype)} *result{n}" for n, t in enumerate(self.graph.results)]
        lines = [f"int {self.name}({', '.join(parameters)}) {{"]
        lines += [
            f"    static const {c_type(t.dtype)} {self.called[t]}[1] = {{{literal(value, t.dtype)}}};"
            for t, value in self.graph.scalars.items()
        ]
        lines += [
            f"    {c_type(t.dtype)} *{self.called[t]} = malloc({max(1, self.bytes(t))}); /* {t.name} */"
            for t in self.inner
        ]
        missing = " || ".join(f"{self.called[t]} == NULL" for t in self.inner) or "0"
        lines.append(f"    int failed = {missing};")
        for call in self.graph.calls:
            lines += self._call(call)
        copies = [
            f"        memcpy(result{n}, {self.called[t]}, {self.bytes(t)});" for n, t in enumerate(self.graph.results)
        ]
        lines += ["    if (!failed) {", *copies, "    }"]
        lines += [f"    free({self.called[t]});" for t in self.inner]
        return "\n".join([*lines, "    return failed;", "}", ""])

    def main(self) -> str:
        tensors = (*self.given, *self.graph.results)
        return _MAIN.format(
            sizes=", ".join(str(self.bytes(t)) for t in tensors),
            given=len(self.given),
            bytes=sum(map(self.bytes, self.given)),
            inference=self.name,
            arguments=", ".join(f"tensors[{n}]" for n in range(len(tensors))),
        )

    def _call(self, call: KernelCall) -> list[str]:
        """A call. An argument in which a result is stored is copied to that result first, so that the inputs stay as they are."""
        function = self.functions[call.kernel]
        held = [self.called[t] for t in call.arguments]
        lines: list[str] = []
        fresh: list[str] = []
        for n, result in enumerate(call.results):
            at = call.in_place[n] if call.in_place else -1
            if at >= 0:
                lines.append(f"        memcpy({self.called[result]}, {held[at]}, {self.bytes(result)});")
                held[at] = self.called[result]
            else:
                fresh.append(self.called[result])
        tensors = iter([*held, *fresh])
        passed = [
            next(tensors) if isinstance(a, Buffer) else str(self._value(call.sizes[a.name])) for a in function.arguments
        ]
        done = f"{function.name}({', '.join(passed)})"
        lines.append(f"        failed = {done};" if function.can_fail else f"        {done};")
        return ["    if (!failed) {", *lines, "    }"]

    def bytes(self, tensor: GraphTensor) -> int:
        """The size of a tensor."""
        elements = prod(self._value(extent) for extent in tensor.shape)
        return elements * dt.size_bytes(tensor.dtype)

    def _value(self, extent: Expr) -> int:
        variables = free_vars(extent)
        missing = sorted({v.name for v in variables} - self.sizes.keys())
        if missing:
            message, fix = f"the model leaves the size {missing[0]} open", (f"--size {missing[0]}=128",)
            raise TilewrightError(
                Refusal("missing-size", message, expected="a value for " + ", ".join(missing), fix=fix)
            )
        value = build.int_value(
            simplify(substitute(extent, {v: build.const(self.sizes[v.name], v.dtype) for v in variables}))
        )
        assert value is not None, "an extent of numbers alone is a number"
        return value


__all__ = ["network_c"]
