"""A damaged report often states two things that cannot both be, and is refused; no valid report ever does."""

import random

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from profiler.errors import ReportDamaged
from profiler.store.reports.envelope import read_envelope
from profiler.store.runs.unstored import open_report
from profiler.store.tables.contradictions import find_contradictions
from profiler.store.tables.schema import TABLES
from tests.store.flips import flipped

COUNTED = r"^((thread_)?inst_executed(_true)?|sass__.*_per_opcode.*|smsp__pcsamp_.*)$"


def tables_of(run):
    return {table: run.table(table) for table in TABLES}


@pytest.fixture(scope="module")
def gemm(reports):
    return tables_of(open_report(reports / "gemm_5.ncu-rep"))


def test_no_valid_report_contradicts_itself(store):
    """Kernels, ranges and graphs; the recorded runs are read by `prof fsck`, and so by its tests."""
    for run_id in store.ids():
        assert list(find_contradictions(tables_of(store.open(run_id)), "2025.3.1")) == [], str(run_id)


# Bits that a seeded campaign found: such a report was stored, with another value.


@pytest.mark.parametrize(
    ("name", "bits", "said"),
    [
        ("gemm_5", [236532, 1694800, 2221818], "has 46,481,408 of VIADD, and the instructions add up to 46,473,216"),
        ("gemm_5", [1379406, 3116928], "has 0 of LOP3.LUT, and the instructions add up to 67,125,248"),
        ("gemm_5", [134137, 281533, 1098934, 3075682], "inst_executed is 3,056,336,896, and its instances add up to"),
        ("several", [1445917, 2810894], "thread_inst_executed is 11,151,360, and its instances add up to 11,159,552"),
        ("several", [1673315, 1876774], "stalled_not_selected is 0, and its instances add up to 8"),
    ],
)  # fmt: skip
def test_flipped_bits_that_change_a_count_are_damage(reports, tmp_path, name, bits, said):
    path = tmp_path / "flipped.ncu-rep"
    path.write_bytes(flipped((reports / f"{name}.ncu-rep").read_bytes(), bits))
    with pytest.raises(ReportDamaged) as caught:
        open_report(path)
    assert said in caught.value.message
    assert caught.value.message.startswith(f"{path}: damaged: in launch ")


@pytest.mark.slow
@pytest.mark.parametrize("changes", [40, pytest.param(450, marks=pytest.mark.campaign)])
def test_any_change_of_a_count_that_is_stated_twice_is_found(gemm, changes):
    rng = random.Random(changes)
    instances = gemm["instances"]
    counted = pc.match_substring_regex(instances.column("metric").cast("string"), COUNTED).to_pylist()
    rows = [row for row, is_counted in enumerate(counted) if is_counted]
    values = instances.column("value").to_pylist()
    for row in rng.sample(rows, changes):
        changed = list(values)
        changed[row] += rng.choice((1, -1, 4096, changed[row]))
        place = instances.schema.get_field_index("value")
        spoiled = instances.set_column(place, instances.schema.field("value"), [changed])
        found = {launch for launch, _ in find_contradictions(gemm | {"instances": spoiled}, "2025.3.1")}
        if changed[row] != values[row]:
            assert found == {instances.column("launch")[row].as_py()}


def test_a_missing_count_is_no_contradiction(gemm):
    instances = gemm["instances"]
    place = instances.schema.get_field_index("value")
    nothing = pa.nulls(instances.num_rows, pa.float64())
    unknown = instances.set_column(place, instances.schema.field("value"), nothing)
    assert list(find_contradictions(gemm | {"instances": unknown}, "2025.3.1")) == []


def test_opcodes_may_have_other_names_where_an_old_disassembler_wrote_them(gemm):
    """ncu 2020 counts I2F where today's reader prints I2FP; the totals still have to agree."""
    instructions = gemm["instructions"]
    renamed = ["OLD." + opcode for opcode in instructions.column("opcode").cast("string").to_pylist()]
    place = instructions.schema.get_field_index("opcode")
    tables = gemm | {
        "instructions": instructions.set_column(place, "opcode", pa.array(renamed).dictionary_encode())
    }
    assert list(find_contradictions(tables, "2020.2.1")) == []
    assert {launch for launch, _ in find_contradictions(tables, "2025.3.1")} == set(range(8))


# What a report says of its session, and the order of its launches


@pytest.mark.parametrize(
    ("name", "before", "after", "said"),
    [
        ("several", b"\x08\xef\x1c\x10\xbf\x04", b"\x08\xef\x1c\x10\xba\x04", "launch 570 of process 3695 comes after launch 573"),
        ("range", b"\x08\xc8\x1c\x10\xc4\x04", b"\x08\xc8\x1c\x10\xba\x04", "launch 570 of process 3656 comes after launch 571"),
        ("graph", b"\x10\xc3\x04", b"\x10\xc1\x04", "launch 577 of process 3621 comes after launch 577"),
        ("several", b"\x1a\x02\x2a\x00", b"\x1a\x02\x22\x00", "its session's details are there twice"),
        ("several", b"Nsight Compute Target", b"Nsight Compute Uarget", "it does not say its Nsight Compute Target"),
        ("several", b"CUDA Version", b"CUDA Versioo", "it does not say its CUDA Version"),
    ],
)  # fmt: skip
def test_a_report_whose_session_or_order_cannot_be_is_damaged(reports, name, before, after, said):
    data = (reports / f"{name}.ncu-rep").read_bytes()
    assert before in data
    place = data.rindex(before)
    with pytest.raises(ReportDamaged) as caught:
        read_envelope(data[:place] + after + data[place + len(before) :], "report")
    assert said in caught.value.message


def test_the_launches_of_each_process_are_in_an_order_of_their_own(reports):
    assert read_envelope((reports / "processes.ncu-rep").read_bytes(), "report").processes == 2
