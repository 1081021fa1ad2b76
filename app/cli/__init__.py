"""The command line `tilewright …`: the notebook without a browser, and the server for the browser.

Exit codes: 0 for success; 1 if a primitive or the machine refuses the schedule, the schedule changes the program's result, `lint` reports
an error or a warning, `check` finds a budget exceeded, or `diff` finds a difference; 2 for invalid input; 130, 143 or 129 when stopped by
SIGINT (Ctrl-C), SIGTERM or SIGHUP. Errors are printed to standard error; with `--json` also to standard output, as
`{"error": {code, message, found, expected, fix, place}}`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from ...engine.ir import Refusal, TilewrightError, internal_error
from ..signals import exit_code, interruptible
from .exit_codes import BAD_INPUT, EXIT_OK, REFUSED, RefusedError
from .logs import logging_to_stderr, timed
from .table import command_line
from .usage import read


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        with interruptible():
            return _run(words)
    except OSError as error:
        return _output_failed(error)
    except BaseException as error:
        code = exit_code(error)
        if code is None:
            raise
        return code


def _run(words: Sequence[str]) -> int:
    """Run a command, print errors of its input, and return the exit code. Raises OSError if standard output cannot be written."""
    parser, arguments = command_line(words), argparse.Namespace(json="--json" in words)
    if not words:
        parser.print_help(sys.stderr)
        return BAD_INPUT
    try:
        arguments = read(parser, words)
        with logging_to_stderr(arguments), timed("total"), arguments.within(arguments):
            return arguments.run(arguments)
    except RefusedError as refused:
        return _failed(arguments, refused.cause, REFUSED)
    except TilewrightError as error:
        return _failed(arguments, error, BAD_INPUT)
    except OSError as error:
        if not getattr(arguments, "json", False) or isinstance(error, BrokenPipeError):
            raise
        return _failed(arguments, TilewrightError(Refusal("os-error", str(error))), BAD_INPUT)
    except RecursionError:
        return _failed(arguments, TilewrightError(Refusal("too-deep", "the input is nested too deeply")), BAD_INPUT)
    except MemoryError:
        return _failed(arguments, TilewrightError(Refusal("too-large", "out of memory")), BAD_INPUT)
    except Exception as fault:
        if exit_code(fault) is not None:  # raised by a signal during the command
            raise
        return _failed(arguments, TilewrightError(internal_error(fault, "the command")), BAD_INPUT)
    except SystemExit:  # --help and --version
        sys.stdout.flush()
        raise


def _output_failed(error: OSError) -> int:
    """The exit code if standard output is closed or its disk is full."""
    with suppress(OSError):  # no file descriptor: a test replaced standard output
        # Python flushes standard output at exit, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return EXIT_OK  # `tilewright … | head`: the reader has enough
    print(f"tilewright: {error}", file=sys.stderr)
    return BAD_INPUT


def _failed(arguments: argparse.Namespace, error: TilewrightError, code: int) -> int:
    """Print an error on standard error; with --json also print it as `{"error": …}` on standard output."""
    print(f"tilewright: {error}", file=sys.stderr)
    if getattr(arguments, "json", False):
        print(json.dumps({"error": error.refusal.to_json()}, indent=2), flush=True)
    return code


__all__ = ["command_line", "main"]
