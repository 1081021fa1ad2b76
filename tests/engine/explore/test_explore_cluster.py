"""A study on a Dask cluster that there is already: the same result, also when a worker of it dies."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from support.killed_study import SETTINGS
from support.spaces import gemm_space

from tilewright.engine.explore import Progress, explore
from tilewright.engine.hwsim import load_machine

distributed = pytest.importorskip("distributed")

SPACE, GEMMINI = gemm_space(), load_machine("gemmini")


@pytest.fixture
def cluster() -> Iterator[Any]:
    # It listens on this machine alone, on ports that are free, and shows nothing.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        worker_dashboard_address=None, scheduler_kwargs={"dashboard": False}, silence_logs=50,
    ) as found:  # fmt: skip
        yield found


def test_a_cluster_finds_what_is_found_here_also_when_a_worker_dies(cluster: Any) -> None:
    assert cluster.scheduler_address.startswith("tcp://127.0.0.1:")
    here = explore(SPACE, GEMMINI, SETTINGS)
    killed: list[int] = []
    told: list[int] = []

    def watch(progress: Progress) -> None:
        told.append(progress.trial.number)
        if progress.done == 11:
            pid = next(iter(cluster.workers.values())).pid
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    there = explore(SPACE, GEMMINI, SETTINGS, workers=cluster.scheduler_address, watch=watch)
    assert killed and sorted(told) == list(range(40))
    assert [(t.number, t.point, t.outcome) for t in there.trials] == [
        (t.number, t.point, t.outcome) for t in here.trials
    ]
    assert there.best == here.best
