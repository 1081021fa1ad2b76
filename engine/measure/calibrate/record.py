"""Measuring the quantities with a compiled program, one process each; what is measured is kept, so a calibration can be resumed."""

from __future__ import annotations

import datetime
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path

import msgspec

from .... import static
from ...ir import Refusal, TilewrightError
from ..measured import Spread, processor_name
from .quantities import Quantity

COMPILERS = ("cc", "gcc", "clang")
VECTOR_BYTES = {"avx2": 32, "avx": 32, "sse2": 16, "neon": 16, "asimd": 16}
SAMPLES = 15
QUICK_SAMPLES = 5
SECONDS = 60.0
"""Limit of one quantity: the largest take a second."""

NOISY = 0.1
"""A quantity whose middle eight tenths of samples span more than this part of the median is noisy."""


class Measured(msgspec.Struct, frozen=True):
    """Nanoseconds of an operation: the median of the samples, and the limits of their middle eight tenths."""

    kernel: str
    size_bytes: int
    nanoseconds: Spread
    samples: int

    @property
    def is_noisy(self) -> bool:
        return self.nanoseconds.high - self.nanoseconds.low > NOISY * self.nanoseconds.median


class Calibration(msgspec.Struct, frozen=True):
    """The quantities measured so far on a processor."""

    processor: str
    date: str
    compiler: str
    vector_bytes: int
    rows: tuple[Measured, ...] = ()

    def find(self, kernel: str, size_bytes: int | None = None) -> Measured | None:
        """A quantity; of several sizes the smallest without `size_bytes`."""
        found = [row for row in self.rows if row.kernel == kernel and size_bytes in (None, row.size_bytes)]
        return min(found, key=lambda row: row.size_bytes, default=None)

    def of(self, kernel: str) -> list[Measured]:
        """The rows of a kernel by size."""
        return sorted((row for row in self.rows if row.kernel == kernel), key=lambda row: row.size_bytes)

    @property
    def clock_hz(self) -> float | None:
        """The clock: an addition of integers that waits for the one before takes a cycle."""
        row = self.find("int_add_chain")
        return None if row is None else 1e9 / row.nanoseconds.median


def read_calibration(path: Path) -> Calibration:
    """Reads a record. Raises TilewrightError "calibration-file"."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Calibration)
    except (OSError, msgspec.MsgspecError) as error:
        raise TilewrightError(Refusal("calibration-file", f"{path.name} is no calibration", str(error))) from error


def calibrate(
    quantities: Sequence[Quantity],
    record: Path,
    *,
    samples: int = SAMPLES,
    on_progress: Callable[[int, Quantity], None] | None = None,
) -> Calibration:
    """Measures the quantities that a record lacks, and writes the record after each. Nobody else's processor time counts, but other work
    shares the caches and the clock: the limits of the samples show how much.

    Raises TilewrightError "no-compiler", "calibration-file", "other-processor" if the record is of another one, and "calibration" if a
    kernel fails.
    """
    compiler = next(filter(None, map(shutil.which, COMPILERS)), None)
    if compiler is None:
        raise TilewrightError(
            Refusal(
                "no-compiler",
                "a calibration needs a C compiler",
                "none",
                ", ".join(COMPILERS),
                ("install gcc or clang",),
            )
        )
    width = _vector_bytes()
    found = Calibration(
        processor_name(), datetime.datetime.now(datetime.UTC).date().isoformat(), Path(compiler).name, width
    )
    if record.exists():
        earlier = read_calibration(record)
        if earlier.processor != found.processor:
            raise TilewrightError(
                Refusal("other-processor", "the record is of another processor", earlier.processor, found.processor)
            )
        found = earlier
    known = {(row.kernel, row.size_bytes) for row in found.rows}
    left = [quantity for quantity in quantities if (quantity.kernel, quantity.size_bytes) not in known]
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        program = _built(compiler, width, Path(folder)) if left else Path()
        for number, quantity in enumerate(left):
            if on_progress is not None:
                on_progress(number, quantity)
            row = _measured(program, quantity, samples)
            found = msgspec.structs.replace(found, rows=(*found.rows, row))
            _write(record, found)
    return found


def _built(compiler: str, width: int, folder: Path) -> Path:
    source, program = folder / "cpu.c", folder / "cpu"
    source.write_text((resources.files(static) / "calibration" / "cpu.c").read_text("utf-8"), "utf-8")
    flags = ["-O2", "-march=native", f"-DVECTOR_BYTES={width}"]
    made = subprocess.run(
        [compiler, *flags, str(source), "-o", str(program), "-lm"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if made.returncode:
        raise TilewrightError(Refusal("calibration", "the kernels do not compile", made.stderr.strip()[-300:]))
    return program


def _measured(program: Path, quantity: Quantity, samples: int) -> Measured:
    arguments = [str(program), quantity.kernel, str(quantity.size_bytes), str(samples)]
    try:
        found = subprocess.run(arguments, capture_output=True, text=True, timeout=SECONDS, check=True)
        values = [float(line) for line in found.stdout.split()]
    except (subprocess.SubprocessError, ValueError) as error:
        raise TilewrightError(Refusal("calibration", f"{quantity.name} was not measured", str(error))) from error
    return Measured(quantity.kernel, quantity.size_bytes, Spread.of(values), len(values))


def _write(path: Path, found: Calibration) -> None:
    """Writes a record so that an interrupted one is whole."""
    part = path.with_suffix(path.suffix + ".part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1))
    part.replace(path)


def _vector_bytes() -> int:
    file = Path("/proc/cpuinfo")
    flags = set(file.read_text().split()) if file.exists() else set[str]()
    return max((size for name, size in VECTOR_BYTES.items() if name in flags), default=16)


__all__ = ["NOISY", "QUICK_SAMPLES", "SAMPLES", "Calibration", "Measured", "calibrate", "read_calibration"]
