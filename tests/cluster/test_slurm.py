"""Workers as jobs of a real Slurm: one node, two GPUs, on loopback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest

from profiler.cluster import slurm as module
from profiler.cluster.connection import Tls, connect
from profiler.cluster.slurm import slurm_crew
from profiler.cluster.slurm_queue import default_log
from profiler.errors import ClusterUnreachable, SlurmFailed

sys.path.insert(0, str(Path(__file__).parent))
import slurm
import work

GPU = "--partition gpu --gres gpu:1"
Eventually = Callable[[Callable[[], object]], None]


@pytest.fixture(scope="module", autouse=True)
def variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    if lacking := slurm.missing():
        if os.environ.get("CI"):
            pytest.fail(f"Slurm is not installed: no {', '.join(lacking)}")
        pytest.skip(f"no {', '.join(lacking)}")
    with slurm.running_slurm() as found, pytest.MonkeyPatch.context() as patch:
        ours = {
            "PROF_CLUSTER_INTERFACE": "lo",
            "PYTHONPATH": str(Path(__file__).parent),
            "XDG_STATE_HOME": str(tmp_path_factory.mktemp("state")),
        }
        for name, value in {**found, **ours}.items():
            patch.setenv(name, value)
        yield found


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL_S", 0.3)


@pytest.fixture
def nothing_left(variables: dict[str, str], eventually: Eventually) -> Callable[[], None]:
    """Slurm still clears away what was cancelled, but nothing runs and nothing waits."""

    def check() -> None:
        assert set(slurm.queue(variables)) <= {"COMPLETING"}

    return check


def test_each_job_is_a_worker_with_a_gpu_of_its_own(variables, eventually: Eventually, nothing_left) -> None:
    """Of three, one has to wait; what the user says to sbatch overrules what we say."""
    said: list[str] = []
    options = f"{GPU} -J 'two words' --cpus-per-task=2 --mem-per-cpu 300 --comment=''"
    with slurm_crew(options, 3, say=said.append) as crew:
        eventually(lambda: len(crew.members()) == 2)
        assert sorted(slurm.queue(variables)) == ["PENDING", "RUNNING", "RUNNING"]
        gpus = {
            crew.call(member, os.getenv, "CUDA_VISIBLE_DEVICES", timeout_s=10, gpu=True)
            for member in crew.members()
        }
        assert gpus == {"0", "1"}
        (job, _) = slurm.running_jobs(variables)
        facts = subprocess.run(["scontrol", "show", "job", job], capture_output=True, text=True, check=True)
        assert "JobName=two words" in facts.stdout
        assert "CPUs/Task=2" in facts.stdout
        eventually(lambda: any("1 of 3 jobs wait in Slurm's queue" in line for line in said))
        assert default_log(job).exists()
    nothing_left()
    assert not default_log(job).exists()


def test_a_worker_has_the_memory_that_slurm_grants(nothing_left) -> None:
    """And for reading reports it needs no GPU."""
    with slurm_crew("--mem 512M", 1, gpus=False) as crew:
        (member,) = crew.members()
        assert (member.gpus, member.memory_bytes) == (0, 512 << 20)
        assert crew.call(member, work.add, 1, 2, timeout_s=10) == 3
    nothing_left()


def test_nobody_else_gets_in(tmp_path: Path) -> None:
    """On a cluster everybody reaches the port."""
    with slurm_crew(GPU, 1) as crew:
        address = crew._client.scheduler.address
        assert address.startswith("tls://")
        with pytest.raises(ClusterUnreachable):
            connect(address.replace("tls://", "tcp://"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=other",
             "-keyout", tmp_path / "key", "-out", tmp_path / "cert"],
            check=True, capture_output=True,
        )  # fmt: skip
        with pytest.raises(ClusterUnreachable):
            connect(address, Tls(tmp_path / "cert", tmp_path / "cert", tmp_path / "key"))


# Jobs that end


def test_a_job_that_dies_has_a_successor(variables, eventually: Eventually, nothing_left) -> None:
    said: list[str] = []
    with slurm_crew(GPU, 1, say=said.append) as crew:
        (member,) = crew.members()
        (job,) = slurm.running_jobs(variables)
        os.kill(crew.call(member, os.getppid, timeout_s=10), signal.SIGKILL)  # what the job's script runs
        eventually(lambda: crew.members() not in ([], [member]))
        assert crew.call(crew.members()[0], work.add, 1, 2, timeout_s=10, gpu=True) == 3
        assert said[-1].startswith(f"job {job} ended with exit code 137")
        assert said[-1].endswith("; another takes its place")
    nothing_left()


def test_a_job_that_somebody_cancels_has_none(variables, eventually: Eventually, nothing_left) -> None:
    said: list[str] = []
    with slurm_crew(GPU, 2, say=said.append) as crew:
        eventually(lambda: len(crew.members()) == 2)
        job, other = slurm.running_jobs(variables)
        slurm.cancel(job, variables)
        eventually(lambda: f"job {job} was cancelled; its place stays empty" in said)
        eventually(lambda: len(crew.members()) == 1)
        time.sleep(3 * module.POLL_S)
        assert slurm.running_jobs(variables) == [other]
    nothing_left()


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that has two jobs: one runs, one waits."""
    path = tmp_path / "script.py"
    path.write_text(
        "import signal, sys, time\n"
        "from profiler.cluster.slurm import slurm_crew\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))\n"
        "with slurm_crew('--gres gpu:2', 2):\n"
        "    print('there', flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, path]
    with ExitStack() as stack:

        def start(**variables: str) -> subprocess.Popen[str]:
            process = stack.enter_context(
                subprocess.Popen(command, stdout=PIPE, stderr=DEVNULL, text=True, env=os.environ | variables)
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            assert process.stdout.readline() == "there\n"
            return process

        yield start


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_no_job_is_left_after_a_signal(variables, script, number: signal.Signals, nothing_left) -> None:
    process = script()
    assert sorted(slurm.queue(variables)) == ["PENDING", "RUNNING"]
    process.send_signal(number)
    process.wait(timeout=30)
    nothing_left()


def test_workers_end_by_themselves_when_this_process_is_killed(
    variables, script, eventually: Eventually
) -> None:
    script(DASK_JOBQUEUE__SLURM__DEATH_TIMEOUT="1").kill()
    eventually(lambda: set(slurm.queue(variables)) <= {"COMPLETING"})


# What cannot work


def refused(options: str, **words: float) -> SlurmFailed:
    with pytest.raises(SlurmFailed) as caught:
        slurm_crew(options, 2, **words)
    return caught.value


def test_what_sbatch_refuses_is_told_in_its_own_words(nothing_left) -> None:
    error = refused("--partition nowhere")
    assert error.message == "Slurm refuses the jobs"
    assert any("invalid partition specified: nowhere" in line for line in error.details)
    assert "--slurm" in error.remedy
    nothing_left()


def test_an_open_quote_is_one_line() -> None:
    assert "No closing quotation" in refused("--comment 'x").message


def test_without_sbatch_it_says_where_to_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert "login node" in refused(GPU).remedy


def test_jobs_that_end_at_once_show_the_end_of_their_log(
    monkeypatch: pytest.MonkeyPatch, nothing_left
) -> None:
    monkeypatch.setenv("PROF_CLUSTER_PYTHON", "/nowhere/python")
    error = refused(GPU)
    assert "ended with exit code 127" in error.message
    assert any("/nowhere/python: No such file or directory" in line for line in error.details)
    assert "PROF_CLUSTER_PYTHON" in error.remedy
    nothing_left()


def test_jobs_that_only_wait_are_given_up(nothing_left) -> None:
    error = refused(f"{GPU} --begin now+1hour", wait_s=2.0)
    assert error.message.startswith("Slurm started no job within 2 s: 2 of 2 jobs wait")
    assert "BeginTime" in error.message
    nothing_left()


def test_an_interface_that_is_not_here_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROF_CLUSTER_INTERFACE", "none0")
    error = refused(GPU)
    assert "none0" in error.message
    assert "ip link" in error.remedy
