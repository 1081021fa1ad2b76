"""The server's log: one line per event, with time, level and logger."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

from ...engine.ir import Refusal
from ..document import DocumentError

LEVELS = ("debug", "info", "warning", "error")

_FORMAT = "%(asctime)s.%(msecs)03d %(levelname)s %(name)s: %(message)s"

log = logging.getLogger("tilewright.server")


def configure_logging(level: str, file: Path | None = None) -> None:
    """Log events of at least this level, to standard error or to the end of `file`. Raises DocumentError "no-log-file"."""
    try:
        handler = logging.StreamHandler() if file is None else logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise DocumentError(Refusal("no-log-file", f"cannot write {file}: {error.strerror}")) from error
    handler.setFormatter(logging.Formatter(_FORMAT, "%Y-%m-%dT%H:%M:%S"))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in ("bokeh", "panel"):  # they install separate handlers and levels
        logging.getLogger(name).handlers.clear()
        logging.getLogger(name).propagate = True
        logging.getLogger(name).setLevel(level.upper())


def log_loop_errors(loop: asyncio.AbstractEventLoop) -> None:
    """Log errors of tasks that are not awaited. A page that closes while Bokeh writes to it is not an error."""

    def report(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, WebSocketClosedError | StreamClosedError):
            log.debug("a page was closed while a message was on its way to it")
        else:
            log.error("%s", context.get("message"), exc_info=error)

    loop.set_exception_handler(report)


__all__ = ["LEVELS", "configure_logging", "log", "log_loop_errors"]
