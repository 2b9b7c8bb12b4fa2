"""The process that runs NVIDIA's library may read the report it was handed and write to its pipe, nothing else."""

import errno
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from living import wait_until

from profiler.errors import ReaderFailed
from profiler.store.reports.containment import CALLS, CLONE3, filter_program
from profiler.store.reports.request import Request
from profiler.store.reports.sandbox import Sandbox, outcome
from profiler.store.runs.manifest import Manifest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux alone contains the reader")

ATTEMPTS = """
import ctypes, json, mmap, os, socket, subprocess, sys, threading
from pathlib import Path
from profiler.store.reports import contained_reader

folder, port, parent = Path(sys.argv[1]), int(sys.argv[2]), os.getpid()
theirs, libc = folder / "theirs", ctypes.CDLL(None, use_errno=True)

def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "refused")

def stranger(kind, address):
    with socket.socket(kind, socket.SOCK_STREAM) as one:
        one.connect(address)

def in_a_new_process():
    if os.fork() == 0:
        os._exit(0)

ATTEMPTS = {
    "read another file": lambda: theirs.read_bytes(),
    "list a folder": lambda: os.listdir(folder),
    "read the files of another process": lambda: Path(f"/proc/{parent}/environ").read_bytes(),
    "write a new file": lambda: (folder / "new").write_bytes(b""),
    "append to a file": lambda: theirs.open("ab").close(),
    "cut a file": lambda: os.truncate(theirs, 0),
    "rename a file": lambda: os.rename(folder / "renamed", folder / "mine"),
    "link to a file": lambda: os.link(theirs, folder / "linked"),
    "make a symbolic link": lambda: os.symlink("/etc/passwd", folder / "symbolic"),
    "make a folder": lambda: os.mkdir(folder / "made"),
    "delete a file": lambda: os.unlink(folder / "deleted"),
    "change a mode": lambda: os.chmod(theirs, 0o777),
    "change a time": lambda: os.utime(theirs, (1, 1)),
    "change an attribute": lambda: os.setxattr(theirs, "user.prof", b"1"),
    "connect to a port": lambda: stranger(socket.AF_INET, ("127.0.0.1", port)),
    "connect to a socket in a folder": lambda: stranger(socket.AF_UNIX, str(folder / "socket")),
    "listen": lambda: socket.create_server(("127.0.0.1", 0)).close(),
    "run a program": lambda: subprocess.run(["/bin/true"], check=True),
    "become a program": lambda: os.execv("/bin/true", ["true"]),
    "fork": in_a_new_process,
    "signal its parent": lambda: os.kill(parent, 0),
    "change its parent's limits": lambda: call(302, parent, 7, None, ctypes.create_string_buffer(16)),
    "set up an I/O ring": lambda: call(425, 1, ctypes.create_string_buffer(120)),
    "make a namespace": lambda: call(272, 0x10000000),
}
NEEDED = {
    "read the report": lambda: memory.read_bytes() == b"the report" or 1 / 0,
    "map memory": lambda: mmap.mmap(-1, 1 << 20).close(),
    "start a thread": lambda: (one := threading.Thread(target=print)).start() or one.join(),
}

def serve(pipe, place):
    global memory
    memory, results = place, {}
    pipe.recv_bytes()
    for name, attempt in {**ATTEMPTS, **NEEDED}.items():
        if name in sys.argv[3:]:  # those left out
            continue
        try:
            attempt()
            results[name] = "done"
        except OSError as error:
            results[name] = error.errno
    pipe.send_bytes(json.dumps(results).encode())

if sys.argv[3:]:
    contained_reader.restrict = lambda readable: None
reader = contained_reader.ContainedReader(serve)
os.write(reader._memory, b"the report")
reader._pipe.send_bytes(b"begin")
print(reader._pipe.recv_bytes().decode())
"""
NAMES = re.findall(r'^    "(.*)": ', ATTEMPTS, re.MULTILINE)
NEEDED = NAMES[-3:]
BY_LANDLOCK = ("read another file", "list a folder", "read the files of another process")
NOT_EVERYWHERE = ("change an attribute", "set up an I/O ring", "make a namespace", "change its parent's limits")  # fmt: skip
FILES = ("deleted", "renamed", "socket", "theirs")


def attempt(folder, *left_out):
    """Try everything in a reader, beside files of the user and two sockets that listen; without containment if
    something is left out.
    """
    for name in FILES:
        (folder / name).write_text("secret")
    (folder / "socket").unlink()
    with socket.create_server(("127.0.0.1", 0)) as here, socket.socket(socket.AF_UNIX) as near:
        near.bind(str(folder / "socket"))
        near.listen()
        command = [sys.executable, "-c", ATTEMPTS, folder, str(here.getsockname()[1]), *left_out]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def contained(tmp_path_factory, granted):
    if not granted["calls"]:
        pytest.skip("this kernel has no seccomp")
    folder = tmp_path_factory.mktemp("contained")
    results = attempt(folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert (folder / "theirs").read_text() == "secret"
    return results


@pytest.fixture(scope="module")
def granted():
    code = (
        "from profiler.store.reports.containment import *; os.write(1, json.dumps(vars(restrict())).encode())"
    )
    command = [sys.executable, "-c", f"import json, os; {code}"]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NEEDED])
def test_the_reader_is_refused(contained, granted, name):
    if name in BY_LANDLOCK and not granted["files"]:
        pytest.skip("this kernel has no Landlock")
    assert contained[name] in (errno.EPERM, errno.EACCES)


@pytest.mark.parametrize("name", NEEDED)
def test_the_reader_may_do_what_reading_takes(contained, name):
    assert contained[name] == "done"


def test_without_containment_it_could_do_all_of_that(tmp_path):
    """Shows that the attempts above are real ones."""
    results = attempt(tmp_path, *NOT_EVERYWHERE, "become a program")

    assert set(results.values()) == {"done"}, results


HELD = """
import os, sys
from profiler.store.reports import contained_reader

def serve(pipe, memory):
    held = [f"/proc/self/fd/{number}" for number in range(256)]
    pipe.send_bytes("\\n".join(os.readlink(one) for one in held if os.path.lexists(one)).encode())

kept = open(sys.argv[1], "w")
contained_reader.restrict = lambda readable: None
print(contained_reader.ContainedReader(serve)._pipe.recv_bytes().decode())
"""


@pytest.mark.slow
def test_the_reader_holds_no_descriptors_but_its_own(tmp_path):
    """Open files of its parent, such as the pipes of the pool, would be a way out."""
    command = [sys.executable, "-c", HELD, str(tmp_path / "kept")]
    done = subprocess.run(command, stdin=subprocess.PIPE, capture_output=True, text=True, check=True)

    standard_input, _, _, memory, pipe = done.stdout.splitlines()
    assert standard_input == "/dev/null"
    assert memory.startswith("/memfd:report")
    assert pipe.startswith("socket:")


ANSWERS = {
    "garbage": b"\x80\x04not JSON",
    "of another shape": b'{"failure": 7}',
    "tables that are none": b'{"sections": []}',
}


@pytest.mark.slow
def test_an_answer_of_a_reader_that_was_taken_over_is_refused(reports):
    """It is never unpickled, a table counts only when all of it is valid, and the next report is read by another."""
    code = f"""
import sys
from pathlib import Path
from profiler.store.tables.arrow_alone import import_arrow_alone
import_arrow_alone() # as the sandbox does: pyarrow would import pandas, which a contained reader may not open
from profiler.store.reports import contained_reader
from profiler.store.reports.contained_reader import ContainedReader, decode_contained
from profiler.store.reports.identity import identify_report
from profiler.store.reports.request import Omitted

def taken_over(answer):
    def serve(pipe, memory):
        pipe.recv_bytes(), pipe.recv_bytes()
        pipe.send_bytes(answer)
        for _ in range(5):
            pipe.send_bytes(b"no table")
        pipe.recv_bytes()
    return serve

report = identify_report(Path(sys.argv[1]), Path("/nowhere"))
for answer in {list(ANSWERS.values())!r}:
    contained_reader._code_reader = ContainedReader(taken_over(answer))
    try:
        decode_contained([report], "run", Omitted.NOTHING)
    except Exception as error:
        print(type(error).__name__, error)
    print(decode_contained([report], "run", Omitted.NOTHING).tables["launches"].num_rows, "launches")
"""
    command = [sys.executable, "-c", code, str(reports / "graph.ncu-rep")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    refused = f"{ReaderFailed.__name__} {reports / 'graph.ncu-rep'}: NVIDIA's reader answered nonsense"
    lines = done.stdout.splitlines()
    assert len(lines) == 2 * len(ANSWERS)
    assert all(error.startswith(refused) for error in lines[::2])
    assert set(lines[1::2]) == {"2 launches"}


@pytest.mark.slow
def test_a_report_that_took_over_a_process_cannot_falsify_the_figures_of_later_runs(reports):
    """The process for machine code serves many runs. Here it says that there is none, and that the sections are evil."""
    code = """
import sys
from pathlib import Path
from profiler.store.tables.arrow_alone import import_arrow_alone
import_arrow_alone() # as the sandbox does: pyarrow would import pandas, which a contained reader may not open
from profiler.store.reports import contained_reader
from profiler.store.reports.contained_reader import ContainedReader, decode_contained
from profiler.store.reports.identity import identify_report
from profiler.store.reports.nvidia_reader import DecodedReport
from profiler.store.reports.request import Omitted
from profiler.store.tables.columns import TableBuilder
from profiler.store.tables.schema import TABLES

report = identify_report(Path(sys.argv[1]), Path("/nowhere"))
contained_reader._code_reader = ContainedReader()
honest = decode_contained([report], "run", Omitted.NOTHING)
honest_decoding = contained_reader.decode_reports
contained_reader.decode_reports = lambda sources, *_: list(sources) and DecodedReport(
    {name: TableBuilder(name, "run").finish() for name in TABLES}, ["evil"]
)
taken_over = ContainedReader()
contained_reader.decode_reports = honest_decoding
contained_reader._code_reader = taken_over
after = decode_contained([report], "run", Omitted.NOTHING)
print([name for name in honest.tables if not honest.tables[name].equals(after.tables[name])])
print(honest.sections == after.sections)
"""
    command = [sys.executable, "-c", code, str(reports / "gemm_6.ncu-rep")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout.splitlines() == ["['instructions']", "True"], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "status"),
    [
        ("os.abort()", -signal.SIGABRT),
        ("os.kill(os.getpid(), 9)", 1),
        ("os._exit(7)", 7),
        ("bytes(1 << 60)", 112),
    ],
)
def test_a_process_ends_as_its_reader_ended(reports, how, status):
    code = f"""
import os, sys
from pathlib import Path
from profiler.store.reports.contained_reader import ContainedReader
from profiler.store.reports.identity import identify_report
from profiler.store.reports.request import Omitted, ReportPart

report = identify_report(Path(sys.argv[1]), Path("/nowhere"))
reader = ContainedReader(lambda pipe, memory: (pipe.recv_bytes(), {how}))
reader.decode([report], "run", Omitted.NOTHING, ReportPart.ALL)
"""
    command = [sys.executable, "-c", code, str(reports / "graph.ncu-rep")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == status, done.stderr


@pytest.mark.slow
def test_readers_of_a_pool_are_contained_and_end_with_it(reports, tmp_path):
    before = set(children(os.getpid()))
    with Sandbox(workers=1) as sandbox:
        report = reports / "graph.ncu-rep"
        assert isinstance(outcome(sandbox.submit(Request((report,), tmp_path / "run")), report), Manifest)
        (reader,) = (one for new in set(children(os.getpid())) - before for one in children(new))
        status = Path(f"/proc/{reader}/status").read_text()

    assert wait_until(lambda: not Path(f"/proc/{reader}/stat").exists())
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status


def children(process):
    return [int(one) for one in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}
NAMES_OF_SIZE = {"fcntl": "__NR3264_fcntl", "fstat": "__NR3264_fstat", "lseek": "__NR3264_lseek",
                 "mmap": "__NR3264_mmap", "newfstatat": "__NR3264_fstatat"}  # fmt: skip


@pytest.mark.parametrize(("column", "machine"), list(enumerate(HEADERS)))
def test_system_calls_have_the_kernel_s_numbers(column, machine):
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    numbers = dict(re.findall(r"#define\s+(__NR\w+)\s+(\d+)", HEADERS[machine].read_text()))
    for name, ours in CALLS.items():
        generic = NAMES_OF_SIZE.get(name) if machine == "aarch64" else None
        assert numbers.get(generic or f"__NR_{name}") == (
            None if ours[column] is None else str(ours[column])
        ), name


@pytest.mark.parametrize(
    ("machine", "call", "arguments", "decision"),
    [
        ("aarch64", 63, [], "allowed"),  # read
        ("aarch64", 56, [0, 0, os.O_RDONLY], "allowed"),  # openat
        ("aarch64", 56, [0, 0, os.O_RDONLY | os.O_CREAT], errno.EPERM),
        ("aarch64", 198, [2, 1, 0], errno.EPERM),  # socket
        ("aarch64", 203, [], errno.EPERM),  # connect
        ("aarch64", 221, [], errno.EPERM),  # execve
        ("aarch64", 117, [], errno.EPERM),  # ptrace
        ("aarch64", CLONE3, [], errno.ENOSYS),
        ("aarch64", 220, [0x10000], "allowed"),  # clone of a thread
        ("aarch64", 220, [17], errno.EPERM),  # and of a process
        ("aarch64", 131, [1234], "allowed"),  # tgkill of a thread of its own
        ("aarch64", 131, [1], errno.EPERM),
        ("x86_64", 0x40000000, [], errno.EPERM),  # read, by the numbers of x32
        ("x86_64", 1000, [], errno.EPERM),  # a call that a later kernel may have
    ],
)
def test_the_filter_decides_the_same_on_every_architecture(machine, call, arguments, decision):
    architecture = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
    program = filter_program(machine, process=1234)

    assert decide(program, call, architecture[machine], arguments) == decision
    other = architecture["aarch64" if machine == "x86_64" else "x86_64"]
    assert decide(program, call, other, arguments) == errno.EPERM


def decide(program, call, architecture, arguments):
    """Run a filter as the kernel does: the few instructions of its machine that it uses."""
    data = struct.pack("=IIQ6Q", call, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    steps, position, value = list(struct.iter_unpack("=HBBI", program)), 0, 0
    while True:
        code, yes, no, operand = steps[position]
        position += 1
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, operand)
        elif code == 0x54:
            value &= operand
        elif code == 0x15:
            position += yes if value == operand else no
        else:
            return "allowed" if operand == 0x7FFF0000 else operand & 0xFFFF
