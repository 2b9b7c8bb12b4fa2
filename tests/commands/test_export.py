"""prof export: what Nsight Compute wrote comes back byte for byte."""

import hashlib
from pathlib import Path

import pytest

from profiler.store.reports.identity import pack_report


def test_each_process_of_a_collected_run_gives_its_report_back(prof_recorded, recorded, tmp_path):
    done = prof_recorded("export", "6", "-o", tmp_path)

    assert done.returncode == 0
    written = [Path(line) for line in done.stdout.splitlines()]
    assert [path.name for path in written] == [f"gemm-6-{process}.ncu-rep" for process in range(3)]
    reports = recorded.find("6", "gemm").manifest.reports
    assert [hashlib.sha256(path.read_bytes()).hexdigest() for path in written] == [
        report.sha256 for report in reports
    ]


@pytest.mark.slow
def test_exported_reports_can_be_read_again(prof_here, prof_recorded, tmp_path):
    prof_recorded("export", "6", "-o", tmp_path)

    done = prof_here(
        "--runs", tmp_path, "compare", tmp_path / "gemm-6-0.ncu-rep", tmp_path / "gemm-6-1.ncu-rep"
    )

    assert done.returncode == 0, done.stderr


def test_a_single_report_has_the_name_of_its_run(prof_recorded, tmp_path):
    done = prof_recorded("export", "textbook-5", "-o", tmp_path / "new")

    assert done.stdout.splitlines() == [str(tmp_path / "new" / "textbook-5.ncu-rep")]


def test_a_file_that_is_there_stays_unless_it_is_forced_away(prof_recorded, tmp_path):
    precious = tmp_path / "textbook-5.ncu-rep"
    precious.write_text("precious")

    refused = prof_recorded("export", "textbook-5", "-o", tmp_path)
    assert (refused.returncode, precious.read_text()) == (24, "precious")
    assert "--overwrite" in refused.stderr

    forced = prof_recorded("export", "textbook-5", "-o", tmp_path, "--overwrite")
    assert forced.returncode == 0
    assert precious.stat().st_size > 100_000
    assert [path.name for path in tmp_path.iterdir()] == [precious.name]


def test_timings_alone_have_no_report(prof_recorded, tmp_path):
    assert prof_recorded("export", "gemm-6-timed", "-o", tmp_path).returncode == 25


def test_a_folder_that_cannot_be_written_is_reported(prof_recorded, tmp_path):
    (tmp_path / "file").touch()

    done = prof_recorded("export", "textbook-5", "-o", tmp_path / "file" / "below")

    assert done.returncode == 24
    assert "cannot be written" in done.stderr


def test_a_report_that_was_left_in_place_comes_out_unpacked_whatever_its_name(prof_here, reports, tmp_path):
    report, runs = tmp_path / "graph.ncu-rep", tmp_path / "runs"
    pack_report(reports / "graph.ncu-rep", report)
    assert prof_here("--runs", runs, "ingest", "--reference", report).returncode == 0

    assert prof_here("--runs", runs, "export", "graph", "-o", tmp_path / "out").returncode == 0

    assert (tmp_path / "out" / "graph.ncu-rep").read_bytes() == (reports / "graph.ncu-rep").read_bytes()
