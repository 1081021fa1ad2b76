"""The longest times between two checkpoints in the background work of the page.

Run: `python bench/cancellation.py [--over 50] [NAME…]`. It runs the background work of all examples and of the largest programs, and prints
for each work its processor time, its checkpoints, their share of the time, and the longest gap. Gaps of more than `--over` milliseconds
follow with the functions that span them, the innermost last; "in" lists the functions that ran meanwhile. Processor time excludes other
work on the machine. Garbage collections do not count, because nothing can interrupt them; imports do.
"""

from __future__ import annotations

import argparse
import gc
import sys
import threading
import time
import timeit
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.sessions.background_work import Work, examples, large_works, page_works

from tilewright.engine.cancellation import CancellationToken, checkpoint, running_under

SAMPLE_S = 0.005
SHOWN = 5
ROOT = str(Path(__file__).parents[1])


class Recorder(CancellationToken):
    """A token that records the processor time between checkpoints. `stacks` are samples of the stack since the last one."""

    def __init__(self, over_s: float) -> None:
        self.over_s = over_s
        self.checkpoints = 0
        self.longest = 0.0
        self.gaps: list[tuple[float, list[list[str]]]] = []
        self.stacks: list[list[str]] = []
        self.start = self.last = time.thread_time()
        self.collecting = 0.0

    def collect(self, phase: str, _: object) -> None:
        """Start the gap later by the time of a garbage collection, which cannot be interrupted."""
        now = time.thread_time()
        if phase == "start":
            self.collecting = now
        else:
            self.last += now - self.collecting

    @property
    def is_cancelled(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        self.record()
        return False

    def record(self) -> None:
        """A checkpoint: the end of a gap."""
        now = time.thread_time()
        gap, stacks = now - self.last, self.stacks
        self.checkpoints += 1
        self.longest = max(self.longest, gap)
        if gap > self.over_s:
            self.gaps.append((gap, stacks))
        if stacks:
            self.stacks = []
        self.last = time.thread_time()


def stack_of(frame: FrameType | None) -> list[str]:
    """The functions on a stack, the innermost last."""
    found: list[str] = []
    while frame is not None:
        name = frame.f_code.co_filename.removeprefix(ROOT).split("site-packages")[-1]
        found.append(f"{name}:{frame.f_lineno} {frame.f_code.co_name}")
        frame = frame.f_back
    return found[::-1]


@contextmanager
def sampled(recorder: Recorder) -> Iterator[None]:
    """Sample the stack of this thread during the block."""
    thread, ended = threading.get_ident(), threading.Event()

    def sample() -> None:
        while not ended.wait(SAMPLE_S):
            with suppress(AttributeError):  # a frame may end during the sample
                recorder.stacks.append(stack_of(sys._current_frames().get(thread)))

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    try:
        yield
    finally:
        ended.set()
        sampler.join()


def spanning(stacks: list[list[str]]) -> tuple[list[str], str]:
    """The innermost functions of all samples, and the most frequent ones."""
    if not stacks:
        return [], "no sample"
    names = [[entry.partition(" ")[2] for entry in stack] for stack in stacks]
    depth = next((n for n, level in enumerate(zip(*names, strict=False)) if len(set(level)) > 1), min(map(len, names)))
    inner = Counter(stack[-1] for stack in stacks).most_common(3)
    return stacks[0][max(0, depth - SHOWN) : depth], ", ".join(f"{name} ({count})" for name, count in inner)


def measure(name: str, work: Work, over_s: float, checkpoint_s: float) -> None:
    """Run the work and print its row."""
    recorder = Recorder(over_s)
    error = ""
    with running_under(recorder), sampled(recorder):
        gc.callbacks.append(recorder.collect)
        recorder.start = recorder.last = time.thread_time()
        try:
            work()
        except Exception as failed:
            error = f"  {type(failed).__name__}: {failed}"
        recorder.record()
        gc.callbacks.remove(recorder.collect)
    seconds = time.thread_time() - recorder.start
    share = recorder.checkpoints * checkpoint_s / seconds if seconds else 0.0
    print(
        f"{name:42} {seconds:8.2f} s {recorder.checkpoints:11} {share:7.2%} {recorder.longest * 1e3:8.0f} ms{error}",
        flush=True,
    )
    for gap, stacks in sorted(recorder.gaps, key=lambda g: -g[0])[:SHOWN]:
        frames, inner = spanning(stacks)
        print(f"    {gap * 1e3:.0f} ms: {' > '.join(frames)}\n        in {inner}", flush=True)


def works(wanted: list[str]) -> Iterator[tuple[str, Work]]:
    for example, text in examples().items():
        if not wanted or any(name in f"{example}: " or name.startswith(example) for name in wanted):
            for name, work in page_works(text).items():
                yield f"{example}: {name}", work
    yield from large_works().items()


def main() -> None:
    parser = argparse.ArgumentParser(description="The longest times between two checkpoints for cancellation.")
    parser.add_argument("names", nargs="*", help="works whose names contain one of these; all without")
    parser.add_argument("--over", type=float, default=50, help="milliseconds from which gaps are listed")
    given = parser.parse_args()
    checkpoint_s = min(timeit.repeat(checkpoint, number=100_000, repeat=5)) / 100_000
    print(f"a checkpoint without a token: {checkpoint_s * 1e9:.0f} ns")
    print(f"{'work':42} {'time':>10} {'checkpoints':>11} {'share':>7} {'longest gap':>11}")
    for name, work in works(given.names):
        if not given.names or any(wanted in name for wanted in given.names):
            gc.collect()
            measure(name, work, given.over / 1e3, checkpoint_s)


if __name__ == "__main__":
    main()
