"""Building: nvcc's command, rebuilding only what changed, and binaries that are never half written."""

import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.errors import BuildFailed, DiskFull, LadderInvalid, LibraryMissing, ProgramTimedOut
from profiler.measuring.rungs.build import build_command, build_folder, build_kernels, read_record
from profiler.measuring.tools.ptxas import parse_resources
from profiler.measuring.tools.toolchain import Library, Toolchain, find_toolchain
from profiler.store.disk import sha256_of

LADDER = """
title = "Two kernels"
command = ["{binary}", "{n}"]
flags = ["-O3"]
uses = ["cublas"]
[workload]
n = 16
[[kernel]]
number = 1
name = "one"
idea = "first"
regex = "one"
source = "01_one.cu"
[[kernel]]
number = 2
name = "two"
idea = "second"
regex = "two"
source = "02_two.cu"
flags = ["-DTWO"]
targets = { sm_90 = "sm_90a" }
[[kernel]]
number = 3
name = "library"
idea = "theirs"
regex = "gemm"
source = "03_library.cu"
needs = ["cublas"]
"""

# Stands in for nvcc where no compiler is needed to be honest: it copies the source and says what it read.
NVCC = """
for word in "$@"; do
    case "$word" in
        --version) echo "Cuda compilation tools, release 13.0, V${FAKE_VERSION:-13.0.88}"; exit 0;;
        --dryrun) echo "#\\$ TOP=$FAKE_ROOT/bin/.." >&2; exit 0;;
    esac
done
while [ $# -gt 0 ]; do
    case "$1" in
        -o) output="$2"; shift;;
        -MF) rule="$2"; shift;;
        *.cu) source="$1";;
    esac
    shift
done
echo "$source" >> "$FAKE_ROOT/calls"
grep -q environment "$source" && echo "flags: [$NVCC_APPEND_FLAGS]" >&2
grep -q broken "$source" && { echo "$source(1): error: this is broken" >&2; exit 2; }
grep -q edited "$source" && echo "// more" >> "$(dirname "$source")/shared.cuh"
grep -q slow "$source" && sleep 600
cp "$source" "$output"
grep -q unlike "$source" && echo "// built by $$" >> "$output"
printf '%s : %s \\\\\\n    %s \\\\\\n    %s\\n' "$output" "$source" "$(dirname "$source")/shared.cuh" "$FAKE_ROOT/include/cuda_runtime.h" > "$rule"
echo "ptxas info    : Compiling entry function '_Z3onev' for 'sm_90'" >&2
echo "    0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads" >&2
echo "ptxas info    : Used 40 registers, used 1 barriers, 4352 bytes smem" >&2
"""


@pytest.fixture
def ladder(tmp_path):
    folder = tmp_path / "kernels" / "two"
    folder.mkdir(parents=True)
    for name in ("01_one.cu", "02_two.cu", "03_library.cu", "shared.cuh"):
        (folder / name).write_text(f"// {name}\n")
    for file in folder.iterdir():
        os.utime(file, (1, 1))
    (folder / "ladder.toml").write_text(LADDER)
    return read_ladder(folder / "ladder.toml")


@pytest.fixture
def toolchain(script, tmp_path, monkeypatch):
    root = tmp_path / "cuda"
    (root / "lib64").mkdir(parents=True)
    (root / "include").mkdir()
    folder = script("nvcc", NVCC)
    monkeypatch.setenv("FAKE_ROOT", str(root))
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr("profiler.measuring.tools.toolchain.find_cublas", lambda root, major: None)
    return find_toolchain()


def build(ladder, toolchain, numbers=None):
    kernels = ladder.choose(numbers)
    return {built.kernel.number: built for built in build_kernels(ladder, kernels, "sm_90", toolchain)}


def calls(toolchain):
    path = toolchain.root / "calls"
    return sorted(Path(line).name for line in path.read_text().splitlines()) if path.exists() else []


def test_the_command(ladder):
    toolchain = Toolchain(Path("/c/bin/nvcc"), "13.0.88", Path("/c"))
    assert build_command(ladder.kernel(2), "sm_90", toolchain, Path("/b/02_two")) == [
        "/c/bin/nvcc", "-Xptxas=-v", "-lineinfo", "-gencode=arch=compute_90a,code=sm_90a", "-O3", "-DTWO",
        "-DPROF_NO_CUBLAS", "-MMD", "-MF", "/b/02_two.d", str(ladder.folder / "02_two.cu"), "-o", "/b/02_two",
    ]  # fmt: skip


def test_the_command_with_cublas_and_a_runtime_elsewhere(ladder):
    cublas = Library(Path("/p/cu13/include"), Path("/p/cu13/lib/libcublas.so.13"))
    toolchain = Toolchain(Path("/p/cu13/bin/nvcc"), "13.0.88", Path("/p/cu13"), Path("/p/cu13/lib"), cublas)
    command = build_command(ladder.kernel(1), "sm_80", toolchain, Path("/b/01_one"))
    assert command[3:12] == [
        "-gencode=arch=compute_80,code=sm_80", "-O3", "-L/p/cu13/lib", "-I/p/cu13/include",
        "-L/p/cu13/lib", "-l:libcublas.so.13", "-l:libcublasLt.so.13", "-Xlinker=-rpath=/p/cu13/lib", "-Xlinker=-rpath-link=/p/cu13/lib",
    ]  # fmt: skip
    assert "-DPROF_NO_CUBLAS" not in command


def test_fast_math_is_never_ours(ladder, toolchain):
    command = build_command(ladder.kernel(1), "sm_90", toolchain, Path("/b/1"))
    assert not any(word.startswith("-") and "fast" in word for word in command)
    (built,) = build(ladder, toolchain, [1]).values()
    assert not built.record.fast_math


@pytest.mark.parametrize(
    ("flags", "fast"),
    [
        ('"-use_fast_math"', True),
        ('"--use_fast_math"', True),
        ('"--use_fast_math=true"', True),
        ('"-ftz=true"', True),
        ('"--ftz=true"', True),
        ('"-ftz", "true"', True),
        ('"-prec-div=false"', True),
        ('"--prec-sqrt=false"', True),
        ('"-prec-div=true", "-ftz=false"', False),
        ('"-DNAME=-ftz=true"', False),
    ],
)
def test_fast_math_is_never_silent_by_any_of_its_names(ladder, toolchain, flags, fast):
    ladder.path.write_text(LADDER.replace('"-O3"', f'"-O3", {flags}'))
    (built,) = build(read_ladder(ladder.path), toolchain, [1]).values()
    assert built.record.fast_math == fast


def test_without_the_systems_count_of_cores(ladder, toolchain, monkeypatch):
    monkeypatch.delenv("PYTHON_CPU_COUNT")
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS
    assert build(ladder, toolchain, [1])[1].status == "built"


def test_a_compiler_without_end_is_not_given_longer_by_an_option_build_lacks(ladder, toolchain, monkeypatch):
    # The real limit is ten minutes, and no option changes it.
    monkeypatch.setattr("profiler.measuring.rungs.build.COMPILE_TIMEOUT_S", 1.0)
    (ladder.folder / "01_one.cu").write_text("slow\n")
    error = build(ladder, toolchain, [1])[1].error
    assert isinstance(error, ProgramTimedOut)
    assert "--timeout" not in error.remedy


def test_only_what_changed_is_built(ladder, toolchain):
    def statuses():
        return {number: built.status for number, built in build(ladder, toolchain, [1, 2]).items()}

    assert statuses() == {1: "built", 2: "built"}
    assert statuses() == {1: "unchanged", 2: "unchanged"}
    source = ladder.folder / "01_one.cu"
    os.utime(source, (2, 2))
    assert statuses() == {1: "unchanged", 2: "unchanged"}, "a time stamp is no change"
    source.write_text("// changed\n")
    os.utime(source, (1, 1))
    assert statuses() == {1: "built", 2: "unchanged"}
    (ladder.folder / "shared.cuh").write_text("// changed\n")
    os.utime(ladder.folder / "shared.cuh", (1, 1))
    assert statuses() == {1: "built", 2: "built"}, "both include it"
    assert calls(toolchain) == ["01_one.cu"] * 3 + ["02_two.cu"] * 2


def test_flags_from_the_environment_do_not_count(ladder, toolchain, monkeypatch):
    monkeypatch.setenv("NVCC_APPEND_FLAGS", "--use_fast_math")
    (ladder.folder / "01_one.cu").write_text("broken by environment\n")
    error = build(ladder, toolchain, [1])[1].error
    assert error is not None
    assert "flags: []" in str(error)


def test_another_compiler_or_other_flags_build_again(ladder, toolchain, monkeypatch):
    build(ladder, toolchain, [1])
    monkeypatch.setenv("FAKE_VERSION", "13.1.80")
    assert build(ladder, find_toolchain(), [1])[1].status == "built"
    ladder.path.write_text(LADDER.replace("-O3", "-O2"))
    assert build(read_ladder(ladder.path), find_toolchain(), [1])[1].status == "built"


@pytest.mark.parametrize("harm", ["binary", "record", "no binary", "no record", "a source gone"])
def test_a_binary_that_is_not_the_one_recorded_is_built_again(ladder, toolchain, harm):
    binary = build(ladder, toolchain, [1])[1].binary
    record = binary.with_name(f"{binary.name}.json")
    {
        "binary": lambda: binary.write_text("other"),
        "record": lambda: record.write_text(record.read_text()[:-40]),
        "no binary": binary.unlink,
        "no record": record.unlink,
        "a source gone": lambda: record.write_text(record.read_text().replace("shared.cuh", "gone.cuh")),
    }[harm]()
    assert build(ladder, toolchain, [1])[1].status == "built"


def test_the_record_beside_the_binary(ladder, toolchain):
    built = build(ladder, toolchain, [1])[1]
    assert built.binary == build_folder(ladder, "sm_90") / "01_one"
    assert built.binary.parent == ladder.folder.parents[1] / "build" / "two" / "sm_90"
    record = read_record(built.binary)
    assert record is not None
    assert record == built.record
    assert record.nvcc_version == "13.0.88"
    assert record.without == ["cublas"]
    assert record.binary_sha256 == sha256_of(built.binary)
    names = {Path(path).name: sha for path, sha in record.sources.items()}
    assert names == {name: sha256_of(ladder.folder / name) for name in ("01_one.cu", "shared.cuh")}
    (resources,) = record.resources
    assert (resources.registers, resources.spill_store_bytes, resources.spill_load_bytes) == (40, 8, 12)
    assert resources.shared_bytes == 4352
    assert resources.spills


def test_one_that_does_not_compile_stops_no_other(ladder, toolchain):
    good = build(ladder, toolchain, [1])[1]
    (ladder.folder / "01_one.cu").write_text("broken\n")
    done = build(ladder, toolchain, [1, 2])
    assert {number: built.status for number, built in done.items()} == {1: "failed", 2: "built"}
    error = done[1].error
    assert isinstance(error, BuildFailed)
    assert error.message == "kernel 1 (one) does not compile (exit code 2)"
    assert "01_one.cu(1): error: this is broken" in error.details[-1]
    assert "-lineinfo" in error.details[0]
    assert sorted(path.name for path in good.binary.parent.glob("[!.]*")) == [
        "01_one",
        "02_two",
        "02_two.json",
    ]
    (ladder.folder / "01_one.cu").write_text("// mended\n")
    os.utime(ladder.folder / "01_one.cu", (1, 1))
    assert build(ladder, toolchain, [1])[1].status == "built"


def test_a_missing_library_makes_its_rung_unavailable(ladder, toolchain):
    built = build(ladder, toolchain, [3])[3]
    assert built.status == "unavailable"
    assert isinstance(built.error, LibraryMissing)
    assert "needs cuBLAS" in str(built.error)


def test_a_missing_source_is_reported(ladder, toolchain):
    (ladder.folder / "01_one.cu").unlink()
    built = build(ladder, toolchain, [1])[1]
    assert built.status == "failed"
    assert isinstance(built.error, LadderInvalid)
    assert "01_one.cu does not exist" in str(built.error)


def test_a_source_that_changes_while_it_is_compiled(ladder, toolchain):
    (ladder.folder / "01_one.cu").write_text("edited meanwhile\n")
    os.utime(ladder.folder / "01_one.cu", (1, 1))
    built = build(ladder, toolchain, [1])[1]
    assert "changed while it was compiled" in str(built.error)
    assert not built.binary.exists()


BUILD_ALL = """
import sys
from pathlib import Path
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.measuring.rungs.build import build_kernels
from profiler.measuring.tools.toolchain import find_toolchain
ladder = read_ladder(Path(sys.argv[1]))
for one in build_kernels(ladder, ladder.choose([1, 2]), "sm_90", find_toolchain()):
    print(one.binary.name, one.record.binary_sha256 if one.record else one.error)
"""


@pytest.mark.slow
def test_several_may_build_the_same_at_once(ladder, toolchain):
    """No two outputs of nvcc are alike, and a run names its binary by its hash."""
    for source in ladder.folder.glob("0[12]_*.cu"):
        source.write_text(f"{source.read_text()}// unlike any other\n")
    words = [sys.executable, "-c", BUILD_ALL, str(ladder.path)]
    for _ in range(3):
        for record in build_folder(ladder, "sm_90").glob("*.json"):
            record.unlink()
        started = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(5)]
        told = {line for one in started for line in one.communicate(timeout=60)[0].splitlines()}
        binaries = [build_folder(ladder, "sm_90") / name for name in ("01_one", "02_two")]
        assert told == {f"{binary.name} {sha256_of(binary)}" for binary in binaries}
        assert [read_record(binary).binary_sha256 for binary in binaries] == list(map(sha256_of, binaries))
    left = {path.name for path in binaries[0].parent.glob(".*")}
    assert left == {".01_one.lock", ".02_two.lock"}, "nothing unfinished"


def test_an_interrupt_ends_the_compilers(ladder, toolchain):
    (ladder.folder / "02_two.cu").write_text("slow\n")
    started = time.monotonic()
    building = build_kernels(ladder, ladder.choose([1, 2]), "sm_90", toolchain, jobs=2)
    assert next(building).kernel.number == 1
    with pytest.raises(KeyboardInterrupt):
        building.throw(KeyboardInterrupt)
    assert time.monotonic() - started < 60
    assert not (build_folder(ladder, "sm_90") / "02_two").exists()


def test_a_folder_that_cannot_be_made(ladder, toolchain):
    (ladder.folder.parents[1] / "build").write_text("in the way")
    with pytest.raises(BuildFailed, match="cannot be created"):
        build(ladder, toolchain, [1])


@pytest.mark.parametrize(
    ("code", "said"),
    [(errno.ENOSPC, ": the disk is full"), (errno.EDQUOT, ": your quota of the disk is used up")],
)
def test_a_full_disk_is_no_failure_of_the_compiler(ladder, toolchain, monkeypatch, code, said):
    def refuse(_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("profiler.measuring.rungs.build.locked", refuse)
    built = build(ladder, toolchain, [1])[1]
    assert isinstance(built.error, DiskFull)
    assert built.error.message.endswith(said)


def test_a_folder_may_have_colons_in_its_name(ladder, toolchain):
    moved = elsewhere(ladder, "a:b:c")
    assert [build(moved, toolchain, [1])[1].status for _ in range(2)] == ["built", "unchanged"]


def elsewhere(ladder, name):
    """The same ladder in a project of that name."""
    kernels = ladder.folder.parent.with_name(name) / "kernels"
    shutil.copytree(ladder.folder.parent, kernels)
    return read_ladder(kernels / ladder.name / "ladder.toml")


@pytest.mark.needs("g++", "nvcc")
def test_the_real_compiler_builds_a_program(ladder):
    toolchain = find_toolchain()
    ladder = elsewhere(ladder, "a:b c: d")
    source = ladder.folder / "01_one.cu"
    (ladder.folder / "shared.cuh").write_text("#include <cuda_runtime.h>\n")
    source.write_text(
        '#include "shared.cuh"\n'
        "__global__ void one(float* x) { x[threadIdx.x] = 1.0f; }\n"
        "int main() { int n = 0; cudaGetDeviceCount(&n); return n ? 0 : 5; }\n"
    )
    for file in (source, ladder.folder / "shared.cuh"):
        os.utime(file, (1, 1))
    built = build(ladder, toolchain, [1])[1]
    assert built.error is None, built.error
    assert {Path(path).name for path in built.record.sources} == {"01_one.cu", "shared.cuh"}
    assert [one.function for one in built.record.resources] == ["_Z3onePf"]
    assert built.binary.stat().st_mode & 0o100
    assert build(ladder, toolchain, [1])[1].status == "unchanged"


def test_resources_are_parsed_from_the_messages_of_ptxas():
    messages = """
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1av' for 'sm_90a'
ptxas info    : Function properties for _Z1av
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 2 barriers, 16384+16 bytes smem, 392 bytes cmem[0]
ptxas info    : Compiling entry function '_Z1bv' for 'sm_100'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers
"""
    first, second = parse_resources(messages)
    assert msgspec.structs.astuple(first) == ("_Z1av", "sm_90a", 255, 16384, 16, 4, 8)
    assert msgspec.structs.astuple(second) == ("_Z1bv", "sm_100", 14, 0, 0, 0, 0)
    assert first.spills
    assert not second.spills
    assert parse_resources("nothing of the kind") == []
