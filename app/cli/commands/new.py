"""`tilewright new`: creates a notebook from a template, an example or existing code."""

from __future__ import annotations

from argparse import Namespace
from importlib import resources

from .... import static
from ....engine.ir import Refusal
from ...document import DocumentError, read_document
from ...document.title import title_of
from ..arguments import takes_file, takes_limit, takes_machine, takes_sizes
from ..conversion import as_cells, on_machine, write_notebook
from ..exit_codes import EXIT_OK
from ..output import print_json, print_line
from ..usage import Parser, takes_json

DEFAULT_TEMPLATE = "matmul"

EXAMPLES = ("kernel.py", "kernel.py --template conv2d --machine gemmini", "kernel.py --source module.py", "--list")


def add_arguments(parser: Parser) -> None:
    parser.add_argument("output", metavar="OUT", nargs="?", help="the notebook to create")
    parser.add_argument(
        "--template",
        metavar="NAME",
        help=f"a template or an example (default: {DEFAULT_TEMPLATE}); `--list` prints their names",
    )
    takes_file(parser, "--source", "convert this TVMScript, TE text or post instead")
    parser.add_argument("--list", action="store_true", help="list the templates and examples")
    takes_machine(parser)
    takes_sizes(parser)
    takes_json(parser, "the notebook, or the list,")
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")
    takes_limit(parser)


def run(arguments: Namespace) -> int:
    known = templates()
    if arguments.list:
        titles = {name: title_of(read_document(text)) for name, text in known.items()}
        if arguments.json:
            print_json([{"name": name, "title": title} for name, title in titles.items()])
        else:
            width = max(map(len, titles))
            print_line("\n".join(f"{name:<{width}}  {title}" for name, title in titles.items()))
        return EXIT_OK
    if arguments.source is not None:
        document = as_cells(arguments.source, dict(arguments.size)).document
    else:
        name = arguments.template or DEFAULT_TEMPLATE
        if name not in known:
            raise DocumentError(
                Refusal("no-such-template", f"there is no template {name!r}", expected=", ".join(known))
            )
        document = read_document(known[name])
    return write_notebook(arguments, on_machine(document, arguments.machine), {})


def templates() -> dict[str, str]:
    """Name -> text of the templates: small programs, and the examples."""
    return {**_texts_in("templates"), **_texts_in("examples")}


def _texts_in(folder: str) -> dict[str, str]:
    files = (file for file in (resources.files(static) / folder).iterdir() if file.name.endswith(".py"))
    return {
        file.name.removesuffix(".py"): file.read_text("utf-8") for file in sorted(files, key=lambda file: file.name)
    }
