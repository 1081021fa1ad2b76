"""The number of samples of sampling tests."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

IS_DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
"""Whether `make test-deep` runs: hours of samples. `make test` runs enough to show a regression."""


def few(count: int) -> settings:
    """At most `count` examples of a costly law, and with `make test-deep` as many as of any law."""
    return settings() if IS_DEEP else settings(max_examples=min(count, settings().max_examples))


def samples(every: Iterable[Any], *kept: Any) -> list[Any]:
    """Parameters of a test: `make test` runs those that are kept, and `make test-deep` the others."""
    return [one if one in kept else pytest.param(one, marks=pytest.mark.slow) for one in every]
