"""The evaluator of Python text: what it passes over, and values that only Python's own semantics give."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tilewright.engine.ir import IntImm, PrimFunc
from tilewright.engine.script import ParseError, parse

PROGRAM = """
@T.prim_func
def double(a: T.Buffer((M,), "float32"), b: T.Buffer((M,), "float32")):
    for i in range(M):
        with T.block("b"):
            vi = T.axis.spatial(M, i)
            b[vi] = a[vi] * T.float32(2)
"""

KNOWN = {
    "keys of a dict that grows": ("d = {1: 2}\nk = d.keys()\nd[3] = 4\nM = len(k) + sum(d.values())", 8),
    "an iterator that is used up": ("z = zip([1, 2], [3, 4])\na = list(z)\nM = len(list(z)) + 4", 4),
    "a local name": ("M = 4\ndef f():\n    M = 8\nf()", 4),
    "a name of a class in its methods": (
        "M = 4\nclass A:\n    M = 8\n    def f(self):\n        return M\nM = A().f()",
        4,
    ),
    "an inherited method": (
        "class A:\n    def f(self): return 4\nclass B(A):\n    def f(self): return super().f() * 2\nM = B().f()",
        8,
    ),
    "a loop with else": ("for M in range(9):\n    if M == 4: break\nelse:\n    M = 1", 4),
    "a default that is shared": ("def f(x, seen=[]):\n    seen.append(x)\n    return len(seen)\nf(0)\nM = f(0)", 2),
    "a range of NumPy": ("import numpy as np\nM = int((2 ** np.arange(1, 4))[-1]) + len(np.arange(4)) - 4", 8),
    "a product of NumPy": ("import numpy as np\nM = np.prod([2, 4]) + np.array([1, 2, 3]).sum() - 6", 8),
    "items of an array": (
        "import numpy as np\nM = 0\nfor x, y in np.array([[1, 2], [3, 2]]):\n    M += x * y\nM = int(M)",
        8,
    ),
    "an array in place": ("import numpy as np\na = np.array([1, 2])\na = a + 3\nM = int(a[0]) * 1", 4),
    "a logarithm of NumPy": ("import numpy as np\nM = int(np.ceil(np.log2(200)))", 8),
    "a list that no function of other code reaches": (
        "import random\ndef size():\n    return 4\nrandom.Random.size = size\nxs = [4]\nrandom.seed(1)\nM = xs[0]",
        4,
    ),
    "members of enumerations": (
        "from enum import Enum, IntEnum\nclass E(IntEnum):\n    A = 1\n    B = 2\nclass F(Enum):\n    A = 1\n    B = 2\n"
        "def f(kind=F.B):\n    return 4 if kind == F.B and kind is not F.A else 8\nM = f() + E.B + (E(2) >= E.A) + F.B.value + (F(1) == F.A)",
        10,
    ),
    "exact types": (
        "x, y = 3, (3,)\nM = 4 if type(x) == int and type(y) is tuple and type(y) != list and type(True) != int else 8",
        4,
    ),
    "a dataclass": (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    a: int\n    b: int = 3\nM = C(1).b + C(a=1, b=5).b",
        8,
    ),
}
UNKNOWN = {
    "a member of an enum with a method for values": "import enum\nclass E(enum.IntEnum):\n    A = 4\n    @classmethod\n    def _missing_(cls, value):\n        return cls.A\nM = E(8)",
    "an enum of automatic numbers": "import enum\nclass E(enum.IntEnum):\n    A = enum.auto()\nM = E.A",
    "a special dataclass": "from dataclasses import dataclass, field\n@dataclass\nclass C:\n    a: int = field(init=False, default=1)\n    b: int = 2\nM = C(4).b",
    "a constant of another file": "from config import SIZE\nM = 8\nif SIZE == 4:\n    M = 4",
    "a flag of another file": "from config import SMALL\nM = 4 if SMALL else 8",
    "a constant of another file among others": "import config\nM = 4 if config.SIZE in (1, 2) else 8",
    "a constant of another file that may be None": "from config import SIZE\nM = 4 if SIZE is None else 8",
    "constants of other files": "import one, other\nM = 4 if one.SIZE == other.SIZE else 8",
    "a set": "M = len({1, 2, 2})",
    "a list that a function of other code reaches": "import other\nxs = [8]\ndef f():\n    xs[0] = 4\nother.register(f)\nother.run()\nM = xs[0]",
    "a list that a function reaches by another": "import other\nxs = [8]\ndef g():\n    xs[0] = 4\ndef f():\n    g()\nother.register(f)\nM = xs[0]",
    "a list of an object that other code has": "import other\nclass A:\n    def __init__(self):\n        self.xs = [8]\n    def f(self):\n        self.xs[0] = 4\na = A()\nother.register(a.f)\nM = a.xs[0]",
    "a list that a function of other code gets later": "import other\ndef f():\n    xs[0] = 4\nother.register(f)\nxs = [8]\nother.run()\nM = xs[0]",
    "an array that is changed in place": "import numpy as np\na = np.array([1, 4])\nb = a\na += 1\nM = int(b[1])",
    "an array that other code gets": "import numpy as np, other\na = np.array([1, 4])\nother.sort(a)\nM = int(a[1])",
    "a row that other code gets": "import numpy as np, other\na = np.array([[1, 4], [5, 4]])\nother.sort(a[1])\nM = int(a[0][1])",
    "an array that is too large": "import numpy as np\nM = len(np.arange(10 ** 9))",
    "random numbers": "import numpy as np\nM = int(np.random.randint(4, 5))",
    "an unknown item": "import other\nM = [4, 8][other.number]",
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_value_is_that_of_python(name: str) -> None:
    above, expected = KNOWN[name]
    names: dict[str, object] = {"__name__": "__main__"}
    exec(above, names)  # the text is written above
    assert names["M"] == expected
    func = parse(f"from tvm.script import tir as T\n{above}\n{PROGRAM}").program
    assert isinstance(func, PrimFunc) and isinstance(func.buffers[0].shape[0], IntImm)
    assert func.buffers[0].shape[0].value == expected


@pytest.mark.parametrize("name", UNKNOWN)
def test_value_that_is_not_certain_is_refused(name: str) -> None:
    with pytest.raises(ParseError, match="the value of M is not known for certain: line"):
        parse(f"from tvm.script import tir as T\n{UNKNOWN[name]}\n{PROGRAM}")


def test_other_python_is_passed_over_and_listed() -> None:
    text = (
        "import numpy as np\nfrom tvm.script import tir as T\nM = 4\nlogger = logging.getLogger()\n"
        f"async def run(): pass\nclass Runner(Base):\n    def go(self): yield 3\n{PROGRAM}\n"
        "x = np.zeros(4)\nprint(x)\nfor row in x:\n    print(row)\n"
    )
    notes = parse(text).notes
    assert [note.place.line for note in notes] == [16, 17, 18, 4, 5]
    assert "the name logging is not defined here" in notes[3].text


def test_long_loop_over_data_is_passed_over_and_its_values_are_not_certain() -> None:
    loop = "for i in range(4000):\n    for j in range(4000):\n        total = i * j\n" * 8
    notes = parse(f"from tvm.script import tir as T\nM = 4\n{loop}{PROGRAM}").notes
    assert any("this loop needs too many steps of reading" in note.text for note in notes)
    with pytest.raises(ParseError, match=r"the value of M is not known for certain: .*too many steps"):
        parse(f"from tvm.script import tir as T\nM = 4\nwhile True:\n    M = M + 0\n{PROGRAM}")


def test_reading_ends_at_its_budget() -> None:
    text = "def f(n):\n    return f(n - 1) + f(n - 1) if n else 1\nM = f(20)\n"
    with pytest.raises(ParseError) as caught:
        parse(f"from tvm.script import tir as T\n{text}{PROGRAM}")
    assert caught.value.code == "too-large"
