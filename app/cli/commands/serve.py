"""`tilewright serve`: serves notebooks to the browser."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from pathlib import Path

from ....engine.ir import Refusal
from ...document import DocumentError
from ...signals import importing
from ..databases import database_choice, takes_database
from ..opened import STANDARD_INPUT, no_such_file
from ..output import print_json
from ..usage import Parser, takes_json

ADDRESS = "127.0.0.1"


EXAMPLES = ("", "matmul.py", "kernels --port 8000", "--host 0.0.0.0 --token $SECRET")


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="PATH", help="a notebook or TVMScript file, or a folder of such files"
    )
    parser.add_argument(
        "--port", type=_port, default=5006, help="the port; a free one if it is in use (default: %(default)s)"
    )
    parser.add_argument(
        "--host",
        metavar="ADDRESS",
        default=ADDRESS,
        help="the address to listen on; a non-local address needs a token (default: %(default)s)",
    )
    parser.add_argument(
        "--token",
        default=os.environ.get("TILEWRIGHT_TOKEN", ""),
        help="access token (default: a random one); the environment variable TILEWRIGHT_TOKEN is safer",
    )
    parser.add_argument(
        "--no-token",
        action="store_true",
        help="allow all users of this computer without a token; only for local addresses",
    )
    parser.add_argument("--open", action="store_true", help="open the page in the browser")
    parser.add_argument(
        "--prefix",
        default="",
        metavar="/PATH",
        help="the path prefix of a reverse proxy, such as /tiles",
    )
    parser.add_argument("--certfile", type=Path, metavar="FILE", help="certificate for HTTPS (PEM)")
    parser.add_argument("--keyfile", type=Path, metavar="FILE", help="private key of the certificate (PEM)")
    parser.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="warning",
        help="log level (default: %(default)s)",
    )
    parser.add_argument("--log-file", type=Path, metavar="FILE", help="log file (default: standard error)")
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="an additional host name of the server, such as that of a proxy: tiles.example.org or localhost:8888; repeatable",
    )
    takes_database(parser)
    takes_json(parser, "the address and the process id")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    # Imported here: Panel needs a second to import, and the other commands do not use it.
    with importing():
        from ...server.access import make_policy
        from ...server.log import configure_logging
        from ...server.run import Serving, serve

    if str(arguments.path) == STANDARD_INPUT:
        fix = "tilewright import - -o FILE"
        raise DocumentError(Refusal("not-a-file", "`serve` needs a file, since edits are saved to it", fix=(fix,)))
    if arguments.path is not None and not arguments.path.exists():
        raise no_such_file(arguments.path)
    if (arguments.certfile is None) != (arguments.keyfile is None):
        raise DocumentError(
            Refusal(
                "no-certificate", "HTTPS needs a certificate and its private key", expected="--certfile and --keyfile"
            )
        )
    configure_logging(arguments.log_level, arguments.log_file)
    policy = make_policy(
        arguments.host,
        arguments.token,
        tuple(arguments.allow_host),
        requires_token=not arguments.no_token,
        prefix=arguments.prefix.rstrip("/"),
        is_tls=arguments.certfile is not None,
    )
    port = free_port(arguments.port, arguments.host)
    serving = Serving(
        arguments.path, port, policy, arguments.certfile, arguments.keyfile, arguments.open, database_choice(arguments)
    )
    return serve(serving, announce_json if arguments.json else announce)


def announce(address: str) -> None:
    """Print the address of the first visit."""
    print(f"Tilewright is at {address}", flush=True)


def announce_json(address: str) -> None:
    """Print the address and the process id as JSON."""
    print_json({"address": address, "pid": os.getpid()})


def free_port(port: int, address: str = ADDRESS) -> int:
    """`port` if it is free, else a free port from the system, which is reported on standard error."""
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
    print(f"tilewright: port {port} is in use; using {found}", file=sys.stderr)
    return found
