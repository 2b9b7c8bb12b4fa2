"""`prof collect` on a cluster: hosts that share no folder with the client, and with each other only what a test wants."""

import os
import re
import signal
import subprocess
import sys
from contextlib import nullcontext, suppress
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest
import work
from farm import LADDER, RUNG, Farm, check_runs, gpu_uuid, programs_of, worker_pids
from living import wait_until

from profiler.store.runs.run_store import RunStore


@pytest.fixture(scope="module")
def farm(tmp_path_factory):
    made = Farm(tmp_path_factory.mktemp("farm"))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def hosts(farm, cluster):
    """Two hosts with a GPU each, which nobody kills."""
    return {name: farm.host(name, cluster.address, (number,)) for number, name in enumerate(("h0", "h1"))}


@pytest.fixture
def collect(farm, prof_here, reader_without_code, monkeypatch, tmp_path):
    """`collect("--scheduler", address)`: the command in this process, with one reader for all tests and little patience."""
    monkeypatch.setattr(
        "profiler.measuring.fleet.assign.Sandbox", lambda workers: nullcontext(reader_without_code)
    )
    monkeypatch.setattr("profiler.measuring.fleet.assign.RETURN_S", 1.0)
    before = signal.getsignal(signal.SIGTERM)

    def run(*words, runs=tmp_path / "runs"):
        farm.log.write_text("")
        return prof_here(*farm.words(runs, *words), cwd=farm.client, env=farm.environment(farm.client))

    yield run
    signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
def test_a_cluster_s_runs_are_those_of_one_gpu_and_nothing_is_shared(farm, hosts, cluster, collect, tmp_path):
    done = collect("--scheduler", cluster.address)

    assert done.returncode == 0, done.stderr
    found = {run.manifest.run_id for run in check_runs(tmp_path / "runs")}
    assert len(farm.calls) == 8
    for call in farm.calls:
        number = next(n for n in (0, 1) if call["environment"]["CUDA_VISIBLE_DEVICES"] == gpu_uuid(n))
        host = farm.folder / f"h{number}"
        assert Path(call["folder"]).is_relative_to(host / "tmp"), "a neutral folder of the worker's own"
        assert {"./01_rung1", "./02_rung2"} & set(call["words"]), "the binary that was brought there"
    programs = Path(f"{farm.log}.programs").read_text().splitlines()
    assert {line.split()[0] for line in programs} == {"check", "time"}
    assert not [line for line in programs if str(farm.client) in line]
    assert re.search(r"^profiled    kernel 2 \(rung2\) at size=20, process 2 of 2: 2 launches, 3 passes, \S+ s, on \S+-gpu0$",
                     done.stderr, re.MULTILINE)  # fmt: skip

    farm.furnish_host("client", (0,))
    alone = collect(runs=tmp_path / "alone")
    assert alone.returncode == 0, alone.stderr
    assert {run.manifest.run_id for run in check_runs(tmp_path / "alone")} == found
    again = collect("--scheduler", cluster.address)
    assert [line.split()[0] for line in again.stdout.splitlines()[1:5]] == ["known"] * 4
    assert farm.calls == []


@pytest.fixture
def prof_on(farm, hosts, cluster, prof_here, reader_without_code, monkeypatch, tmp_path):
    """`prof_on("--kernel", 1)`: collects that on the two hosts, each once and without timings."""
    monkeypatch.setattr(
        "profiler.measuring.fleet.assign.Sandbox", lambda workers: nullcontext(reader_without_code)
    )
    monkeypatch.setattr("profiler.measuring.fleet.assign.RETURN_S", 1.0)
    before = signal.getsignal(signal.SIGTERM)

    def run(*words):
        farm.log.write_text("")
        common = ("--processes", 1, "--repeats", 0, "--scheduler", cluster.address)
        return prof_here("--runs", tmp_path / "runs", "collect", *common, *words, cwd=farm.client,
                         env=farm.environment(farm.client))  # fmt: skip

    yield run
    signal.signal(signal.SIGTERM, before)


def test_an_error_on_a_worker_names_it_and_the_client_s_paths(farm, prof_on):
    folder = farm.client / "kernels" / "compiled"
    (folder / "3.cu").write_text("#!/bin/sh\necho the loss is NaN >&2; exit 9\n")
    (folder / "wrong.toml").write_text(LADDER + RUNG.format(3))
    done = prof_on("--ladder", "kernels/compiled/wrong.toml", "--all")

    assert done.returncode == 55, done.stderr
    assert re.search(rf"^  {farm.client}/build/\S+/03_rung3 3 check 100 \d+$", done.stderr, re.MULTILINE), (
        done.stderr
    )
    assert "    the loss is NaN" in done.stderr
    assert re.search(r"^    on worker h[01]-gpu0$", done.stderr, re.MULTILINE)


def test_a_program_of_the_user_runs_where_the_worker_stands(farm, prof_on):
    done = prof_on("--name", "mine", "--", "./mine")
    assert done.returncode == 0, done.stderr
    assert Path(farm.calls[0]["folder"]) in (farm.folder / "h0", farm.folder / "h1")


@pytest.mark.slow
def test_files_that_a_ladder_names_travel_to_the_worker_and_others_must_be_there(farm, prof_on):
    folder = farm.client / "kernels" / "scripts"
    folder.mkdir()
    (folder / "rung.py").write_text("import common")
    (folder / "common.py").write_text("")
    ladder = LADDER.replace('"{binary}"', f'"{sys.executable}", "{{source}}"')
    rung = RUNG.format(1).replace("1.cu", "rung.py")
    (folder / "ladder.toml").write_text(f'{ladder}{rung}sources = ["common.py"]\n')
    done = prof_on("--ladder", "scripts", "--all", "--no-verify", "--launches", 2)
    assert done.returncode == 0, done.stderr
    (call,) = farm.calls
    assert "./scripts/rung.py" in call["words"]

    (folder / "ladder.toml").write_text(ladder + rung)
    done = prof_on("--ladder", "scripts", "--all", "--no-verify", "--launches", 2)
    assert Path(farm.calls[0]["folder"]) == folder, "this is one machine after all: the path is there"


# Who is used


def metadata_of(folder, version):
    """A prof of another version, as Python's packages tell it."""
    place = folder / f"ncu_prof-{version}.dist-info"
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: ncu-prof\nVersion: {version}\n")
    return folder


@pytest.fixture
def lend(farm, hosts, cluster):
    """A further host for as long as a test needs it."""
    started = []

    def start(name, gpu, *words, **environment):
        started.append(farm.host(name, cluster.address, (gpu,), *words, environment=environment))
        return started[-1]

    yield start
    for host in started:
        end(host)


def end(host):
    with suppress(ProcessLookupError):
        os.killpg(host.pid, signal.SIGKILL)
    host.wait()


@pytest.mark.slow
def test_a_worker_with_another_prof_is_refused(farm, lend, prof_on, tmp_path):
    lend("older", 5, PYTHONPATH=f"{metadata_of(tmp_path / 'packages', '0.0.1')}:{work.PYTHONPATH}")
    done = prof_on("--ladder", "compiled", "--all", "--launches", 2)
    assert done.returncode == 98
    assert "worker older-gpu0 has prof 0.0.1, and this is " in done.stderr
    assert "Install the same prof here and on every worker" in done.stderr
    assert farm.calls == []


@pytest.mark.slow
def test_workers_with_another_gpu_or_ncu_than_most_are_left_out_and_named(farm, lend, prof_on):
    farm.furnish_host("other-gpu", (6,), model="NVIDIA L4")
    farm.furnish_host("other-ncu", (7,), ncu_version="2024.1.0.0")
    for name, gpu in (("other-gpu", 6), ("other-ncu", 7)):
        lend(name, gpu)
    done = prof_on("--ladder", "compiled", "--all", "--size", 1, "--size", 2, "--size", 3, "--launches", 2)
    assert done.returncode == 0, done.stderr
    left_out = {"gpu": "NVIDIA L4 with ncu 2025.3.1.0", "ncu": "NVIDIA H200 with ncu 2024.1.0.0"}
    for name, facts in left_out.items():
        said = f"left out    worker other-{name}-gpu0: {facts}, not NVIDIA H200 with ncu 2025.3.1.0"
        assert said in done.stderr
    assert {call["environment"]["CUDA_VISIBLE_DEVICES"] for call in farm.calls} <= {gpu_uuid(0), gpu_uuid(1)}


def test_without_a_gpu_to_offer_it_says_what_to_start(farm, prof_here, tmp_path, own_cluster, monkeypatch):
    own_cluster.start()
    # The real wait is a minute, and no option changes it.
    monkeypatch.setattr("profiler.measuring.fleet.on_cluster.FIRST_ANSWER_S", 1.0)
    words = farm.words(tmp_path / "runs", "--scheduler", own_cluster.address)
    none = prof_here(*words, cwd=farm.client, env=farm.environment(farm.client))
    assert (none.returncode, none.stderr.splitlines()[0]) == (99, "prof: no worker came within 1 s")
    assert "prof worker ADDRESS" in none.stderr


# When something dies, hangs, or comes late


@pytest.mark.slow
def test_a_worker_that_dies_when_it_is_first_asked_is_asked_again(farm, own_cluster, collect, tmp_path):
    own_cluster.start()
    farm.host("fragile", own_cluster.address, (3,))
    tool = farm.folder / "fragile" / "bin" / "nvidia-smi"
    died = tmp_path / "died"
    tool.write_text(
        f'#!/bin/sh\ntest -e "{died}" || {{ touch "{died}"; kill -9 $PPID; }}\n{tool.read_text()}'
    )
    done = collect("--scheduler", own_cluster.address, "--no-verify", "--repeats", 0)

    assert done.returncode == 0, done.stderr
    assert died.exists()
    check_runs(tmp_path / "runs")


@pytest.fixture(autouse=True)
def quick(farm):
    """A test that wants a slow ncu says so before it starts a host."""
    yield
    farm.pace = 0.0


@pytest.mark.campaign  # the suite has one that joins an ingest late
def test_a_worker_that_joins_late_takes_its_part(farm, own_cluster, tmp_path):
    farm.pace = 0.3
    own_cluster.start()
    farm.host("early", own_cluster.address, (3,))
    farm.log.write_text("")
    client = farm.start(tmp_path / "runs", "--scheduler", own_cluster.address)
    farm.host("late", own_cluster.address, (4,))
    _, said = client.communicate(timeout=60)

    assert client.returncode == 0, said
    check_runs(tmp_path / "runs")
    assert {call["environment"]["CUDA_VISIBLE_DEVICES"] for call in farm.calls} == {gpu_uuid(3), gpu_uuid(4)}


@pytest.mark.campaign  # the suite has one that hangs in a call, and one in an ingest
def test_a_hung_worker_is_abandoned_after_the_timeout_and_its_work_goes_elsewhere(
    farm, own_cluster, collect, monkeypatch, tmp_path
):
    farm.pace = 0.3
    monkeypatch.setattr("profiler.cluster.worker_pool.GRACE_S", 1.0)
    own_cluster.start()
    first = farm.host("hangs", own_cluster.address, (3,))
    farm.host("works", own_cluster.address, (4,))
    farm.log.write_text("")  # what the hosts tried when they started

    def hang():
        assert wait_until(lambda: any(gpu_uuid(3) in str(call) for call in farm.calls))
        for pid in worker_pids(first):
            os.kill(pid, signal.SIGSTOP)

    hanging = Thread(target=hang)
    hanging.start()
    done = collect("--scheduler", own_cluster.address, "--timeout", 3)
    hanging.join()

    assert done.returncode == 0, done.stderr
    assert "lost        worker hangs-gpu0 did not answer within 3 s and gets no more work" in done.stderr
    runs = check_runs(tmp_path / "runs")
    assert {run.manifest.provenance.driver_version for run in runs} == {"580.4"}


@pytest.mark.slow
def test_without_a_scheduler_it_says_so_and_the_same_command_goes_on(farm, own_cluster, tmp_path):
    """Nothing goes on at the workers either."""
    farm.pace = 0.3
    runs = tmp_path / "runs"
    own_cluster.start()
    host = farm.host("before", own_cluster.address, (3,))
    farm.log.write_text("")
    client = farm.start(runs, "--scheduler", own_cluster.address)
    assert wait_until(lambda: len(farm.calls) >= 3)
    own_cluster.scheduler.kill()
    _, said = client.communicate(timeout=60)

    assert client.returncode == 106, said
    assert "the Dask scheduler is gone" in said
    assert "Traceback" not in said
    assert host.wait(timeout=30) == 106
    assert wait_until(lambda: not programs_of(farm.log))
    kept = len(list(runs.glob(".pending/*/process-*.ncu-rep")))
    assert kept >= 2

    own_cluster.start()
    farm.host("after", own_cluster.address, (3,))
    farm.log.write_text("")
    again = farm.start(runs, "--scheduler", own_cluster.address)
    _, said = again.communicate(timeout=60)
    assert again.returncode == 0, said
    check_runs(runs)
    assert len(farm.calls) == 8 - kept


@pytest.mark.slow
def test_two_clusters_never_run_two_ncu_on_one_gpu_at_once(farm, two_clusters, tmp_path):
    farm.pace = 0.2
    (farm.folder / "tmp").mkdir()
    clients = []
    for name, cluster in zip(("a", "b"), two_clusters, strict=True):
        farm.host(name, cluster.address, (3,), environment={"TMPDIR": str(farm.folder / "tmp")})
    farm.log.write_text("")
    for name, cluster in zip(("a", "b"), two_clusters, strict=True):
        words = ("--no-verify", "--repeats", 0, "--processes", 1, "--scheduler", cluster.address)
        clients.append(farm.start(tmp_path / f"runs-{name}", *words, sizes=(20,)))
    for client, name in zip(clients, ("a", "b"), strict=True):
        _, said = client.communicate()
        assert client.returncode == 0, said
        assert len(RunStore(tmp_path / f"runs-{name}").ids()) == 2
    began = sorted(call["began"] for call in farm.calls)
    assert len(began) == 4
    assert min(later - earlier for earlier, later in pairwise(began)) >= farm.ncu_seconds


@pytest.mark.slow
def test_however_a_client_ends_what_it_asked_for_ends_too(farm, own_cluster, tmp_path):
    farm.pace = 20.0
    own_cluster.start()
    farm.host("slow", own_cluster.address, (3,))
    for how, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)):
        farm.log.write_text("")
        client = farm.start(tmp_path / "runs", "--scheduler", own_cluster.address)
        assert wait_until(lambda: len(programs_of(farm.log)) == 2)  # ncu and its program
        client.send_signal(how)
        _, said = client.communicate(timeout=60)
        assert client.returncode == code, said
        assert wait_until(lambda: not programs_of(farm.log), 20)
        assert RunStore(tmp_path / "runs").ids() == []


# Certificates


@pytest.fixture(scope="module")
def certificates(tmp_path_factory, needs):
    """Makes certificates of one authority, as `docs/cluster.md` does; `stranger` is signed by another."""
    needs("openssl")
    folder = tmp_path_factory.mktemp("tls")
    for name in ("ca", "other"):
        openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}",
                "-keyout", f"{name}.key", "-out", f"{name}.pem")  # fmt: skip
    for name, authority in (("peer", "ca"), ("stranger", "other")):
        openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}",
                "-keyout", f"{name}.key", "-out", f"{name}.csr")  # fmt: skip
        openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey",
                f"{authority}.key", "-CAcreateserial", "-days", "2", "-out", f"{name}.pem")  # fmt: skip
    return {path.name: path for path in folder.iterdir()}


def openssl(folder, *words):
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def tls(certificates, name):
    files = {"ca": "ca.pem", "cert": f"{name}.pem", "key": f"{name}.key"}
    return [word for option, file in files.items() for word in (f"--tls-{option}", str(certificates[file]))]


@pytest.mark.slow
def test_with_certificates_all_is_encrypted_and_a_stranger_is_refused(
    farm, own_cluster, collect, certificates, monkeypatch, tmp_path
):
    files = {"ca-file": "ca.pem", "cert": "peer.pem", "key": "peer.key"}
    words = [word for option, file in files.items() for word in (f"--tls-{option}", str(certificates[file]))]
    own_cluster.start("--protocol", "tls", *words)
    assert own_cluster.address.startswith("tls://")
    farm.host("sealed", own_cluster.address, (3,), *tls(certificates, "peer"))

    done = collect("--scheduler", own_cluster.address, *tls(certificates, "peer"))
    assert done.returncode == 0, done.stderr
    assert len(check_runs(tmp_path / "runs")) == 4

    monkeypatch.setattr("profiler.cluster.connection.CONNECT_S", 2.0)  # none of these will be let in
    plain = own_cluster.address.replace("tls://", "tcp://")
    for address, given in (
        (own_cluster.address, []),
        (own_cluster.address, tls(certificates, "stranger")),
        (plain, []),
    ):
        refused = collect("--scheduler", address, *given, runs=tmp_path / "none")
        assert refused.returncode == 105, refused.stderr
        assert "Traceback" not in refused.stderr
        assert "--tls-ca" in refused.stderr
    assert farm.calls == []
