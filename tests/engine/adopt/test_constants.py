"""Python constants above TVMScript: each has the value that Python gives it where the program is defined, or the program is refused."""

from __future__ import annotations

import pytest

from tilewright.engine.adopt import programs_in, read_pasted, read_program
from tilewright.engine.ir import IntImm, PrimFunc
from tilewright.engine.script import ParseError, parse

PROGRAM = """
@T.prim_func
def double(a: T.Buffer((M,), "float32"), b: T.Buffer((M,), "float32")):
    for i in range(M):
        with T.block("b"):
            vi = T.axis.spatial(M, i)
            b[vi] = a[vi] * T.float32(2)

sch = tvm.tir.Schedule(double)
"""
IMPORTS = "import tvm\nfrom tvm.script import tir as T\n"
PROSE = "# This text has a kernel and what the kernel needs.\n# The sizes are those of the model.\n\n"
KNOWN = {
    "a branch": ("M = 1024\nif 3 > 2: M = 256", 256),
    "a branch that is not taken": ("M = 1024\nif 3 > 4: M = 256\nelse: M = 128", 128),
    "an update": ("M = 1024\nM //= 4", 256),
    "a loop": ("M = 8\nfor _ in range(2): M = M * 2", 32),
    "the target of a loop": ("for M in range(1, 5): pass", 4),
    "a context": ('M = 8\nwith tvm.target.Target("llvm"): M = 64', 64),
    "two targets": ("M = N = 4", 4),
    "several values": ("M, *rest = 4, 5, 6", 4),
    "a stated type": ("M: int = 4", 4),
    "a choice": ("M = 4 if True else 5", 4),
    "rounding down": ("M = -(-7 // 2)", 4),
    "the remainder of a negative number": ("M = -7 % 4", 1),
    "bits": ("M = (5 & 4) | (1 << 3) ^ 1", 13),
    "an inverted number": ("M = ~-5", 4),
    "a chain of comparisons": ("M = 4 if 1 < 2 < 3 else 5", 4),
    "a function": ("def up(n, by=8): return (n + by - 1) // by * by\nM = up(20)", 24),
    "a default of the time of definition": ("M = 4\ndef f(n=M): return n\nM = 9\nM = f()", 4),
    "a dict": ('sizes = {"m": 4, 1: 5}\nM = sizes["m"] + sizes[1]', 9),
    "a class of constants": ("class Sizes:\n    M = 4\nM = Sizes.M", 4),
    "two empty lists": ("a = []\nb = []\na.append(1)\nM = len(b) + 4", 4),
    "the main guard, the other way round": ('M = 8\nif "__main__" == __name__: M = 4', 4),
    "the guard of an import": ('M = 4\nif __name__ != "__main__": M = 8', 4),
    "the main guard": ('M = 8\nif __name__ == "__main__": M = 4', 4),
    "a name that a lambda binds": ("M = 8\nf = lambda M: 3", 8),
    "a program's names that others may change": (
        "import config\nM = 8\nfor N in config.sizes: K = N",
        8,
    ),
    "try": ("M = 8\ntry: M = 4\nexcept ImportError: M = 3", 4),
    "while": ("M = 8\nwhile M < 100: M *= 2", 128),
    "global": ("M = 8\ndef shrink():\n    global M\n    M = 4\nshrink()", 4),
    "a walrus": ("M = 8\nprint(M := 4)", 4),
    "a walrus in a list": ("M = 8\nassert [M := n for n in range(3)]", 2),
    "except as": ("M = 8\ntry: pass\nexcept ValueError as M: pass", 8),
    "a list under another name": ("a = [8]\nb = a\nb.append(4)\nM = a[-1]", 4),
    "a list that a function changes": ("def grow(a): a.append(4)\na = [8]\ngrow(a)\nM = a[-1]", 4),
    "a list in another": ("a = [8]\nb = (a,)\nb[0].append(4)\nM = a[-1]", 4),
    "an item": ('a = {"m": 8}\na["m"] = 4\nM = a["m"]', 4),
    "an attribute": ("class Sizes: M = 8\nSizes.M = 4\nM = Sizes.M", 4),
    "a list that is changed under another name": ("a = [8]\nb = a\na.append(4)\nM = b[-1]", 4),
    "an update in place of another name": ("a = b = [8]\nb += [4]\nM = a[-1]", 4),
    "a list in a tuple": ("a = [8]\nb = (a, 3)\na.append(4)\nM = b[0][-1]", 4),
    "a list that a function without arguments changes": (
        "a = [8]\ndef grow(): a.append(4)\nf = grow\nf()\nM = a[-1]",
        4,
    ),
    "an object that is set": ("class Sizes: M = 8\nsizes = Sizes()\nsizes.M = 4\nM = sizes.M", 4),
    "an object that a method changes": (
        "class Sizes:\n    M = 8\n    def shrink(self): self.M = 4\nsizes = Sizes()\nsizes.shrink()\nM = sizes.M",
        4,
    ),
    "an object of a class that is set": ("class Sizes: M = 8\nsizes = Sizes()\nSizes.M = 4\nM = sizes.M", 4),
    "a list of an object": (
        "class Sizes:\n    def __init__(self, items): self.items = items\n"
        "a = [8]\nsizes = Sizes(a)\nsizes.items.append(4)\nM = a[-1]",
        4,
    ),
    "a closure with a state": (
        "def make():\n    n = 0\n    def up():\n        nonlocal n\n        n += 2\n        return n\n    return up\n"
        "up = make()\nup()\nM = up()",
        4,
    ),
    "a default that a function changes": ("def f(a=[]):\n    a.append(2)\n    return sum(a)\nf()\nM = f()", 4),
    "a default of the same name": ("M = 4\ndef f(M=M): return M\nM = 8\nM = f()", 4),
    "a name that is set after the function": ("N = 8\ndef f(): return N\nN = 4\nM = f()", 4),
    "a name that is set after a function of a function": (
        "N = 8\ndef f(): return N\ndef g(): return f()\nN = 4\nM = g()",
        4,
    ),
    "a name that is set after the lambda": ("N = 8\nf = lambda: N\nN = 4\nM = f()", 4),
    "a name that is set after the class": (
        "N = 8\nclass Sizes:\n    def get(self): return N\nsizes = Sizes()\nN = 4\nM = sizes.get()",
        4,
    ),
    "a name that is set after the generator": ("N = 8\nitems = (N for n in range(2))\nN = 4\nM = list(items)[0]", 4),
    "a list that a function returns": ("a = [8]\ndef get(): return a\nget().append(4)\nM = a[-1]", 4),
    "a list that a function keeps": (
        "kept = []\ndef keep(x): kept.append(x)\na = [8]\nkeep(a)\nkept[0].append(4)\nM = a[-1]",
        4,
    ),
    "a list in brackets": ("a = [8]\n(b := a).append(4)\nM = a[-1]", 4),
    "a method that changes a list of the text": (
        "a = [8]\nclass Sizes:\n    def go(self): a.append(4)\nsizes = Sizes()\nsizes.go()\nM = a[-1]",
        4,
    ),
    "a long chain of lists": (
        "def f(x): return x\nx0 = [8]\n"
        + "".join(f"x{n + 1} = f(x{n})\n" for n in range(60))
        + "x60.append(4)\nM = x0[-1]",
        4,
    ),
    "constants of modules": ("import math\nfrom math import pi\nM = int(math.pi) + int(pi) - 2", 4),
    "type checking": ("from typing import TYPE_CHECKING\nM = 4\nif TYPE_CHECKING: M = 8", 4),
    "statements on one line": ("M = 2; N = M * 2; M = N", 4),
    "statements after the main guard": ("if __name__ == '__main__': M = 3; M += 1", 4),
    "statements on the lines of others": ("a = [1,\n  2]; b = [\n  3, 4]; M = b[1]", 4),
    "a list that its loop changes": ("a = [1, 2]\nfor n in a:\n    if n < 5: a.append(n + 3)\nM = a[-1]", 7),
}
UNKNOWN = {
    "try around other code": ("import other\nM = 8\ntry:\n    other.run()\n    M = 4\nexcept ValueError: pass", 5),
    "a function that may return earlier": ("import other\ndef f():\n    if other.x: return 4\n    return 8\nM = f()", 7),
    "match": ("M = 8\nmatch 3:\n    case M: pass", 4),
    "a condition of other code": ("M = 8\nif tvm.cuda().exist: M = 4", 4),
    "a loop over other code's items": ("import config\nM = 8\nfor n in config.sizes: M = n", 5),
    "global in a function that other code gets": ("import runner\nM = 8\ndef shrink():\n    global M\n    M = 4\nrunner.run(shrink)", 8),
    "del": ("M = 8\ndel M", 4),
    "import": ("M = 8\nfrom config import M", 4),
    "import *": ("M = 8\nfrom config import *", 4),
    "exec": ("M = 8\nexec('M = 4')", 4),
    "globals": ("M = 8\nglobals()['M'] = 4", 4),
    "a context that ends at an exception": ("import contextlib\nM = 8\nwith contextlib.suppress(ValueError): M = 4", 5),
    "globals in a context that ends at an exception": (
        "import contextlib\nM = 8\nwith contextlib.suppress(ValueError):\n    contextlib.go()\n    globals()['M'] = 4",
        5,
    ),
    "a decorated function": ("def other(f): return lambda: 3\n@other\ndef f(): return 9\nM = f()", 6),
    "a list that other code gets": ("import random\na = [8, 4]\nrandom.shuffle(a)\nM = a[0]", 6),
    "a generator": ("def f():\n    return 4\n    yield\nM = f()", 6),
}  # fmt: skip


def size(program: object) -> int:
    assert isinstance(program, PrimFunc)
    extent = program.buffers[0].shape[0]
    assert isinstance(extent, IntImm)
    return extent.value


@pytest.mark.parametrize("name", KNOWN)
def test_constants_have_pythons_value(name: str) -> None:
    above, expected = KNOWN[name]
    text = IMPORTS + above + "\n" + PROGRAM
    assert size(read_pasted(text).program) == expected
    (sliced,) = programs_in(PROSE + text).programs
    assert size(read_program(sliced).program) == expected


@pytest.mark.parametrize("name", UNKNOWN)
def test_statements_that_may_change_a_constant_are_refused(name: str) -> None:
    above, line = UNKNOWN[name]
    text = IMPORTS + above + "\n" + PROGRAM
    with pytest.raises(ParseError, match=rf"the value of M is not known for certain: line {line} ") as caught:
        read_pasted(text)
    assert (caught.value.code, caught.value.refusal.found) == ("unknown-name", "M")
    (sliced,) = programs_in(PROSE + text).programs
    with pytest.raises(ParseError, match="the value of M is not known"):
        read_program(sliced)


def test_each_program_has_the_constants_defined_before_it() -> None:
    second = PROGRAM.replace("double", "again")
    first = PROGRAM.partition("sch =")[0]
    assert size(read_pasted(f"{IMPORTS}M = 4\n{first}M = 8\n{second}").program) == 8
    assert size(read_pasted(f"{IMPORTS}M = 4\n{first}M = 8\n{second}".replace("(again)", "(double)")).program) == 4


@pytest.mark.parametrize("line", ["from config import M", "import numpy as M", "from config import *"])
def test_import_after_a_constant_is_refused(line: str) -> None:
    text = f"{IMPORTS}M = 8\n{line}\n{PROGRAM.partition('sch =')[0]}"
    with pytest.raises(ParseError, match="the value of M is not known for certain: line 4 imports it"):
        parse(text)


def test_program_of_another_language_with_t_is_refused() -> None:
    text = f"import triton.language as T\nM = 8\n{PROGRAM.partition('sch =')[0]}"
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.code == "not-a-program"
