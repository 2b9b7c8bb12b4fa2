"""`prof worker`: a host's GPUs for as long as it runs, and one line for whatever stands in the way."""

import os
import signal
from pathlib import Path

import pytest
from farm import Farm, worker_pids
from listening import listening_addresses
from living import wait_until

from profiler.cluster.connection import connect


@pytest.fixture(scope="module")
def farm(tmp_path_factory):
    made = Farm(tmp_path_factory.mktemp("farm"))
    made.furnish_host("two", (1, 2))
    yield made
    made.stop()


@pytest.fixture
def refused(farm, prof_here):
    """`refused(address, "--name", "two")`: `prof worker`, where it ends before it has a worker."""
    place = farm.folder / "two"
    return lambda *words: prof_here("worker", *words, cwd=place, env=farm.environment(place))


@pytest.mark.slow
def test_each_gpu_has_a_worker_that_comes_back_when_it_dies_and_all_end_together(farm, cluster, refused):
    host = farm.host("two", cluster.address, (1, 2))
    with connect(cluster.address) as pool:
        assert wait_until(lambda: len(pool.available()) == 2)
        before = pool.available()
        assert {(worker.name, worker.gpus, worker.threads) for worker in before} == {
            ("two-gpu0", 1, 1),
            ("two-gpu1", 1, 1),
        }
        taken = refused(cluster.address, "--name", "two", "--gpus", "0")
        assert (taken.returncode, taken.stderr.splitlines()[0]) == (
            105,
            f"prof: {cluster.address}: there is a worker two-gpu0 already",
        )

        os.kill(worker_pids(host)[0], signal.SIGKILL)
        assert wait_until(lambda: len(pool.available()) == 2 and set(pool.available()) != set(before))

        pids = worker_pids(host)
        host.send_signal(signal.SIGTERM)
        assert host.wait(timeout=30) == 0
        assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
        assert wait_until(lambda: not pool.available())


@pytest.mark.parametrize(
    ("words", "address"),
    [((), "127.0.0.1"), (("--host", "127.0.0.2"), "127.0.0.2"), (("--interface", "lo"), "127.0.0.1")],
)
def test_workers_listen_where_the_scheduler_is_reached_or_where_they_are_told(farm, cluster, words, address):
    """The scheduler here is at 127.0.0.1; 127.0.0.2 is another address of the same interface."""
    host = farm.host("two", cluster.address, (1, 2), "--gpus", "0", *words)
    assert wait_until(lambda: worker_pids(host))
    listened = listening_addresses(host.pid, *worker_pids(host))
    host.send_signal(signal.SIGTERM)
    assert host.wait(timeout=30) == 0
    assert listened == {address, "127.0.0.1"}  # what Dask serves over HTTP stays on loopback


def test_an_interface_that_there_is_not_is_one_line(cluster, refused):
    done = refused(cluster.address, "--interface", "nothing0")
    assert done.returncode == 105
    assert done.stderr.startswith("prof: --interface nothing0: ")
    assert "`ip address` lists the interfaces." in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["nonsense://x"], 105, "nonsense://x: no Dask scheduler answers there: "),
        (["tls://127.0.0.1:1"], 105, "it needs certificates, and none were given"),
        (["tcp://127.0.0.1:1", "--host", "127.0.0.1", "--interface", "lo"], 2, "--host and --interface exclude each other"),
        (["tcp://127.0.0.1:1", "--gpus", "7"], 52, "--gpus 7: there is no GPU '7'; 2 are visible, from 0"),
    ],
)  # fmt: skip
def test_a_worker_that_cannot_start_says_why_in_one_line(refused, words, code, said):
    done = refused(*words)
    assert done.returncode == code
    assert said in done.stderr.splitlines()[0]
    assert "Traceback" not in done.stderr
