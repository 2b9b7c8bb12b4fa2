"""A home directory in a report is found wherever it stands, and nothing else is taken for one."""

from pathlib import Path

import pytest

from profiler.errors import ReportError
from profiler.store.reports.identity import pack_report
from profiler.store.reports.privacy import find_home_directories


@pytest.fixture
def report(reports, tmp_path):
    """`report(b"...")`: a real report with these bytes in the middle."""

    def make(text):
        whole = (reports / "graph.ncu-rep").read_bytes()
        path = tmp_path / "made.ncu-rep"
        path.write_bytes(whole[:20_000] + text + whole[20_000:])
        return path

    return make


@pytest.mark.parametrize(
    ("text", "home"),
    [
        (b"\x0c/root/a.out\x12", "/root"),
        (b"\x05/root\x12", "/root"),
        (b"ncu -o /home/jane.doe/r ./a.out", "/home/jane.doe"),
        (b"\x12/Users/jane/src/a.cu\x1a", "/Users/jane"),
        (b'"/mnt/home/j-d/x"', "/home/j-d"),
        (rb"-o C:\Users\jane.doe\r", r"C:\Users\jane.doe"),
        (rb'"d:\\Users\\jane\\a.cu"', r"d:\\Users\\jane"),
        (b"C:/Users/jane/a.cu", "C:/Users/jane"),
    ],
)
def test_a_home_directory_is_found(report, tmp_path, text, home):
    plain = report(text)
    packed = tmp_path / "made.ncu-rep.zst"
    pack_report(plain, packed)

    assert find_home_directories(plain) == find_home_directories(packed) == [home]


@pytest.mark.parametrize(
    "text", [b"/rootfs/lib/a.so", b"/root.cu", b"/home/ /Users/\0", b"/homes/a", b"root/x"]
)
def test_a_path_that_only_looks_like_a_home_directory_is_not_reported(report, text):
    assert find_home_directories(report(text)) == []


def test_a_home_of_ones_own_may_lie_anywhere(report):
    made = report(b"/data/people/jane/src/a.cu /data/people/janet/b.cu")

    assert find_home_directories(made, own=Path("/data/people/jane")) == ["/data/people/jane"]
    assert find_home_directories(made, own=Path("/")) == []


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("offset", [-12, -5, -1, 0, 1, 4000])
def test_one_across_the_end_of_a_chunk_is_found_whole(tmp_path, offset, packed):
    path = tmp_path / "long.ncu-rep"
    path.write_bytes(b"\0" * ((1 << 22) + offset) + b"/home/somebody/a.cu" + b"\0" * 5000)
    if packed:
        pack_report(path, path.with_suffix(".zst"))
        path = path.with_suffix(".zst")

    assert find_home_directories(path) == ["/home/somebody"]


def test_a_report_that_cannot_be_read_is_an_error(reports, tmp_path):
    packed = tmp_path / "report.ncu-rep.zst"
    pack_report(reports / "graph.ncu-rep", packed)
    packed.write_bytes(packed.read_bytes()[:-50])

    for path in (packed, tmp_path / "nothing.ncu-rep.zst"):
        with pytest.raises(ReportError, match=path.name):
            find_home_directories(path)
