"""Files that are written aside: whole or not at all, whoever else writes them, and with nothing left behind."""

import errno
import os
import signal
import stat
import subprocess
import sys

import pytest

from profiler.errors import OutputNotWritable
from profiler.store.disk import whole_file, write_whole


@pytest.fixture
def output(tmp_path):
    return tmp_path / f"{'r' * 251}.csv"  # as long as a name can be


def test_each_of_two_writers_of_one_file_writes_the_whole_of_it(output):
    with whole_file(output) as last:
        last.write(b"a" * 100_000)
        with whole_file(output) as first:
            first.write(b"b" * 10)
        assert output.read_bytes() == b"b" * 10
    assert output.read_bytes() == b"a" * 100_000
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o007, 0o660), (0o077, 0o600)])
def test_the_umask_decides_who_may_read_a_file_that_is_written(output, umask, mode):
    before = os.umask(umask)
    try:
        write_whole(b"new", output)
    finally:
        os.umask(before)
    assert stat.S_IMODE(output.stat().st_mode) == mode


def test_after_an_error_the_old_file_is_there_and_nothing_else(output):
    output.write_bytes(b"old")
    with pytest.raises(OutputNotWritable, match="No space left"), whole_file(output):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert output.read_bytes() == b"old"
    assert list(output.parent.iterdir()) == [output]


def test_what_a_killed_writer_left_is_removed_by_the_next_and_what_a_living_one_writes_is_not(output):
    code = (
        "import sys, pathlib\nfrom profiler.store.disk import whole_file\n"
        "with whole_file(pathlib.Path(sys.argv[1])) as file:\n    print('writing', flush=True)\n    input()"
    )
    writer = [sys.executable, "-c", code, output]
    with subprocess.Popen(writer, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as killed:
        killed.stdout.readline()
        (left,) = output.parent.iterdir()
        write_whole(b"while it writes", output)
        assert left.exists()
        killed.send_signal(signal.SIGKILL)
    assert left.exists()
    write_whole(b"afterwards", output)
    assert list(output.parent.iterdir()) == [output]
