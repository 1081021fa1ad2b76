"""How well predictions agree with measurements: the sign and the size of each ablation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

NOTABLE = 0.03
"""The smallest measured effect of an ablation whose sign counts."""

NEAR = 1.15
"""An ablation's size is right if predicted and measured ratio differ by at most this factor."""


class AblationScore(msgspec.Struct, frozen=True):
    """The time after a change in units of the time before it, measured and predicted."""

    name: str
    key: tuple[str, ...]
    measured: float
    predicted: float

    @property
    def is_notable(self) -> bool:
        return abs(self.measured - 1) >= NOTABLE

    @property
    def has_sign(self) -> bool:
        """Whether the predicted change goes in the measured direction; equal times are no change."""
        return (self.measured - 1) * (self.predicted - 1) > 0

    @property
    def has_size(self) -> bool:
        return 1 / NEAR <= self.predicted / self.measured <= NEAR


def paired(
    name: str,
    before: Mapping[tuple[str, ...], tuple[float, float]],
    after: Mapping[tuple[str, ...], tuple[float, float]],
) -> Iterator[AblationScore]:
    """Yield the scores of rows with equal keys. The values are the measured and the predicted time."""
    for key, (measured, predicted) in before.items():
        if key in after:
            yield AblationScore(name, key, after[key][0] / measured, after[key][1] / predicted)


__all__ = ["AblationScore", "paired"]
