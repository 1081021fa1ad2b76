"""The entry point of the command `tilewright` and of `python -m tilewright`: it prepares the process, then imports the command line."""

# pyright: reportMissingImports=false
# (`app` and `engine` are mapped into this package when it is installed; a checker of the source tree does not find them here.)

import os
import sys

from .search_path import exclude_working_directory


def main() -> int:
    """Run the command line; returns the exit code."""
    exclude_working_directory()
    # From here on modules are imported, first those of the standard library that signals need.
    from .app import signals

    signals.install()
    open_closed_streams()
    from .app.cli import main as run_command

    return run_command()


def open_closed_streams() -> None:
    """Connect standard output and standard error to the null device where the parent process has closed them (`>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open until the process ends)
