"""Exclusion of the working directory from imports: a file `numpy.py` in a folder of notebooks must not run.

This module imports only modules that Python loads at startup.
"""

import os
import sys

PACKAGE = os.path.dirname(os.path.realpath(__file__))


def exclude_working_directory() -> None:
    """Remove the working directory from the search path of this process and of the Python processes that it starts.

    `python -m` puts the directory first, and so does an entry of PYTHONPATH that is empty, "." or the directory itself. Entries from the
    standard library's on belong to the installation and stay. Nothing is removed if Tilewright is installed in the working directory
    (`pip install --target .`).
    """
    here = _working_directory()
    if here == os.path.dirname(PACKAGE) and os.path.isdir(os.path.join(PACKAGE, "app")):
        return
    library = os.path.dirname(os.__file__)
    end = sys.path.index(library) if library in sys.path else len(sys.path)
    sys.path[:end] = [entry for entry in sys.path[:end] if not _is_directory(entry, here)]
    os.environ["PYTHONSAFEPATH"] = "1"
    if "PYTHONPATH" in os.environ:
        entries = os.environ["PYTHONPATH"].split(os.pathsep)
        os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in entries if not _is_directory(entry, here))


def _working_directory() -> str:
    """Return the working directory's path without links; "" if the directory has been deleted."""
    try:
        return os.path.realpath(os.getcwd())
    except OSError:
        return ""


def _is_directory(entry: str, directory: str) -> bool:
    return entry in ("", os.curdir) or (bool(directory) and os.path.realpath(entry) == directory)
