"""Workers as jobs of a real Slurm: one node, two GPUs, on loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE

import pytest
import slurm
import work
from living import wait_until
from terminal import write_tool

from profiler.cluster import slurm as module
from profiler.cluster.connection import Tls, connect
from profiler.cluster.slurm import start_slurm_workers
from profiler.cluster.slurm_answers import default_log
from profiler.errors import ClusterUnreachable, SlurmFailed
from profiler.store.runs.run_store import RunStore

GPU = "--partition gpu --gres gpu:1"


@pytest.fixture(scope="module", autouse=True)
def variables(tmp_path_factory, needs):
    needs("slurm")
    with slurm.running_slurm() as found, pytest.MonkeyPatch.context() as patch:
        ours = {
            "PROF_CLUSTER_INTERFACE": "lo",
            "PYTHONPATH": work.PYTHONPATH,
            "XDG_STATE_HOME": str(tmp_path_factory.mktemp("state")),
        }
        for name, value in {**found, **ours}.items():
            patch.setenv(name, value)
        yield found


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr(module, "POLL_S", 0.3)


@pytest.fixture
def nothing_left(variables):
    """Slurm still clears away what was cancelled, but nothing runs and nothing waits."""

    def check():
        assert set(slurm.queue(variables)) <= {"COMPLETING"}

    return check


def test_each_job_is_a_worker_with_a_gpu_of_its_own(variables, nothing_left):
    """One of three has to wait; what the user says to sbatch overrules what we say."""
    said = []
    options = f"{GPU} -J 'two words' --cpus-per-task=2 --mem 512M"
    with start_slurm_workers(options, 3, say=said.append) as pool:
        assert wait_until(lambda: len(pool.available()) == 2)
        assert sorted(slurm.queue(variables)) == ["PENDING", "RUNNING", "RUNNING"]
        assert pool.coming()
        assert {(one.gpus, one.memory_bytes) for one in pool.available()} == {(1, 512 << 20)}
        gpus = {
            pool.call(worker, os.getenv, "CUDA_VISIBLE_DEVICES", timeout_s=10, gpu=True)
            for worker in pool.available()
        }
        assert gpus == {"0", "1"}
        (job, _) = slurm.running_jobs(variables)
        facts = subprocess.run(["scontrol", "show", "job", job], stdout=PIPE, text=True, check=True).stdout
        assert "JobName=two words" in facts
        assert "CPUs/Task=2" in facts
        assert wait_until(lambda: any("1 of 3 jobs wait in Slurm's queue" in line for line in said))
        assert default_log(job).exists()
    nothing_left()
    assert not default_log(job).exists()


@pytest.mark.slow
def test_nobody_else_gets_in(tmp_path):
    """On a cluster everybody reaches the port. Whoever reads reports needs no GPU."""
    from distributed.security import Security

    other = Security.temporary()
    (tmp_path / "cert").write_text(other.tls_client_cert)
    (tmp_path / "key").write_text(other.tls_client_key)
    with start_slurm_workers("", 1, gpus=False) as pool:
        assert not pool.coming()
        assert [worker.gpus for worker in pool.available()] == [0]
        # private: a pool of one's own has no need to publish its address
        address = pool._client.scheduler.address
        assert address.startswith("tls://")
        with pytest.raises(ClusterUnreachable):
            connect(address.replace("tls://", "tcp://"))
        with pytest.raises(ClusterUnreachable):
            connect(address, Tls(tmp_path / "cert", tmp_path / "cert", tmp_path / "key"))


# Jobs that end


@pytest.mark.slow
def test_a_job_that_dies_has_a_successor_and_one_that_somebody_cancels_has_none(variables, nothing_left):
    said = []
    with start_slurm_workers(GPU, 1, say=said.append) as pool:
        (worker,) = pool.available()
        (job,) = slurm.running_jobs(variables)
        os.kill(pool.call(worker, os.getppid, timeout_s=10), signal.SIGKILL)  # what the job's script runs
        assert wait_until(lambda: pool.available() not in ([], [worker]))
        assert said[-1] == f"job {job} ended with exit code 137; another takes its place"
        assert pool.call(pool.available()[0], work.add, 1, 2, timeout_s=10, gpu=True) == 3
        (job,) = slurm.running_jobs(variables)
        slurm.cancel(job, variables)
        assert wait_until(lambda: f"job {job} was cancelled; its place stays empty" in said)
        time.sleep(3 * module.POLL_S)
        assert slurm.running_jobs(variables) == []
    nothing_left()


@pytest.fixture
def script(tmp_path):
    """`script(2)`: a process with two jobs, of which one can run at a time."""
    path = tmp_path / "script.py"
    path.write_text(
        "import signal, sys, time\n"
        "from profiler.cluster.slurm import start_slurm_workers\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))\n"
        "with start_slurm_workers('--gres gpu:2', int(sys.argv[1])):\n"
        "    print('there', flush=True)\n"
        "    time.sleep(600)\n"
    )
    with ExitStack() as stack:

        def start(jobs, **variables):
            command = [sys.executable, path, str(jobs)]
            process = stack.enter_context(
                subprocess.Popen(command, stdout=PIPE, stderr=DEVNULL, text=True, env=os.environ | variables)
            )
            stack.callback(process.kill)
            assert process.stdout.readline() == "there\n"
            return process

        yield start


@pytest.mark.slow
def test_no_job_is_left_when_this_process_is_ended(variables, script, nothing_left):
    process = script(2)
    assert sorted(slurm.queue(variables)) == ["PENDING", "RUNNING"]
    process.terminate()
    process.wait(timeout=30)
    nothing_left()


@pytest.mark.slow
def test_workers_end_by_themselves_when_this_process_is_killed(variables, script):
    script(1, DASK_JOBQUEUE__SLURM__DEATH_TIMEOUT="6").kill()
    assert wait_until(lambda: set(slurm.queue(variables)) <= {"COMPLETING"})


# What cannot work


def refused(options):
    with pytest.raises(SlurmFailed) as caught:
        start_slurm_workers(options, 2)
    return caught.value


def test_a_refusal_of_sbatch_is_reported_in_its_own_words(nothing_left):
    error = refused("--partition nowhere")
    assert error.message == "Slurm refuses the jobs"
    assert any("invalid partition specified: nowhere" in line for line in error.details)
    assert "--slurm" in error.remedy
    nothing_left()


@pytest.mark.slow
def test_a_wrong_setup_of_slurm_is_reported_in_slurms_own_words(monkeypatch, tmp_path):
    """Then squeue knows nothing either."""
    (tmp_path / "slurm.conf").write_text("Nonsense=1\n")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    assert any("unrecognized key: Nonsense" in line for line in refused(GPU).details)


def test_an_open_quote_is_one_line():
    assert "No closing quotation" in refused("--comment 'x").message


def test_without_sbatch_it_says_where_to_go(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    assert "login node" in refused(GPU).remedy


@pytest.mark.slow
def test_jobs_that_end_at_once_show_the_end_of_their_log(monkeypatch, nothing_left):
    monkeypatch.setenv("PROF_CLUSTER_PYTHON", "/nowhere/python")
    error = refused(GPU)
    assert "ended with exit code 127" in error.message
    assert any("/nowhere/python: No such file or directory" in line for line in error.details)
    assert "PROF_CLUSTER_PYTHON" in error.remedy
    nothing_left()


@pytest.mark.slow
def test_jobs_that_only_wait_are_given_up(monkeypatch, nothing_left):
    monkeypatch.setattr(module, "WAIT_S", 2.0)
    error = refused(f"{GPU} --begin now+1hour")
    assert error.message.startswith("Slurm started no job within 2 s: 2 of 2 jobs wait")
    assert "BeginTime" in error.message
    nothing_left()


def test_an_interface_that_is_not_here_is_one_line(monkeypatch):
    monkeypatch.setenv("PROF_CLUSTER_INTERFACE", "none0")
    error = refused(GPU)
    assert "none0" in error.message
    assert "ip link" in error.remedy


# prof collect --slurm

LADDER = (
    """
title = "Scripts"
command = ["{python}", "-ISc", "pass", "{kernel}", "profile", "{size}", "{seed}"]
[workload]
size = 100
""".replace("{python}", sys.executable)
    + "".join(
        f'[[kernel]]\nnumber = {number}\nname = "rung{number}"\nidea = "an idea"\nregex = "."\n'
        for number in (1, 2)
    )
)
NVIDIA_SMI = """for n in 0 1; do case "$*" in *noheader|*--id=$n|*--id=GPU-$n*)
echo "NVIDIA H200, 9.0, 580.1, GPU-${n}2345678";; esac; done"""
NCU = Path(__file__).parents[1] / "measuring" / "fake_ncu.py"


@dataclass
class Here:
    """Somebody's folder on a login node, with tools that the node has too; `pace` slows ncu down."""

    folder: Path

    @property
    def log(self):
        return self.folder / "log"

    @property
    def gpus(self):
        """Returns the GPU of each call of ncu."""
        lines = self.log.read_text().splitlines(keepends=True)
        return [json.loads(line)["environment"]["CUDA_VISIBLE_DEVICES"] for line in lines if line[-1] == "\n"]

    def collect(self, *words, pace=0.0):
        command = ["--runs", "runs", "collect", "--ladder", "scripts", "--all", "--size", "100", "--size", "200",
                   "--launches", "2", "--processes", "1", "--repeats", "0", "--no-verify", "--slurm", GPU, *words]  # fmt: skip
        environment = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "FAKE_NCU": "four-way", "FAKE_NCU_PACE": str(pace),
            "FAKE_NCU_LOG": str(self.log),
        }  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-c", "from profiler.cli import main; main()", *command], cwd=self.folder,
            env=os.environ | environment, stdout=PIPE, stderr=PIPE, text=True,
        )  # fmt: skip

    def check_everything_is_there(self):
        """Every kernel of every size once, whole to the last byte."""
        store = RunStore(self.folder / "runs")
        runs = [store.open(run_id) for run_id in store.ids()]
        for run in runs:
            run.verify()
        found = sorted((run.manifest.kernel, run.manifest.workload["size"]) for run in runs)
        assert found == [(1, 100), (1, 200), (2, 100), (2, 200)]


@pytest.fixture
def here(tmp_path):
    (tmp_path / "kernels" / "scripts").mkdir(parents=True)
    (tmp_path / "kernels" / "scripts" / "ladder.toml").write_text(LADDER)
    (tmp_path / "log").touch()
    write_tool(tmp_path / "bin" / "nvidia-smi", NVIDIA_SMI)
    write_tool(tmp_path / "bin" / "ncu", f'exec {sys.executable} -S "{NCU}" "$@"')
    return Here(tmp_path)


@pytest.mark.slow
def test_a_ladder_is_collected_from_submission_to_committed_runs(variables, here, nothing_left):
    """One of two jobs is cancelled in the middle: what it was doing is done by the other."""
    process = here.collect("--workers", "2", pace=0.5)
    assert wait_until(lambda: set(here.gpus) == {"GPU-02345678", "GPU-12345678"})
    slurm.cancel(slurm.running_jobs(variables)[0], variables)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.count("collected") == 4
    here.check_everything_is_there()
    nothing_left()


@pytest.mark.slow
def test_ctrl_c_leaves_no_job(here, nothing_left):
    process = here.collect(pace=0.5)
    assert wait_until(lambda: here.gpus)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "the same command continues from there" in err
    nothing_left()
