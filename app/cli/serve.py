"""`tilewright serve`: the notebook in the browser."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path
from typing import Any

from ...engine.ir import Refusal
from ..document import DocumentError
from .opened import STANDARD_INPUT, no_such_file
from .output import takes_json, tell_json
from .usage import add_command

ADDRESS = "127.0.0.1"


def add_serve(commands: Any) -> None:
    serve = add_command(
        commands, "serve", "open the notebook in the browser",
        "", "matmul.py", "kernels --port 8000", "--host 0.0.0.0 --token $SECRET",
    )  # fmt: skip
    serve.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="a notebook or TVMScript file, or a folder of them"
    )
    serve.add_argument(
        "--port", type=_port, default=5006, help="the port; a free one when taken (default: %(default)s)"
    )
    serve.add_argument(
        "--host",
        metavar="ADDRESS",
        default=ADDRESS,
        help="the address to listen at; others than this machine's own need a token (default: %(default)s)",
    )
    serve.add_argument(
        "--token",
        default=os.environ.get("TILEWRIGHT_TOKEN", ""),
        help="what visitors from other machines, and programs, must show; safer in the variable TILEWRIGHT_TOKEN",
    )
    serve.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a further name that the server is reached by, as behind a proxy: tiles.example.org or localhost:8888",
    )
    takes_json(serve, "the address, once it answers,")
    serve.set_defaults(run=_serve)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port: 0 to 65535")
    return int(text)


def _serve(arguments: argparse.Namespace) -> int:
    # Panel takes a second to import, and the other commands have no use for it.
    from ..guard import make_door
    from ..shell import serve

    if str(arguments.path) == STANDARD_INPUT:
        fix = "tilewright import - -o FILE"
        raise DocumentError(Refusal("not-a-file", "what is edited on the page goes into a file", fix=(fix,)))
    if arguments.path is not None and not arguments.path.exists():
        raise no_such_file(arguments.path)
    door = make_door(arguments.host, arguments.token, tuple(arguments.allow_host))
    port = free_port(arguments.port, arguments.host)
    if arguments.json:
        return serve(
            arguments.path, port, door=door, tell=lambda address: tell_json({"address": address, "pid": os.getpid()})
        )
    return serve(arguments.path, port, door=door)


def free_port(port: int, address: str = ADDRESS) -> int:
    """`port` when nobody listens there, else one that the system gives; said on standard error when it is another."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            return probe.getsockname()[1]
        except OSError:
            pass
    with socket.socket(family) as probe:
        probe.bind((address, 0))
        found = probe.getsockname()[1]
    print(f"tilewright: port {port} is taken, using {found}", file=sys.stderr)
    return found
