"""Shared test set-up: the Hypothesis profiles (`HYPOTHESIS_PROFILE=dev|ci|deep`)."""

import atexit
import gc
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, Phase, settings

from tilewright.engine.cancellation import hide_ignored_cancellations

COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large]}
settings.register_profile("dev", max_examples=25, **COMMON)
# `make test` reports a failure without shrinking it: that needs minutes, and TVM crashes on some inputs.
settings.register_profile("ci", max_examples=10, derandomize=True, phases=(Phase.explicit, Phase.generate), **COMMON)
settings.register_profile("deep", max_examples=5000, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


# Tests, and the servers that they start, keep drafts and histories apart from those of the user.
if "PYTEST_XDIST_WORKER" not in os.environ:  # the workers share the folder of the process that started them
    os.environ["TILEWRIGHT_STATE_DIR"] = tempfile.mkdtemp(prefix="tilewright-tests-")
    atexit.register(shutil.rmtree, os.environ["TILEWRIGHT_STATE_DIR"], ignore_errors=True)


@pytest.hookimpl(trylast=True)  # after pytest's own report of ignored exceptions
def pytest_configure() -> None:
    hide_ignored_cancellations()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Freeze the modules of the tests, which stay: garbage collection of them would cost seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Assign each file of browser tests to one pytest-xdist worker, large files first. Property tests are also deep tests; of a test
    marked `sample(n)` the parameters after the first n are slow."""
    seen: Counter[tuple[object, str]] = Counter()
    for item in items:
        sample = item.get_closest_marker("sample")
        if sample is not None:
            test = (item.parent, getattr(item, "originalname", item.name))
            seen[test] += 1
            if seen[test] > sample.args[0]:
                item.add_marker(pytest.mark.slow)
        if "e2e" in item.path.parts:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.deep)
