"""`tilewright import`: code as people have it, as a notebook."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from ..document import save_document
from .opened import FINE, notebook_file, takes_sizes
from .output import give


def add_import(commands: Any) -> None:
    bring = commands.add_parser(
        "import", aliases=["convert"], help="write TE text or posted code as a notebook, its schedule as block calls"
    )
    bring.add_argument("file", metavar="FILE", help="a file of TE text, or of a program and schedule code for it")
    takes_sizes(bring)
    bring.add_argument("-o", "--output", metavar="OUT", help="the notebook to write (default: standard output)")
    bring.set_defaults(run=_import)


def _import(arguments: Namespace) -> int:
    document, _ = notebook_file(arguments.file, dict(arguments.size))
    if arguments.output is None:
        give(document.text)
    else:
        save_document(document, arguments.output)
    return FINE
