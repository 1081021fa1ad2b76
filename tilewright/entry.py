"""The entry point of the command `tilewright` and of `python -m tilewright`: it prepares the process, then imports the command line."""

import os
import sys

from .search_path import exclude_working_directory


def main() -> int:
    """Run the command line and return the exit code."""
    exclude_working_directory()
    # Other modules can be imported from here on; the first ones are those of the standard library that the signal handlers need.
    from .app import signals

    signals.install()
    open_closed_streams()
    from .app.cli import main as run_command
    from .engine.cancellation import hide_ignored_cancellations

    hide_ignored_cancellations()
    return run_command()


def open_closed_streams() -> None:
    """Connect standard output and standard error to the null device if the parent process closed them (`>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (open until the process ends)
