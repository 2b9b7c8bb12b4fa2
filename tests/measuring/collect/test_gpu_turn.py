"""One prof at a time measures on a GPU; the others wait, and say for whom."""

import os
import signal
import tempfile
import threading
import time

import pytest

from profiler.errors import OutputNotWritable
from profiler.measuring.collect.gpu_turn import PLACE, gpu_turn, gpu_turn_if_free
from profiler.measuring.tools.gpus import Gpu

GPU = Gpu("NVIDIA H200", "sm_90", "580.1", "GPU-0")
OTHER = Gpu("NVIDIA H200", "sm_90", "580.1", "GPU-1")


def test_a_collection_waits_for_another_prof_on_the_gpu_and_says_for_whom(collecting, another_prof):
    notes = []
    with another_prof(GPU) as other:
        assert other.stdout.readline() == "mine\n"

        def note(line):
            assert collecting.calls == [], "nothing is profiled while the other one measures"
            notes.append(line)
            other.stdin.close()

        collecting.note = note
        (outcome,) = collecting.collect([collecting.rung(1)])
    assert outcome.status == "collected"
    (line,) = notes
    assert line.startswith(f"waiting for process {other.pid} (")
    assert line.endswith("), which measures on the same GPU")


def test_another_gpu_is_free(another_prof):
    with another_prof(GPU) as other:
        assert other.stdout.readline() == "mine\n"
        with gpu_turn(OTHER, pytest.fail):
            pass


def test_a_program_that_is_measured_does_not_wait_for_the_prof_that_started_it(another_prof):
    with gpu_turn(GPU, pytest.fail), another_prof(GPU) as program:
        assert program.stdout.readline() == "mine\n"


def test_who_has_the_gpu_may_take_it_again(another_prof):
    with gpu_turn(GPU, pytest.fail):
        with gpu_turn(GPU, pytest.fail):
            pass
        unrelated = {name: value for name, value in os.environ.items() if not name.startswith("PROF_HOLDS")}
        with another_prof(environment=unrelated) as other:
            assert other.stdout.readline().startswith("waiting for process ")
            other.kill()


def test_users_with_other_temporary_folders_wait_too(monkeypatch, tmp_path, another_prof):
    with another_prof() as other:
        assert other.stdout.readline() == "mine\n"
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        with gpu_turn_if_free(GPU) as is_ours:
            assert not is_ours
    with gpu_turn_if_free(GPU) as is_ours:
        assert is_ours


def test_a_folder_of_locks_that_is_missing_is_an_error(monkeypatch, tmp_path):
    """Containers that were to share it would not wait for each other."""
    monkeypatch.setenv(PLACE, str(tmp_path / "nowhere"))
    with (
        pytest.raises(
            OutputNotWritable, match=f"{PLACE}: .*nowhere/prof-gpu-0.lock: cannot be created: No such"
        ),
        gpu_turn(GPU, pytest.fail),
    ):
        pass


def test_every_user_may_lock_the_file_whatever_the_umask_was(locks_of_this_worker):
    before = os.umask(0o077)
    try:
        with gpu_turn(OTHER, pytest.fail):
            pass
    finally:
        os.umask(before)
    assert (locks_of_this_worker / "prof-gpu-1.lock").stat().st_mode & 0o777 == 0o666


def test_the_mark_survives_a_shell(another_prof):
    with gpu_turn(GPU, pytest.fail), another_prof(GPU, shell=True) as program:
        assert program.stdout.readline() == "mine\n"


def test_a_worker_in_a_measured_program_has_the_gpu_too():
    with gpu_turn(GPU, pytest.fail), gpu_turn_if_free(GPU) as is_ours:
        assert is_ours


def test_another_thread_of_the_same_process_waits():
    notes, is_done = [], threading.Event()

    def measure():
        with gpu_turn(GPU, notes.append):
            is_done.set()

    thread = threading.Thread(target=measure)
    with gpu_turn(GPU, pytest.fail):
        thread.start()
        assert not is_done.wait(0.3)
    thread.join(10)
    assert is_done.is_set()
    assert f"process {os.getpid()}" in notes[0]


def test_the_turn_ends_with_its_process(another_prof):
    with another_prof(GPU) as other:
        assert other.stdout.readline() == "mine\n"
        other.kill()
        other.wait()
        with gpu_turn(GPU, pytest.fail):
            pass
    assert not [name for name in os.environ if name.startswith("PROF_HOLDS")]


def test_a_process_that_is_forked_meanwhile_does_not_keep_the_gpu(another_prof):
    with gpu_turn(GPU, pytest.fail):
        child = os.fork()
        if not child:
            time.sleep(60)
            os._exit(0)
    try:
        with another_prof() as other:
            assert other.stdout.readline() == "mine\n"
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
