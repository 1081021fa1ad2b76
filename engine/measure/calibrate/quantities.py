"""What a calibration measures: kernels of `static/calibration/cpu.c` and the bytes that each works on."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

KIB, MIB = 1 << 10, 1 << 20

SMALL = 4 * KIB
"""Bytes for kernels that do not use the memory."""

SIZES = (*(size for power in range(12, 28) for size in (1 << power, 3 << power - 1)), 1 << 28)
"""4 KiB to 256 MiB in steps of a half and a third: the edges of caches show between them."""

QUICK_SIZES = tuple(1 << power for power in (14, 18, 20, 22, 24, 27))


class Quantity(msgspec.Struct, frozen=True):
    """A kernel on so many bytes. It is measured as nanoseconds of an operation; `per_byte` is a byte."""

    kernel: str
    size_bytes: int = SMALL
    per_byte: bool = False

    @property
    def name(self) -> str:
        return f"{self.kernel}/{self.size_bytes}" if self.size_bytes != SMALL else self.kernel


INSTRUCTIONS = (
    "int_add_chain",
    "int_add_many",
    "f32_add_chain",
    "f32_fma_chain",
    "f32_add_many",
    "f32_fma_many",
    "f64_fma_many",
    "i32_mul_many",
    "i16_mul_many",
    "f32_div_many",
    "f32_sqrt_many",
    "i32_to_f32_many",
    "exp_calls",
    "forward",
)


def _all(sizes: tuple[int, ...]) -> Iterator[Quantity]:
    yield from (Quantity(kernel) for kernel in INSTRUCTIONS)
    for size in sizes:
        yield Quantity("latency", size)
        yield from (Quantity(f"{kind}_bytes", size, per_byte=True) for kind in ("read", "write", "copy"))
        if size >= 32 * 4 * KIB:
            yield Quantity("pages", size)


QUANTITIES = tuple(_all(SIZES))


def quick_quantities() -> tuple[Quantity, ...]:
    """Fewer sizes, for a calibration in less than a minute."""
    return tuple(_all(QUICK_SIZES))


__all__ = ["INSTRUCTIONS", "QUANTITIES", "Quantity", "quick_quantities"]
