"""Calls on workers in processes of their own, which die, hang and come back."""

import asyncio
import os
import signal
import socket
import threading
import time
from contextlib import suppress

import dask
import pytest
import work
from listening import listening_addresses
from living import wait_until

from profiler.cluster import connection, watch, worker_pool as module
from profiler.cluster.connection import connect, start_local_workers
from profiler.errors import ClusterUnreachable, InternalError, ReportDamaged, SchedulerLost, WorkerLost

WORK = {"PYTHONPATH": work.PYTHONPATH}


@pytest.fixture(scope="module")
def pool(cluster):
    with connect(cluster.address) as connected:
        yield connected


def worker_called(pool, name):
    (found,) = [worker for worker in pool.available() if worker.name == name]
    return found


@pytest.fixture
def hire(cluster, pool):
    """Starts a worker and waits until it is there."""
    processes = []

    def start(name, *words, **options):
        processes.append(cluster.worker(name, *words, **options))
        assert wait_until(lambda: name in [worker.name for worker in pool.available()])
        return worker_called(pool, name)

    yield start
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def steady(cluster, pool):
    """A worker that nobody kills."""
    cluster.worker("steady", gpus=1)
    assert wait_until(lambda: "steady" in [worker.name for worker in pool.available()])
    return worker_called(pool, "steady")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_member_says_who_it_is(steady):
    assert (steady.name, steady.gpus, steady.threads, steady.memory_bytes) == ("steady", 1, 1, 0)
    assert steady.host == "127.0.0.1"


def test_a_call_is_made_in_the_worker_s_process(pool, steady):
    assert pool.call(steady, work.add, 2, 3, timeout_s=10) == 5
    assert pool.call(steady, work.pid, timeout_s=10) != os.getpid()


def test_the_same_call_twice_is_made_twice(pool, steady):
    """Dask would answer from what it knows."""
    heard = []
    for _ in range(2):
        pool.call(steady, work.say, "once", timeout_s=10, on_message=heard.append)
    assert heard == ["once", "once"]


def test_messages_of_a_call_arrive_in_order_before_the_answer(pool, steady):
    heard = []
    words = [str(number) for number in range(50)]
    assert pool.call(steady, work.say, *words, timeout_s=10, on_message=heard.append) == 50
    assert heard == words[: len(heard)]  # the answer may overtake the last of them
    assert heard


def test_megabytes_go_there_and_back(pool, steady):
    data = os.urandom(20 << 20)
    assert pool.call(steady, work.echo, data, timeout_s=30) == data


def test_an_error_of_ours_arrives_as_it_was_raised(pool, steady):
    with pytest.raises(ReportDamaged) as caught:
        pool.call(steady, work.complain, timeout_s=10)
    assert (str(caught.value), caught.value.remedy) == ("x.ncu-rep: cut short\n  at byte 7", "Copy it again.")


def test_any_other_error_is_a_bug_and_names_the_worker(pool, steady):
    with pytest.raises(InternalError, match="on worker steady: ZeroDivisionError"):
        pool.call(steady, work.divide, 0, timeout_s=10)


@pytest.mark.slow
def test_a_gpu_serves_one_call_at_a_time_whoever_asks(cluster, pool, hire):
    """Two clients on one worker that has threads enough for both."""
    worker = hire("shared", threads=2, gpus=1)
    with connect(cluster.address) as other:
        spans = []

        def use(mine):
            began = []
            mine.call(
                worker,
                work.sleep,
                0.5,
                timeout_s=20,
                gpu=True,
                on_message=lambda _: began.append(time.monotonic()),
            )
            spans.append((began[0], time.monotonic()))

        threads = [threading.Thread(target=use, args=(one,)) for one in (pool, other)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    first, second = sorted(spans)
    assert second[0] - first[0] >= 0.4


@pytest.mark.parametrize("how", ["killed", "exits"])
def test_a_worker_that_dies_takes_its_call_with_it(pool, hire, how):
    worker = hire(f"mortal-{how}")
    if how == "exits":
        with pytest.raises(WorkerLost, match="mortal-exits"):
            pool.call(worker, work.die, timeout_s=30)
    else:
        pid = pool.call(worker, work.pid, timeout_s=10)
        with pytest.raises(WorkerLost, match="mortal-killed died or left"):
            pool.call(worker, work.sleep, 30, timeout_s=60, on_message=lambda _: os.kill(pid, signal.SIGKILL))
    assert worker not in pool.available()
    with pytest.raises(WorkerLost):
        pool.call(worker, work.add, 1, 1, timeout_s=5)


@pytest.mark.slow
def test_a_worker_is_not_lost_when_dask_updates_its_own_picture_of_the_cluster(cluster, steady, monkeypatch):
    """Dask's client keeps a list of workers for itself, and empties it every two seconds; here all the time."""
    monkeypatch.setattr(watch, "POLL_S", 0.001)
    with (
        dask.config.set({"distributed.client.scheduler-info-interval": "1ms"}),
        connect(cluster.address) as mine,
    ):
        assert mine.call(steady, work.sleep, 2, timeout_s=30) == "awake"


@pytest.mark.slow
@pytest.mark.parametrize("port", ["any", "its own"])
def test_a_worker_that_its_nanny_starts_again_is_a_new_member(pool, hire, port):
    name = f"reborn-{port.partition(' ')[0]}"
    own = ["--worker-port", str(free_port())] if port == "its own" else []
    worker = hire(name, *own, nanny=True)
    pid = pool.call(worker, work.pid, timeout_s=10)
    with pytest.raises(WorkerLost):
        pool.call(worker, work.sleep, 30, timeout_s=60, on_message=lambda _: os.kill(pid, signal.SIGKILL))
    assert wait_until(lambda: name in [one.name for one in pool.available() if one != worker])
    again = worker_called(pool, name)
    assert (again.address == worker.address) == (port == "its own")
    assert pool.call(again, work.add, 1, 2, timeout_s=10) == 3


@pytest.mark.slow
def test_a_worker_back_before_anybody_looks_does_not_repeat_its_call(cluster, hire, tmp_path, monkeypatch):
    """Dask takes the process that has the same address for the one that died, and calls it again."""
    signed = tmp_path / "signed"
    dead = hire("same-port", "--worker-port", str(free_port()), nanny=True)
    with connect(cluster.address) as mine:
        worker = worker_called(mine, "same-port")
        assert worker == dead
        with monkeypatch.context() as blind:
            blind.setattr(watch.Watch, "_look", lambda _: None)  # private: nobody looks while it is away
            with pytest.raises(WorkerLost, match="same-port died or left"):
                mine.call(
                    worker, work.sign_and_sleep, signed, 30.0, timeout_s=25,
                    on_message=lambda _: os.kill(int(signed.read_text().split()[0]), signal.SIGKILL),
                )  # fmt: skip
            assert worker not in mine.available()
            with pytest.raises(WorkerLost):
                mine.call(worker, work.add, 1, 2, timeout_s=10)
        assert wait_until(lambda: [one for one in mine.available() if one.name == "same-port"])
        again = worker_called(mine, "same-port")
        assert again.address == worker.address
        assert mine.call(again, work.pid, timeout_s=10) != int(signed.read_text())  # one line, so one call


@pytest.mark.slow
def test_a_worker_that_hangs_is_left_alone(pool, hire, monkeypatch):
    monkeypatch.setattr(module, "GRACE_S", 0.5)
    worker = hire("stuck")
    pid = pool.call(worker, work.pid, timeout_s=10)
    try:
        with pytest.raises(WorkerLost, match="stuck did not answer within 1 s and gets no more work"):
            pool.call(worker, work.sleep, 60, timeout_s=1, on_message=lambda _: os.kill(pid, signal.SIGSTOP))
        assert worker not in pool.available()
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_worker_that_is_silent_before_it_begins_is_left_alone(pool, hire, monkeypatch):
    monkeypatch.setattr(module, "GRACE_S", 1.0)
    worker = hire("silent")
    pid = pool.call(worker, work.pid, timeout_s=10)
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(WorkerLost, match="silent has not been heard of for"):
            pool.call(worker, work.add, 1, 1, timeout_s=2)
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_call_is_given_up_at_once_although_its_worker_hangs(pool, hire):
    worker = hire("deaf")
    pid = pool.call(worker, work.pid, timeout_s=10)

    class Interrupt(Exception):
        pass

    def interrupt(_):
        os.kill(pid, signal.SIGSTOP)
        raise Interrupt

    try:
        started = time.monotonic()
        with pytest.raises(Interrupt):
            pool.call(worker, work.sleep, 60, timeout_s=60, on_message=interrupt)
        assert time.monotonic() - started < 5
    finally:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_a_call_that_is_given_up_takes_no_other_s_answer_with_it(pool, steady, hire):
    """Dask fetches together what is ready at the same moment."""
    other, count = hire("given-up"), 24 << 20

    def give_up():
        # private: the moment in which a call is given up cannot be met from outside
        for call in list(pool._calls.values()):
            if call.worker == other:
                call.news.put(module._News("left"))  # private: as above

    def ask_in_vain(moment):
        with suppress(WorkerLost):
            pool.call(other, work.make_at, moment, count, timeout_s=30)

    for _ in range(12):
        moment = time.time() + 0.1
        asking = threading.Thread(target=ask_in_vain, args=(moment,))
        leaving = threading.Timer(0.13, give_up)
        for thread in (asking, leaving):
            thread.start()
        assert len(pool.call(steady, work.make_at, moment, count, timeout_s=30)) == count
        for thread in (asking, leaving):
            thread.join()


def test_a_call_under_way_is_stopped_when_its_caller_no_longer_wants_it(pool, steady):
    class Interrupt(Exception):
        pass

    def interrupt(_):
        raise Interrupt

    with pytest.raises(Interrupt):
        pool.call(steady, work.wait_to_be_stopped, 60, timeout_s=60, gpu=True, on_message=interrupt)
    started = time.monotonic()
    assert pool.call(steady, work.add, 1, 1, timeout_s=10, gpu=True) == 2  # the GPU is free again
    assert time.monotonic() - started < 10


@pytest.mark.slow
def test_a_pool_of_this_host_has_one_worker_per_environment():
    with start_local_workers({"one": {"WHO": "one", **WORK}, "two": {"WHO": "two", **WORK}}) as local:
        workers = local.available()
        assert [(worker.gpus, worker.threads) for worker in workers] == [(1, 1), (1, 1)]
        seen = {local.call(worker, os.getenv, "WHO", timeout_s=10, gpu=True) for worker in workers}
        assert seen == {"one", "two"}


@pytest.mark.slow
def test_a_pool_of_this_host_lets_nobody_in_without_its_certificate():
    from distributed.comm import connect as dial
    from distributed.security import Security

    async def answers(address, security):
        try:
            comm = await dial(address, timeout=2, **security.get_connection_args("client"))
        except (OSError, TimeoutError):
            return False
        await comm.close()
        return True

    with start_local_workers({"one": WORK}) as local:
        (worker,) = local.available()
        # private: a pool of one's own has no need to publish its address and its certificate
        scheduler, own = local._client.scheduler.address, local._client.security
        pid = local.call(worker, os.getpid, timeout_s=10)
        assert listening_addresses(pid, os.getpid()) == {"127.0.0.1"}
        for address in (scheduler, worker.address):
            assert address.startswith("tls://127.0.0.1:")
            assert asyncio.run(answers(address, own))
            assert not asyncio.run(answers(address, Security.temporary()))
            assert not asyncio.run(answers(address.replace("tls://", "tcp://"), Security()))


def test_a_scheduler_without_our_functions_says_what_it_lacks(own_cluster):
    """Dask unpacks what is asked on the scheduler too."""
    own_cluster.start()
    own_cluster.worker("bare")
    with connect(own_cluster.address) as mine:
        assert wait_until(mine.available)
        with pytest.raises(ClusterUnreachable, match="another environment") as caught:
            mine.call(mine.available()[0], work.add, 1, 1, timeout_s=10)
        assert "same prof" in caught.value.remedy


def test_no_scheduler_there_is_one_line(monkeypatch):
    monkeypatch.setattr(connection, "CONNECT_S", 1.0)
    with pytest.raises(ClusterUnreachable, match=r"tcp://127\.0\.0\.1:9: no Dask scheduler answers there"):
        connect("tcp://127.0.0.1:9")


def test_an_address_that_is_none_is_one_line():
    with pytest.raises(ClusterUnreachable):
        connect("nonsense://x")


def test_a_scheduler_that_dies_ends_every_call(cluster, steady):
    """The last test here: it takes the cluster away."""
    with connect(cluster.address) as mine:
        (there,) = [worker for worker in mine.available() if worker.name == "steady"]
        started = time.monotonic()
        with pytest.raises(SchedulerLost):
            mine.call(
                there, work.sleep, 60, timeout_s=60,
                on_message=lambda _: os.kill(cluster.scheduler.pid, signal.SIGKILL),
            )  # fmt: skip
        assert time.monotonic() - started < 10
        with pytest.raises(SchedulerLost):
            mine.available()
