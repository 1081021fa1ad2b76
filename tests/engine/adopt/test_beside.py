"""Names that a text imports from other files of its project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tilewright.engine.adopt import Snippet, programs_in, read_program
from tilewright.engine.ir import IntImm, PrimFunc
from tilewright.engine.script import ParseError

TE = "from tvm import te\n"
LIBRARY = """\
from tvm import te

N = 24


def add(n, dtype="float32"):
    a = te.placeholder((n,), dtype, name="a")
    return a, te.compute((n,), lambda i: a[i] + a[i], name="b")


print("measured", add(8))
"""
KERNELS = """\
from tvm.script import tir as T


@T.prim_func
def copy(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi]
"""


def opened(folder: Path, files: Mapping[str, str], text: str, at: str = "main.py", number: int = 1) -> Snippet:
    """Return a program of a text in a project with other files."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    home = folder / at
    program = programs_in(text, str(home), home).programs[number - 1]
    return read_program(program, str(home), home=home)


def extent(found: Snippet) -> int:
    assert isinstance(found.program, PrimFunc)
    size = found.program.buffers[0].shape[0]
    assert isinstance(size, IntImm)
    return size.value


IMPORTS = {
    "a function": ({"lib.py": LIBRARY}, "from lib import add, N\na, b = add(N)\n", "main.py"),
    "a module": ({"lib.py": LIBRARY}, "import lib\na, b = lib.add(lib.N)\n", "main.py"),
    "a name of its own": ({"lib.py": LIBRARY}, "import lib as known\na, b = known.add(n=known.N)\n", "main.py"),
    "all names": ({"lib.py": LIBRARY}, "from lib import *\na, b = add(N)\n", "main.py"),
    "of the package": (
        {"__init__.py": "", "pkg/__init__.py": "", "pkg/lib.py": LIBRARY, "pkg/sub/__init__.py": ""},
        "from ..lib import add, N\na, b = add(N)\n",
        "pkg/sub/main.py",
    ),
    "of the project": (
        {"pyproject.toml": "", "lib/__init__.py": "from .core import *\n", "lib/core.py": LIBRARY},
        "import lib\na, b = lib.add(lib.N)\n",
        "chapter/main.py",
    ),
    "a module of a package": (
        {"lib/__init__.py": "", "lib/core.py": LIBRARY},
        "from lib import core\na, b = core.add(core.N)\n",
        "main.py",
    ),
    "a module that the package does not read": (
        {"lib/__init__.py": "from .other import *\n", "lib/other.py": "def f():\n    pass\n", "lib/core.py": LIBRARY},
        "from lib import core\na, b = core.add(core.N)\n",
        "main.py",
    ),
    "a function with the name of its module": (
        {"lib/__init__.py": "from .add import *\n", "lib/add.py": LIBRARY},
        "from lib import add\na, b = add(24)\n",
        "main.py",
    ),
    "a module that asks for itself": (
        {
            "lib.py": f"import sys\nme = sys.modules[__name__]\n{LIBRARY}\n\ndef twice(n):\n    return me.add(n * me.two())\n"
            "\n\ndef two():\n    return 2\n"
        },
        "from lib import twice\na, b = twice(12)\n",
        "main.py",
    ),
}


@pytest.mark.parametrize("name", IMPORTS)
def test_imported_names_are_read_beside_the_text(name: str, tmp_path: Path) -> None:
    files, text, at = IMPORTS[name]
    found = opened(tmp_path, files, f"{TE}{text}s = te.create_schedule(b.op)\n", at)
    assert extent(found) == 24
    assert any("beside the text" in note.text for note in found.notes)


OLD = LIBRARY.replace("from tvm import te", "import tvm").replace("te.", "tvm.")
NOT_READ = {
    "a name of Python": ({"math.py": LIBRARY}, "from math import add, N\na, b = add(N)\n"),
    "found twice": ({".git/x": "", "src/lib.py": LIBRARY, "lib.py": LIBRARY}, "from lib import add\na, b = add(4)\n"),
    "what it computes": ({"lib.py": f"{LIBRARY}a, b = add(8)\n"}, "from lib import a, b\n"),
    "another generation": ({"lib.py": OLD}, "from lib import add\na, b = add(4)\n"),
}


@pytest.mark.parametrize("name", NOT_READ)
def test_other_names_are_not_known(name: str, tmp_path: Path) -> None:
    files, text = NOT_READ[name]
    with pytest.raises(ParseError):
        opened(tmp_path, files, f"{TE}{text}s = te.create_schedule(b.op)\n")


def test_program_of_another_file_is_scheduled(tmp_path: Path) -> None:
    text = "import tvm\nfrom kernels import copy\nsch = tvm.tir.Schedule(copy)\nsch.parallel(sch.get_loops('B')[0])\n"
    found = opened(tmp_path, {"kernels.py": KERNELS}, text)
    assert extent(found) == 16
    assert [step.method for step in found.schedule.trace.steps] == ["get_loops", "parallel"]


def test_error_in_another_file_has_its_place(tmp_path: Path) -> None:
    wrong = LIBRARY.replace("a[i] + a[i]", "a[i, i]")
    with pytest.raises(ParseError) as caught:
        opened(tmp_path, {"lib.py": wrong}, f"{TE}from lib import add\na, b = add(4)\ns = te.create_schedule(b.op)\n")
    place = caught.value.refusal.place
    assert place is not None
    assert Path(place.file).name in ("lib.py", "main.py")


def test_without_its_file_a_text_reads_no_other(tmp_path: Path) -> None:
    (tmp_path / "lib.py").write_text(LIBRARY, encoding="utf-8")
    text = f"{TE}from lib import add\na, b = add(4)\ns = te.create_schedule(b.op)\n"
    with pytest.raises(ParseError):
        read_program(programs_in(text, str(tmp_path / "main.py")).programs[0], str(tmp_path / "main.py"))
