"""Tilewright: a visual schedule notebook for tensor programs.

program = tilewright.parse(text)                # TVMScript; never executed
sch = tilewright.Schedule(program)              # TVM's method and keyword names
sch.split(sch.get_loops("C")[2], factors=[None, 64], names=["ko", "ki"])
report = tilewright.simulate(sch, "dual-bank-npu")
print(tilewright.report_text(report, tilewright.verify(sch)))
print(tilewright.to_tvm_python(sch))            # Python for Apache TVM

The public names come from `tilewright.face`, which is imported on first use (PEP 562). This file imports only `sys`, because the command
`tilewright` prepares its process before it imports any other module (see `entry.py`).
"""

import sys

TYPE_CHECKING = False  # replaces typing.TYPE_CHECKING; type checkers recognize the bare name

if TYPE_CHECKING:
    from . import app as app
    from . import engine as engine
    from . import plot as plot
    from . import static as static
    from .face import *  # noqa: F403
    from .face import __all__ as __all__

    __version__: str
else:
    SUBPACKAGES = ("app", "engine", "plot", "static")

    def __getattr__(name: str) -> object:
        """Return and cache a public name, `__version__` or a subpackage."""
        if name == "__version__":
            from importlib.metadata import version

            value: object = version("tilewright")
        elif name in SUBPACKAGES:
            from importlib import import_module

            value = import_module(f".{name}", __name__)
        elif name.startswith("_") and name != "__all__":
            raise AttributeError(f"module 'tilewright' has no attribute {name!r}")
        else:
            value = _public(name)
        globals()[name] = value
        return value

    def _public(name: str) -> object:
        from .face import __all__ as names

        if name == "__all__":
            return names
        if name in names:
            return getattr(sys.modules[f"{__name__}.face"], name)
        raise AttributeError(f"module 'tilewright' has no attribute {name!r}")

    def __dir__() -> list[str]:
        hidden = {"TYPE_CHECKING", "SUBPACKAGES", "sys"}
        return sorted({*globals(), *_public("__all__"), *SUBPACKAGES, "__version__"} - hidden)


if "IPython" in sys.modules:
    from .ipython import register

    register()
