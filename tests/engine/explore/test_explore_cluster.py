"""A study on an existing Dask cluster: the same result, also when one of its workers dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.faults.killed_study import SETTINGS
from support.schedules.spaces import gemm_space

from tilewright.engine.explore import Progress, WorkersError, explore
from tilewright.engine.hwsim import load_machine

pytestmark = pytest.mark.skipif(find_spec("distributed") is None, reason="Dask is not installed")

SPACE, GEMMINI = gemm_space(), load_machine("gemmini")


@pytest.mark.slow
def test_a_missing_scheduler_is_refused() -> None:
    for address in ("tcp://127.0.0.1:1", "nonsense://x"):
        with pytest.raises(WorkersError, match="no-scheduler"):
            explore(SPACE, GEMMINI, SETTINGS, workers=address)


@pytest.mark.slow
def test_study_continues_without_its_lost_scheduler(tmp_path: Path) -> None:
    store = tmp_path / "study.sqlite"
    script = (
        "from dask.distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    with LocalCluster(n_workers=1, threads_per_worker=1, host='127.0.0.1', dashboard_address='127.0.0.1:0',\n"
        "                      processes=False, protocol='tcp',\n"
        "                      worker_dashboard_address=None, scheduler_kwargs={'dashboard': False}) as cluster:\n"
        "        print(cluster.scheduler_address, flush=True)\n"
        "        input()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as there:
        assert there.stdout is not None
        address = there.stdout.readline().strip()

        def watch(progress: Progress) -> None:
            if progress.done == 10:
                there.kill()

        with pytest.raises(WorkersError, match="scheduler-lost"):
            explore(SPACE, GEMMINI, SETTINGS, workers=address, store=store, watch=watch)
    here, after = explore(SPACE, GEMMINI, SETTINGS), explore(SPACE, GEMMINI, SETTINGS, store=store)
    assert after.trials == here.trials


@pytest.fixture
def cluster() -> Iterator[Any]:
    import distributed

    # It listens on this machine only, on free ports, without a dashboard.
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0",
        worker_dashboard_address=None, scheduler_kwargs={"dashboard": False}, silence_logs=50,
    ) as found:  # fmt: skip
        yield found


@pytest.mark.slow
def test_cluster_survives_the_death_of_a_worker(cluster: Any) -> None:
    assert cluster.scheduler_address.startswith("tcp://127.0.0.1:")
    here = explore(SPACE, GEMMINI, SETTINGS)
    killed: list[int] = []
    reported: list[int] = []

    def watch(progress: Progress) -> None:
        reported.append(progress.trial.number)
        if progress.done == 11:
            pid = next(iter(cluster.workers.values())).pid
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

    there = explore(SPACE, GEMMINI, SETTINGS, workers=cluster.scheduler_address, watch=watch)
    assert killed and sorted(reported) == list(range(16))
    assert there.trials == here.trials and there.best == here.best


@pytest.mark.slow
def test_answers_of_workers_that_died_later_count(cluster: Any) -> None:
    here = explore(SPACE, GEMMINI, SETTINGS)

    def watch(progress: Progress) -> None:
        if progress.done == 9:  # the first of eight: the others finish meanwhile
            time.sleep(1)
            for worker in cluster.workers.values():
                os.kill(worker.pid, signal.SIGKILL)
            time.sleep(1)

    there = explore(SPACE, GEMMINI, SETTINGS, workers=cluster.scheduler_address, watch=watch)
    assert there.trials == here.trials
