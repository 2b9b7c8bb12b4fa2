"""Several GPUs of one host: who measures what, and that nothing else depends on it."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiler.catalog.ladder_file import read_ladder
from profiler.errors import CountersRefused, GpuNotFound
from profiler.measure.ncu import Selection
from profiler.measure.program import Job
from profiler.measure.spread import Share, choose_gpus, collect_shares, share_out
from profiler.measure.target import Target
from profiler.measure.toolchain import Gpu
from profiler.store.pending import PENDING_FOLDER
from profiler.store.runs import RunStore
from profiler.store.staging import STAGING_FOLDER

GPUS = [Gpu("NVIDIA H200", "sm_90", "580.1", f"GPU-{number}2345678-abcd") for number in range(4)]


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
    assert choose_gpus(given_, GPUS) == [GPUS[number] for number in numbers]


@pytest.mark.parametrize("given_", ["4", "0,4", "-1", "", ",", "0,", "GPU-9", "none", "ALL"])
def test_a_gpu_that_is_not_there_is_refused(given_: str) -> None:
    with pytest.raises(GpuNotFound, match="4 are visible, from 0") as caught:
        choose_gpus(given_, GPUS)
    assert "all" in caught.value.remedy


# Sharing out


@pytest.fixture(scope="module")
def rungs(tmp_path_factory, make_ladder):
    """`rungs([100, 100, 50])`: one target for each of these sizes."""
    ladder = read_ladder(make_ladder(tmp_path_factory.mktemp("ladder") / "scripts", "works"))

    def make(sizes: list[int]) -> list[Target]:
        return [
            Target(f"{number}", Selection(), 1, Job(ladder, ladder.kernel(1), {"size": size}))
            for number, size in enumerate(sizes)
        ]

    return make


@settings(max_examples=50, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 4), max_size=12),
    gpus=st.integers(1, 4),
    by=st.sampled_from(["workloads", "kernels"]),
)
def test_each_target_goes_to_one_gpu_and_a_size_stays_together(rungs, sizes, gpus: int, by) -> None:
    targets = rungs(sizes)
    shares = share_out(targets, GPUS[:gpus], by)

    names = Counter(target.name for share in shares for target in share.targets)
    assert names == Counter(target.name for target in targets)
    assert all(share.targets for share in shares)
    for share in shares:
        for target in share.targets:
            assert target.environment["CUDA_VISIBLE_DEVICES"] == share.gpu.uuid
            assert target.job is not None
            assert target.job.environment == target.environment
    if by == "workloads":
        of_size: dict[int, set[str]] = {}
        for share in shares:
            for target in share.targets:
                of_size.setdefault(target.job.values["size"], set()).add(share.gpu.uuid)
        assert all(len(uuids) == 1 for uuids in of_size.values())
        assert len(shares) == min(gpus, len(set(sizes)))
    else:
        loads = [len(share.targets) for share in shares]
        assert max(loads, default=0) - min(loads, default=0) <= 1


def test_the_largest_size_goes_first_so_that_the_loads_are_even(rungs) -> None:
    shares = share_out(rungs([1, 2, 2, 2, 3]), GPUS[:2], "workloads")
    assert [[target.job.values["size"] for target in share.targets] for share in shares] == [
        [2, 2, 2],
        [1, 3],
    ]


def test_each_gpu_has_a_lock_folder_that_every_user_shares(rungs, locks: Path) -> None:
    for _ in range(2):  # the second prof finds them there
        shares = share_out(rungs([1, 2]), GPUS[:2], "kernels")
    folders = [Path(share.targets[0].environment["TMPDIR"]) for share in shares]
    assert folders == [locks / "prof-gpu-02345678", locks / "prof-gpu-12345678"]
    assert all(folder.stat().st_mode & 0o7777 == 0o1777 for folder in folders)


# Collecting


@pytest.fixture(autouse=True)
def one_reader(reader, monkeypatch) -> None:
    """All of them read with the process that is running already."""
    monkeypatch.setattr("profiler.measure.spread.Sandbox", lambda workers: nullcontext(reader))


def test_the_runs_are_the_same_whatever_the_number_of_gpus(collecting, tmp_path: Path, locks: Path) -> None:
    targets = [collecting.rung(number, size=size) for size in (100, 50) for number in (1, 2)]
    runs = {}
    for gpus in (1, 2):
        store = RunStore(tmp_path / f"runs-{gpus}")
        collecting.log.write_text("")
        outcomes = list(
            collect_shares(
                collecting.plan, share_out(targets, GPUS[:gpus], "workloads"), store, collecting.observer()
            )
        )
        assert [one.status for one in outcomes] == ["collected"] * 4
        runs[gpus] = {str(run_id) for run_id in store.ids()}
        where = Counter(
            (call["environment"]["CUDA_VISIBLE_DEVICES"], call["environment"]["TMPDIR"], call["words"][-3])
            for call in collecting.calls
        )
        assert where == {
            (GPUS[index % gpus].uuid, str(locks / f"prof-gpu-{index % gpus}2345678"), size): 2
            for index, size in enumerate(("100", "50"))
        }
        assert {call["environment"]["CUDA_DEVICE_ORDER"] for call in collecting.calls} == {"PCI_BUS_ID"}

    assert runs[1] == runs[2]
    assert len(runs[1]) == 4


def test_what_is_fatal_on_one_gpu_ends_the_other_at_once(collecting) -> None:
    """The other would profile for another five seconds, and then three more times."""
    collecting.replay("hung", "counters-refused", pace=1)
    plan = replace(collecting.plan, processes=3)
    shares = share_out([collecting.rung(1), collecting.rung(2)], GPUS[:2], "kernels")
    started = time.monotonic()
    with pytest.raises(CountersRefused):
        list(collect_shares(plan, shares, collecting.store, collecting.observer()))

    assert time.monotonic() - started < 5
    assert len(collecting.calls) == 2
    assert collecting.store.ids() == []


def test_nothing_to_collect_starts_nothing(collecting) -> None:
    assert list(collect_shares(collecting.plan, [], collecting.store, collecting.observer())) == []
    assert not collecting.store.root.exists()


def test_one_share_alone_leaves_nothing_but_its_runs(collecting) -> None:
    shares = [Share(GPUS[0], (collecting.rung(1),))]
    (outcome,) = collect_shares(collecting.plan, shares, collecting.store, collecting.observer())

    assert outcome.status == "collected"
    left = {path.name for path in collecting.store.root.iterdir()}
    assert left == {".lock", outcome.run_id}
    assert not left & {STAGING_FOLDER, PENDING_FOLDER}
