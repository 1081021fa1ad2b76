"""What a statement of TVMScript becomes in its sequence: a statement, or what goes around the rest of the sequence."""

from __future__ import annotations

from collections.abc import Callable

from ...ir import Stmt, build

Wrapper = Callable[[Stmt], Stmt]  # a statement whose body is the rest of the sequence
Item = Stmt | Wrapper


def compose(items: list[Item]) -> Wrapper | None:
    """Combine several statements and bindings into one binding."""
    if not items:
        return None

    def wrap(body: Stmt) -> Stmt:
        for item in reversed(items):
            body = build.seq([item, body]) if isinstance(item, Stmt) else item(body)
        return body

    return wrap


__all__ = ["Item", "Wrapper", "compose"]
