"""Garbage is looked for while nobody waits, and what has survived that is left alone until the server stands still for long.

Python goes through all that lives when a quarter of it is new: with a notebook of two hundred rows that is a tenth of a second, in the
middle of somebody's drop. What is young is gone through as ever, in a millisecond; what is new since the last look when the server has
stood still for a moment; everything, which takes the longest, when somebody has most likely gone away.
"""

from __future__ import annotations

import asyncio
import gc
import time

LOOK_S = 0.5
"""How often it is looked whether the server stands still."""

LONG = 60
"""So many looks in a row at a server that stands still, and it stands still for long."""

IDLE_SHARE = 0.1
"""Of a processor's time. Who uses less stands still."""

OLD = 3
"""So many times young garbage was looked for since the last time: before, there is nothing to find."""

TOO_OLD = 1000
"""So many times, and what is new is gone through at once, also where somebody always works."""


async def collect_while_idle(look_s: float = LOOK_S) -> None:
    """Go through the objects now and then, for as long as this is awaited; Python does so by itself again afterwards."""
    young, middle, old = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(young, middle, TOO_OLD)
    still, kept = 0, False
    try:
        while True:
            spent = time.process_time()
            await asyncio.sleep(look_s)
            still = still + 1 if time.process_time() - spent < IDLE_SHARE * look_s else 0
            if still and gc.get_count()[2] >= OLD:
                _collect_what_is_new()
                kept = True
            elif kept and still >= LONG:
                gc.unfreeze()
                _collect_what_is_new()
                kept = False
    finally:
        gc.unfreeze()
        gc.set_threshold(young, middle, old)


def _collect_what_is_new() -> None:
    """Free what nobody holds; what is left is not looked at again until it is unfrozen."""
    gc.collect()
    gc.freeze()
