"""Garbage is looked for while nobody waits.

Python goes through all that lives when a quarter of it is new: with a notebook of two hundred rows that is a tenth of a second, in the
middle of somebody's drop. What is young is gone through as ever, in a millisecond; the old when the server has stood still for a moment.
"""

from __future__ import annotations

import asyncio
import gc
import time

LOOK_S = 0.5
"""How often it is looked whether the server stands still."""

IDLE_SHARE = 0.1
"""Of a processor's time. Who uses less stands still."""

OLD = 3
"""So many times young garbage was looked for since all was gone through: before, there is nothing to find."""

TOO_OLD = 1000
"""So many times, and all is gone through at once, also where somebody always works."""


async def collect_while_idle(look_s: float = LOOK_S) -> None:
    """Go through all objects now and then, for as long as this is awaited; Python does so by itself again afterwards.

    What lives when it begins is left out: libraries stay.
    """
    young, middle, old = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(young, middle, TOO_OLD)
    try:
        while True:
            spent = time.process_time()
            await asyncio.sleep(look_s)
            idle = time.process_time() - spent < IDLE_SHARE * look_s
            if idle and gc.get_count()[2] >= OLD:
                gc.collect()
    finally:
        gc.unfreeze()
        gc.set_threshold(young, middle, old)
