"""Collecting on several GPUs: each kernel is measured once, with the same result, also when workers are lost."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from profiler.cluster.watch import Worker
from profiler.errors import (
    CountersRefused,
    KernelGivenUp,
    NoWorkerLeft,
    ProgramFailed,
    WorkerLost,
)
from profiler.measuring.collect.device import LocalDevice, device_for_gpu
from profiler.measuring.collect.target import Target
from profiler.measuring.collect.turns import collect_here, recorded_on
from profiler.measuring.fleet import assign
from profiler.measuring.fleet.assign import FleetObserver, collect_on_fleet
from profiler.measuring.fleet.groups import TargetGroup, group_targets
from profiler.measuring.tools.gpus import Gpu
from profiler.measuring.tools.ncu import Ncu
from profiler.measuring.tools.process import end_all
from profiler.store.runs.commit import STAGING_FOLDER
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import UNFINISHED_FOLDER

GPUS = [Gpu("NVIDIA H200", "sm_90", "580.1", f"GPU-{number}2345678-abcd") for number in range(5)]


@pytest.fixture(scope="module", autouse=True)
def locks(tmp_path_factory):
    """The folder for ncu's lock files."""
    place = tmp_path_factory.mktemp("tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(place))
        yield place


def test_each_gpu_has_a_lock_folder_that_every_user_shares(locks):
    ncu = Ncu(Path("/ncu"), "2025.3.1.0")
    for _ in range(2):  # the second prof finds them there
        devices = [device_for_gpu(gpu, ncu) for gpu in GPUS[:2]]
    folders = [Path(device.environment["TMPDIR"]) for device in devices]
    assert folders == [locks / "prof-gpu-02345678", locks / "prof-gpu-12345678"]
    assert all(folder.stat().st_mode & 0o7777 == 0o1777 for folder in folders)


# Collecting


@dataclass
class FailingDevice:
    """A GPU of this host whose worker dies when it records a target for which `dies` returns true."""

    device: LocalDevice
    dies: Callable[[Target], bool] = lambda _: False

    @property
    def gpu(self):
        return self.device.gpu

    @property
    def ncu(self):
        return self.device.ncu

    verify = time = None

    def record(self, order, scratch, at):
        if self.dies(order.target):
            raise WorkerLost("worker w died or left")
        return self.device.record(order, scratch, at)


@dataclass
class HostFleet:
    """Workers in threads of this process, one for each device; a worker that died is gone."""

    devices: dict[str, FailingDevice]
    gone: set[str] = field(default_factory=set)

    def workers(self):
        names = [name for name in self.devices if name not in self.gone]
        return [Worker(name, f"tcp://{name}", "here", 1, 1, 0) for name in names]

    def device_of(self, worker):
        return self.devices[worker.name]

    def coming(self):
        return False

    def interrupt(self):
        end_all()


@dataclass
class Heard:
    notes: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)


@pytest.fixture
def spread(collecting, monkeypatch):
    """`spread(fleet, groups)`: the outcomes, with little patience; `spread.heard` holds the notes to the user."""

    def run(fleet, groups, plan=None):
        heard = run.heard = Heard()
        observer = FleetObserver(
            lambda name, gpu: collecting.observer(), heard.notes.append,
            lambda targets: heard.again.extend(target.label for target in targets), lambda name: None,
        )  # fmt: skip
        plan = plan or collecting.plan
        return list(collect_on_fleet(plan, groups, fleet, collecting.store, observer))

    monkeypatch.setattr(assign, "RETURN_S", 0.3)
    monkeypatch.setattr(assign, "ALONE_S", 1.5)
    return run


@pytest.fixture
def fleet(collecting):
    """`fleet(2, w0=dies)`: two GPUs of this host; worker w0 dies when `dies` returns true."""

    def make(gpus, **dies):
        ncu = collecting.plan.device.ncu
        devices = {f"w{number}": FailingDevice(device_for_gpu(GPUS[number], ncu)) for number in range(gpus)}
        for name, when in dies.items():
            devices[name].dies = when
        return HostFleet(devices)

    return make


def groups_of(targets, by="workloads"):
    return [TargetGroup(list(group)) for group in group_targets(targets, by)]


def where(collecting):
    """How often each size was profiled on each GPU."""
    return Counter(
        (call["environment"]["CUDA_VISIBLE_DEVICES"], call["words"][-3]) for call in collecting.calls
    )


@pytest.mark.slow
def test_the_runs_are_the_same_whatever_the_number_of_gpus(collecting, spread, fleet, tmp_path, locks):
    targets = [collecting.rung(number, size=size) for size in (100, 50) for number in (1, 2)]
    runs = {}
    for gpus in (1, 2):
        collecting.store = RunStore(tmp_path / f"runs-{gpus}")
        collecting.log.write_text("")
        outcomes = spread(fleet(gpus), groups_of(targets))
        assert [one.status for one in outcomes] == ["collected"] * 4
        runs[gpus] = {str(run_id) for run_id in collecting.store.ids()}
        places = {
            (call["environment"]["CUDA_VISIBLE_DEVICES"], call["environment"]["TMPDIR"])
            for call in collecting.calls
        }
        assert places == {
            (GPUS[number].uuid, str(locks / f"prof-gpu-{number}2345678")) for number in range(gpus)
        }
        assert sorted(where(collecting).values()) == [2, 2]
        assert {call["environment"]["CUDA_DEVICE_ORDER"] for call in collecting.calls} == {"PCI_BUS_ID"}

    assert runs[1] == runs[2]
    assert len(runs[1]) == 4


@pytest.mark.slow
def test_a_fatal_error_on_one_gpu_ends_the_other_at_once(collecting, spread, fleet):
    """Otherwise the other GPU would profile for five more seconds, three times."""
    collecting.replay("hung", "counters-refused", pace=1)
    plan = replace(collecting.plan, processes=3)
    started = time.monotonic()
    with pytest.raises(CountersRefused):
        spread(fleet(2), groups_of([collecting.rung(1), collecting.rung(2)], "kernels"), plan)

    assert time.monotonic() - started < 10
    assert len(collecting.calls) == 2
    assert collecting.store.ids() == []


@pytest.mark.slow
def test_a_host_that_cannot_measure_is_left_out_when_there_are_others(collecting, spread, fleet):
    class TwoHosts(HostFleet):
        def workers(self):
            return [replace(one, host=one.name) for one in super().workers()]

    collecting.replay("counters-refused", "four-way")
    targets = [collecting.rung(1), collecting.rung(2)]
    outcomes = spread(TwoHosts(fleet(2).devices), groups_of(targets))

    assert [one.status for one in outcomes] == ["collected"] * 2
    (note,) = spread.heard.notes
    assert note.startswith("left out    worker w")
    assert note.endswith("the driver does not let this user read counters")
    assert len(collecting.calls) == 3

    collecting.replay("counters-refused")
    with pytest.raises(CountersRefused):
        spread(TwoHosts(fleet(2).devices), groups_of(targets))


def test_a_failure_is_reported_and_the_others_go_on(collecting, spread, fleet):
    collecting.replay("program-fails", "four-way")
    outcomes = spread(fleet(1), groups_of([collecting.rung(1), collecting.rung(2)]))
    assert [one.status for one in outcomes] == ["failed", "collected"]
    assert isinstance(outcomes[0].error, ProgramFailed)


def test_nothing_to_collect_starts_nothing(collecting, spread, fleet):
    assert spread(fleet(1), []) == []
    assert list(collect_here(collecting.plan, [], collecting.store, collecting.observer())) == []
    assert not collecting.store.local.exists()


def test_on_one_gpu_alone_nothing_is_left_but_the_runs(collecting):
    (outcome,) = collect_here(collecting.plan, [collecting.rung(1)], collecting.store, collecting.observer())

    assert outcome.status == "collected"
    left = {path.name for path in collecting.store.local.iterdir()}
    assert left == {".lock", outcome.run_id}
    assert not left & {STAGING_FOLDER, UNFINISHED_FOLDER}


# Workers that are lost


def once(fleet, name, number):
    """The worker dies at this call, and stays away."""
    calls = iter(range(100))

    def dies(target):
        if next(calls) == number:
            fleet.gone.add(name)
            return True
        return False

    return dies


@dataclass
class Successors(HostFleet):
    """Has one worker at a time: when it is gone, the next one comes."""

    def workers(self):
        return super().workers()[:1]


@pytest.mark.slow
def test_what_a_commit_reports_as_lost_ends_the_collection_instead_of_waiting_for_its_outcome(
    collecting, spread, fleet, monkeypatch
):
    """Only the driver of a worker gives the kernels back that are unfinished."""

    def fail(*_):
        raise WorkerLost("lost while it was committed")

    monkeypatch.setattr(assign.Turns, "finish", fail)
    with pytest.raises(WorkerLost, match="while it was committed"):
        spread(fleet(1), groups_of([collecting.rung(1)]))


def test_the_unfinished_kernels_of_a_lost_worker_start_over_on_another_gpu(collecting, spread, fleet):
    """Kernels that are compared with each other still stay on one GPU."""
    group = [collecting.rung(1), collecting.rung(2)]
    workers = Successors(fleet(2).devices)
    workers.devices["w0"].dies = once(workers, "w0", 3)
    outcomes = spread(workers, groups_of(group), replace(collecting.plan, processes=2))

    assert [one.status for one in outcomes] == ["collected"] * 2
    assert where(collecting) == {(GPUS[0].uuid, "100"): 3, (GPUS[1].uuid, "100"): 4}
    assert spread.heard.notes == [
        "lost        worker w died or left; its unfinished kernels wait 0.3 s for its GPU to come back"
    ]
    assert sorted(spread.heard.again) == [target.label for target in group]
    assert not (collecting.store.local / UNFINISHED_FOLDER).exists()


@pytest.mark.slow
def test_when_its_gpu_comes_back_it_goes_on_there_with_what_was_kept(collecting, spread, fleet, monkeypatch):
    """As when a worker is started again; the other GPU is idle and takes nothing."""
    workers = fleet(2)
    workers.devices["w0"].dies = once(workers, "w0", 3)
    ours, idle = workers.devices["w0"], workers.devices.pop("w1")

    class Restarted(HostFleet):
        def workers(self):
            if self.gone:
                self.devices |= {"w1": idle, "w0-again": FailingDevice(ours.device)}
            return super().workers()

    monkeypatch.setattr(assign, "RETURN_S", 60.0)
    group = [collecting.rung(1), collecting.rung(2)]
    plan = replace(collecting.plan, processes=2)
    outcomes = spread(Restarted(workers.devices, workers.gone), groups_of(group), plan)

    assert [one.status for one in outcomes] == ["collected"] * 2
    assert where(collecting) == {(GPUS[0].uuid, "100"): 4}


@pytest.mark.slow
def test_a_kernel_that_ends_every_worker_is_given_up_alone(collecting, spread, fleet):
    class Restarted(HostFleet):
        """A worker that died is another when it comes back."""

        def workers(self):
            return [replace(one, address=f"{len(spread.heard.notes)}") for one in super().workers()]

    workers = Restarted(fleet(1, w0=lambda target: "works2" in target.label).devices)
    poison = collecting.rung(2)
    outcomes = spread(workers, groups_of([collecting.rung(1), poison]))

    failed, collected = sorted(outcomes, key=lambda one: one.status, reverse=True)
    assert (collected.status, failed.target.label) == ("collected", poison.label)
    assert isinstance(failed.error, KernelGivenUp)
    assert failed.error.message == f"{poison.label}: 3 workers were lost while they measured it"
    assert len(spread.heard.notes) == 3


@pytest.mark.slow
def test_a_group_that_was_begun_on_four_gpus_is_given_up(collecting, spread, fleet):
    """The workers die at one kernel and the other by turns, so neither kernel is blamed."""
    workers = Successors(fleet(5).devices)
    for number, name in enumerate(list(workers.devices)[:4]):
        workers.devices[name].dies = once(workers, name, number % 2)
    outcomes = spread(workers, groups_of([collecting.rung(1), collecting.rung(2)]))

    assert [type(one.error) for one in outcomes] == [KernelGivenUp] * 2
    assert "was begun on 4 GPUs, and each was lost" in outcomes[0].error.message
    assert collecting.store.ids() == []


@pytest.mark.slow
def test_when_all_are_gone_for_good_it_says_so_and_the_next_call_goes_on(collecting, spread, fleet):
    workers = fleet(1)
    workers.devices["w0"].dies = once(workers, "w0", 1)
    targets = [collecting.rung(1), collecting.rung(2)]
    with pytest.raises(NoWorkerLeft, match="2 kernels are not collected") as caught:
        spread(workers, groups_of(targets))

    assert caught.value.details == ("    worker w died or left",)
    plan = replace(collecting.plan, resume=True)
    assert recorded_on(collecting.plan, targets, collecting.store) is None, "it would be of no use"
    assert recorded_on(plan, targets, collecting.store) == GPUS[0].uuid
    again = [TargetGroup(targets, GPUS[0].uuid)]
    outcomes = spread(fleet(2), again, plan)
    assert [one.status for one in outcomes] == ["collected"] * 2
    assert where(collecting) == {(GPUS[0].uuid, "100"): 2}


@pytest.mark.slow
def test_without_that_gpu_what_it_kept_is_discarded(collecting, spread, fleet):
    workers = fleet(1)
    workers.devices["w0"].dies = once(workers, "w0", 1)
    targets = [collecting.rung(1), collecting.rung(2)]
    with pytest.raises(NoWorkerLeft):
        spread(workers, groups_of(targets))

    other = fleet(2)
    del other.devices["w0"]
    outcomes = spread(other, [TargetGroup(targets, GPUS[0].uuid)], replace(collecting.plan, resume=True))
    assert [one.status for one in outcomes] == ["collected"] * 2
    assert where(collecting) == {(GPUS[0].uuid, "100"): 1, (GPUS[1].uuid, "100"): 2}
