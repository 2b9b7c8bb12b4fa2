"""Several GPUs: who measures what, that nothing else depends on it, and what becomes of the work of one that is lost."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from profiler.catalog.ladders.expressions import parse_expression
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.cluster.watch import Worker
from profiler.errors import (
    CountersRefused,
    GpuNotFound,
    KernelGivenUp,
    NoWorkerLeft,
    ProgramFailed,
    WorkerLost,
)
from profiler.measure.collect.collection import CollectPlan
from profiler.measure.collect.target import Target
from profiler.measure.collect.turns import Outcome, recorded_on
from profiler.measure.devices.assign import (
    Audience,
    Patience,
    choose_gpus,
    collect_here,
    collect_spread,
    group_targets,
)
from profiler.measure.devices.bench import LocalBench, Order, Recorded, bound_bench
from profiler.measure.devices.groups import Group
from profiler.measure.rungs.program import Job
from profiler.measure.tools.ncu import Ncu, Selection
from profiler.measure.tools.process import end_all
from profiler.measure.tools.toolchain import Gpu
from profiler.store.runs.commit import STAGING_FOLDER
from profiler.store.runs.run_store import RunStore
from profiler.store.runs.unfinished import UNFINISHED_FOLDER

GPUS = [Gpu("NVIDIA H200", "sm_90", "580.1", f"GPU-{number}2345678-abcd") for number in range(5)]


@pytest.fixture(scope="module", autouse=True)
def locks(tmp_path_factory) -> Iterator[Path]:
    """Where ncu's lock files would lie."""
    place = tmp_path_factory.mktemp("tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(place))
        yield place


# Choosing


@pytest.mark.parametrize(
    ("given_", "numbers"),
    [
        ("all", [0, 1, 2, 3]),
        ("0", [0]),
        ("2,0", [2, 0]),
        (" 1 , 3 ", [1, 3]),
        ("1,1,GPU-12345678-abcd", [1]),
        ("GPU-32345678-abcd,0", [3, 0]),
    ],
)
def test_gpus_are_chosen_by_number_or_uuid(given_: str, numbers: list[int]) -> None:
    assert choose_gpus(given_, GPUS[:4]) == [GPUS[number] for number in numbers]


@pytest.mark.parametrize("given_", ["4", "0,4", "-1", "", ",", "0,", "GPU-9", "none", "ALL"])
def test_a_gpu_that_is_not_there_is_refused(given_: str) -> None:
    with pytest.raises(GpuNotFound, match="4 are visible, from 0") as caught:
        choose_gpus(given_, GPUS[:4])
    assert "all" in caught.value.remedy


# Sharing out


@pytest.fixture(scope="module")
def rungs(tmp_path_factory, make_ladder):
    """`rungs([100, 100, 50])`: one target for each of these sizes."""
    ladder = read_ladder(make_ladder(tmp_path_factory.mktemp("ladder") / "scripts", "works"))
    kernel = replace(ladder.kernel(1), flops=parse_expression("2 * size"))

    def make(sizes: list[int]) -> list[Target]:
        return [
            Target(f"{number}", Selection(), 1, Job(ladder, kernel, {"size": size}))
            for number, size in enumerate(sizes)
        ]

    return make


@settings(max_examples=50, deadline=None)
@given(sizes=st.lists(st.integers(1, 4), max_size=12), by=st.sampled_from(["workloads", "kernels"]))
def test_each_target_is_in_one_group_and_a_size_stays_together(rungs, sizes, by) -> None:
    targets = rungs(sizes)
    groups = group_targets(targets, by)

    assert Counter(target.name for group in groups for target in group) == Counter(
        target.name for target in targets
    )
    assert all(groups)
    if by == "workloads":
        assert len(groups) == len(set(sizes))
        assert all(len({target.job.values["size"] for target in group}) == 1 for group in groups)
    else:
        assert [len(group) for group in groups] == [1] * len(sizes)


def test_what_takes_longest_goes_first_so_that_the_last_to_end_is_short(rungs) -> None:
    groups = group_targets(rungs([1, 2, 2, 2, 4, 3]), "workloads")
    assert [[target.job.values["size"] for target in group] for group in groups] == [[2, 2, 2], [4], [3], [1]]


def test_each_group_begins_at_another_kernel_so_that_gpus_do_not_all_do_the_same(rungs) -> None:
    first, second = group_targets(rungs([20] * 4 + [10] * 4), "workloads")
    assert [target.name for target in first] == ["0", "1", "2", "3"]
    assert [target.name for target in second] == ["6", "7", "4", "5"]


def test_each_gpu_has_a_lock_folder_that_every_user_shares(locks: Path) -> None:
    ncu = Ncu(Path("/ncu"), "2025.3.1.0")
    for _ in range(2):  # the second prof finds them there
        benches = [bound_bench(gpu, ncu) for gpu in GPUS[:2]]
    folders = [Path(bench.environment["TMPDIR"]) for bench in benches]
    assert folders == [locks / "prof-gpu-02345678", locks / "prof-gpu-12345678"]
    assert all(folder.stat().st_mode & 0o7777 == 0o1777 for folder in folders)


# Collecting


@dataclass
class FailingBench:
    """A GPU of this host whose worker dies when it is asked for this and that: `dies` is told what it is asked for."""

    bench: LocalBench
    dies: Callable[[Target], bool] = lambda _: False

    @property
    def gpu(self) -> Gpu:
        return self.bench.gpu

    @property
    def ncu(self) -> Ncu:
        return self.bench.ncu

    verify = time = None

    def record(self, order: Order, scratch: Path, at) -> Recorded:
        if self.dies(order.target):
            raise WorkerLost("worker w died or left")
        return self.bench.record(order, scratch, at)


@dataclass
class HostFleet:
    """Workers in threads of this process, one for each bench; a worker that died is gone."""

    benches: dict[str, FailingBench]
    gone: set[str] = field(default_factory=set)

    def workers(self) -> list[Worker]:
        names = [name for name in self.benches if name not in self.gone]
        return [Worker(name, f"tcp://{name}", "here", 1, 1, 0) for name in names]

    def enlist(self, worker: Worker) -> FailingBench | None:
        return self.benches[worker.name]

    def coming(self) -> bool:
        return False

    def interrupt(self) -> None:
        end_all()


@dataclass
class Heard:
    notes: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)


@pytest.fixture
def spread(collecting):
    """`spread(fleet, groups)`: the outcomes, with little patience; `spread.heard` is what was told."""

    def run(fleet: HostFleet, groups: Sequence[Group], plan: CollectPlan | None = None) -> list[Outcome]:
        heard = run.heard = Heard()
        audience = Audience(
            lambda name, gpu: collecting.observer(), heard.notes.append,
            lambda targets: heard.again.extend(target.label for target in targets), lambda name: None,
        )  # fmt: skip
        return list(
            collect_spread(plan or collecting.plan, groups, fleet, collecting.store, audience, run.patience)
        )

    run.patience = Patience(return_s=0.3, alone_s=1.5)
    return run


@pytest.fixture
def fleet(collecting):
    """`fleet(2)`: that many GPUs of this host; by keyword, which dies of what."""

    def make(gpus: int, **dies: Callable[[Target], bool]) -> HostFleet:
        ncu = collecting.plan.ncu
        benches = {f"w{number}": FailingBench(bound_bench(GPUS[number], ncu)) for number in range(gpus)}
        for name, when in dies.items():
            benches[name].dies = when
        return HostFleet(benches)

    return make


def groups_of(targets: Sequence[Target], by="workloads") -> list[Group]:
    return [Group(list(group)) for group in group_targets(targets, by)]


def where(collecting) -> Counter[tuple[str, str]]:
    """How often each size was profiled on each GPU."""
    return Counter(
        (call["environment"]["CUDA_VISIBLE_DEVICES"], call["words"][-3]) for call in collecting.calls
    )


@pytest.fixture(autouse=True)
def one_reader(reader, monkeypatch) -> None:
    """All of them read with the process that is running already."""
    monkeypatch.setattr("profiler.measure.devices.assign.Sandbox", lambda workers: nullcontext(reader))


def test_the_runs_are_the_same_whatever_the_number_of_gpus(
    collecting, spread, fleet, tmp_path: Path, locks
) -> None:
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


def test_what_is_fatal_on_one_gpu_ends_the_other_at_once(collecting, spread, fleet) -> None:
    """The other would profile for another five seconds, and then three more times."""
    collecting.replay("hung", "counters-refused", pace=1)
    plan = replace(collecting.plan, processes=3)
    started = time.monotonic()
    with pytest.raises(CountersRefused):
        spread(fleet(2), groups_of([collecting.rung(1), collecting.rung(2)], "kernels"), plan)

    assert time.monotonic() - started < 5
    assert len(collecting.calls) == 2
    assert collecting.store.ids() == []


def test_a_host_that_cannot_measure_is_left_out_when_there_are_others(collecting, spread, fleet) -> None:
    class TwoHosts(HostFleet):
        def workers(self) -> list[Worker]:
            return [replace(one, host=one.name) for one in super().workers()]

    collecting.replay("counters-refused", "four-way")
    targets = [collecting.rung(1), collecting.rung(2)]
    outcomes = spread(TwoHosts(fleet(2).benches), groups_of(targets))

    assert [one.status for one in outcomes] == ["collected"] * 2
    (note,) = spread.heard.notes
    assert note.startswith("left out    worker w")
    assert note.endswith("the driver does not let this user read counters")
    assert len(collecting.calls) == 3

    collecting.replay("counters-refused")
    with pytest.raises(CountersRefused):
        spread(TwoHosts(fleet(2).benches), groups_of(targets))


def test_one_that_fails_is_told_and_the_others_go_on(collecting, spread, fleet) -> None:
    collecting.replay("program-fails", "four-way")
    outcomes = spread(fleet(1), groups_of([collecting.rung(1), collecting.rung(2)]))
    assert [one.status for one in outcomes] == ["failed", "collected"]
    assert isinstance(outcomes[0].error, ProgramFailed)


def test_nothing_to_collect_starts_nothing(collecting, spread, fleet) -> None:
    assert spread(fleet(1), []) == []
    assert list(collect_here(collecting.plan, [], collecting.store, collecting.observer())) == []
    assert not collecting.store.local.exists()


def test_on_one_gpu_alone_nothing_is_left_but_the_runs(collecting) -> None:
    (outcome,) = collect_here(collecting.plan, [collecting.rung(1)], collecting.store, collecting.observer())

    assert outcome.status == "collected"
    left = {path.name for path in collecting.store.local.iterdir()}
    assert left == {".lock", outcome.run_id}
    assert not left & {STAGING_FOLDER, UNFINISHED_FOLDER}


# Workers that are lost


def once(fleet: HostFleet, name: str, number: int) -> Callable[[Target], bool]:
    """The worker dies at this call, and stays away."""
    calls = iter(range(100))

    def dies(target: Target) -> bool:
        if next(calls) == number:
            fleet.gone.add(name)
            return True
        return False

    return dies


@dataclass
class Successors(HostFleet):
    """One worker at a time: when it is gone the next comes."""

    def workers(self) -> list[Worker]:
        return super().workers()[:1]


def test_what_a_lost_worker_had_begun_starts_over_on_another_gpu(collecting, spread, fleet) -> None:
    """Kernels that are compared with each other stay on one GPU, also then."""
    group = [collecting.rung(1), collecting.rung(2)]
    workers = Successors(fleet(2).benches)
    workers.benches["w0"].dies = once(workers, "w0", 3)
    outcomes = spread(workers, groups_of(group), replace(collecting.plan, processes=2))

    assert [one.status for one in outcomes] == ["collected"] * 2
    assert where(collecting) == {(GPUS[0].uuid, "100"): 3, (GPUS[1].uuid, "100"): 4}
    assert spread.heard.notes == [
        "lost        worker w died or left; what it had begun waits 0.3 s for its GPU"
    ]
    assert sorted(spread.heard.again) == [target.label for target in group]
    assert not (collecting.store.local / UNFINISHED_FOLDER).exists()


def test_when_its_gpu_comes_back_it_goes_on_there_with_what_was_kept(collecting, spread, fleet) -> None:
    """As when a worker is started again; the other GPU is idle and takes nothing."""
    workers = fleet(2)
    workers.benches["w0"].dies = once(workers, "w0", 3)
    ours, idle = workers.benches["w0"], workers.benches.pop("w1")

    class Restarted(HostFleet):
        def workers(self) -> list[Worker]:
            if self.gone:
                self.benches |= {"w1": idle, "w0-again": FailingBench(ours.bench)}
            return super().workers()

    spread.patience = Patience(return_s=60)
    group = [collecting.rung(1), collecting.rung(2)]
    plan = replace(collecting.plan, processes=2)
    outcomes = spread(Restarted(workers.benches, workers.gone), groups_of(group), plan)

    assert [one.status for one in outcomes] == ["collected"] * 2
    assert where(collecting) == {(GPUS[0].uuid, "100"): 4}


def test_a_kernel_that_ends_every_worker_is_given_up_alone(collecting, spread, fleet) -> None:
    class Restarted(HostFleet):
        """A worker that died is another when it comes back."""

        def workers(self) -> list[Worker]:
            return [replace(one, address=f"{len(spread.heard.notes)}") for one in super().workers()]

    workers = Restarted(fleet(1, w0=lambda target: "works2" in target.label).benches)
    poison = collecting.rung(2)
    outcomes = spread(workers, groups_of([collecting.rung(1), poison]))

    failed, collected = sorted(outcomes, key=lambda one: one.status, reverse=True)
    assert (collected.status, failed.target.label) == ("collected", poison.label)
    assert isinstance(failed.error, KernelGivenUp)
    assert failed.error.message == f"{poison.label}: 3 workers were lost while they measured it"
    assert len(spread.heard.notes) == 3


def test_a_group_that_was_begun_on_four_gpus_is_given_up(collecting, spread, fleet) -> None:
    """They die at one kernel and at the other by turns: neither is to blame."""
    workers = Successors(fleet(5).benches)
    for number, name in enumerate(list(workers.benches)[:4]):
        workers.benches[name].dies = once(workers, name, number % 2)
    outcomes = spread(workers, groups_of([collecting.rung(1), collecting.rung(2)]))

    assert [type(one.error) for one in outcomes] == [KernelGivenUp] * 2
    assert "was begun on 4 GPUs, and each was lost" in outcomes[0].error.message
    assert collecting.store.ids() == []


def test_when_all_are_gone_for_good_it_says_so_and_the_next_call_goes_on(collecting, spread, fleet) -> None:
    workers = fleet(1)
    workers.benches["w0"].dies = once(workers, "w0", 1)
    targets = [collecting.rung(1), collecting.rung(2)]
    with pytest.raises(NoWorkerLeft, match="2 kernels are not collected") as caught:
        spread(workers, groups_of(targets))

    assert caught.value.details == ("    worker w died or left",)
    plan = replace(collecting.plan, resume=True)
    assert recorded_on(collecting.plan, targets, collecting.store) is None, "it would be of no use"
    assert recorded_on(plan, targets, collecting.store) == GPUS[0].uuid
    again = [Group(targets, GPUS[0].uuid)]
    outcomes = spread(fleet(2), again, plan)
    assert [one.status for one in outcomes] == ["collected"] * 2
    assert where(collecting) == {(GPUS[0].uuid, "100"): 2}


def test_without_that_gpu_what_it_kept_is_discarded(collecting, spread, fleet) -> None:
    workers = fleet(1)
    workers.benches["w0"].dies = once(workers, "w0", 1)
    targets = [collecting.rung(1), collecting.rung(2)]
    with pytest.raises(NoWorkerLeft):
        spread(workers, groups_of(targets))

    other = fleet(2)
    del other.benches["w0"]
    outcomes = spread(other, [Group(targets, GPUS[0].uuid)], replace(collecting.plan, resume=True))
    assert [one.status for one in outcomes] == ["collected"] * 2
    assert where(collecting) == {(GPUS[0].uuid, "100"): 1, (GPUS[1].uuid, "100"): 2}
