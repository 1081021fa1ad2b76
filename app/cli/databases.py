"""The options of searches for the database of found schedules."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..storage.databases import DatabaseChoice
from .output import report_problem


def takes_database(parser: argparse.ArgumentParser) -> None:
    """Add the options for the database of found schedules."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--database",
        metavar="FILE",
        default="",
        help="database of found schedules to begin with and to add to, such as a file that others use too (default: that of the "
        "notebook's folder, in your state folder)",
    )
    which.add_argument(
        "--no-database", action="store_true", help="neither begin with schedules found before nor record the best one"
    )


def database_choice(arguments: argparse.Namespace) -> DatabaseChoice:
    """The database that the command line names."""
    return DatabaseChoice(arguments.database, arguments.no_database)


def database_path(arguments: argparse.Namespace, notebook: str | None) -> Path | None:
    """The database for the notebook or model at a path; None, with a message, if the state folder cannot be used."""
    try:
        return database_choice(arguments).path_for(notebook)
    except OSError as error:
        report_problem(f"no database of found schedules: {error}")
        return None
