"""`prof check --sass` compares the machine code of files, reports and runs, without a GPU."""

import json
import shutil
import subprocess

import pytest

PTX = """
.version 8.0
.target sm_80
.address_size 64
{functions}
"""
FUNCTION = """
.visible .entry {name}(.param .u64 out)
{{
    .reg .b32 %r<4>; .reg .b64 %d<3>;
    ld.param.u64 %d1, [out];
    mov.u32 %r1, %tid.x;
    mul.lo.u32 %r2, %r1, {factor};
    mul.wide.u32 %d2, %r1, 4;
    add.u64 %d2, %d1, %d2;
    st.global.u32 [%d2], %r2;
    ret;
}}
"""

pytestmark = pytest.mark.needs("ptxas", "cuobjdump")


@pytest.fixture
def cubin(tmp_path, needs):
    """`cubin("a", first=3, second=5)`: a cubin with functions that multiply by these factors."""

    def make(file, **factors):
        text = "".join(FUNCTION.format(name=name, factor=factor) for name, factor in factors.items())
        (tmp_path / f"{file}.ptx").write_text(PTX.format(functions=text))
        path = tmp_path / f"{file}.cubin"
        subprocess.run([needs("ptxas"), "-arch=sm_90", tmp_path / f"{file}.ptx", "-o", path], check=True)
        return path

    return make


@pytest.fixture
def check(prof_here):
    def run(*words, cwd=None):
        return prof_here("check", "--sass", *words, cwd=cwd)

    return run


@pytest.mark.slow
def test_the_same_code_passes_whatever_the_order_of_its_functions(check, cubin):
    one, other = cubin("one", first=3, second=5), cubin("other", second=5, first=3)
    done = check("--baseline", one, other)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("✅ the machine code is the same in 2 functions\n"), (
        "the answer stands first"
    )


def test_a_file_that_is_called_like_an_option_is_a_file(check, cubin, tmp_path):
    one = cubin("one", first=3)
    folder = tmp_path / "cache"
    folder.mkdir()
    one.rename(folder / "--options-file=x.cubin")
    done = check("--baseline", ".", ".", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_a_changed_constant_fails_and_says_where(check, cubin):
    done = check("--baseline", cubin("one", first=3), cubin("other", first=7), "--format", "json")
    assert done.returncode == 1
    (found,) = json.loads(done.stdout)["functions"]
    assert (found["function"], found["state"]) == ("first", "changed")
    assert "0x3" in found["before"]
    assert "0x7" in found["after"]


def test_a_folder_of_cubins_is_read_as_tritons_cache_lies(check, cubin, tmp_path):
    one, other = cubin("one", first=3), cubin("other", second=5)
    for place, file in (("hash1", one), ("hash2", other)):
        (tmp_path / "cache" / place).mkdir(parents=True)
        shutil.copy(file, tmp_path / "cache" / place / "kernel.cubin")
    done = check("--baseline", tmp_path / "cache", cubin("both", first=3, second=5))
    assert (done.returncode, "same in 2 functions" in done.stdout) == (0, True), done.stdout + done.stderr


def test_reports_are_compared_too(check, reports):
    report = reports / "gemm_6.ncu-rep"
    assert check("--baseline", report, report).returncode == 0
    assert "is gone" in check("--baseline", reports / "gemm_5.ncu-rep", report).stdout


def test_a_cache_may_hold_a_function_in_several_configurations(check, cubin, tmp_path):
    for cache, factors in (("before", (3, 5)), ("same", (5, 3)), ("changed", (3, 7))):
        for factor in factors:
            folder = tmp_path / cache / f"hash-{cache}-{factor}"
            folder.mkdir(parents=True)
            shutil.copy(cubin("one", first=factor), folder / "first.cubin")
    assert "same in 2 functions" in check("--baseline", tmp_path / "before", tmp_path / "same").stdout
    done = check("--baseline", tmp_path / "before", tmp_path / "changed")
    assert (done.returncode, "differs in 1 of 2 functions: first (2 of 2)" in done.stdout) == (1, True), (
        done.stdout
    )


def test_a_file_without_machine_code_is_refused(check, tmp_path):
    (tmp_path / "empty.cubin").write_bytes(b"nothing")
    done = check("--baseline", tmp_path / "empty.cubin", tmp_path / "empty.cubin")
    assert done.returncode == 93
    assert "cuobjdump reads no machine code from it" in done.stderr


def test_a_candidate_is_needed(check):
    assert check("--baseline", "6").returncode == 2


def test_the_instructions_of_long_functions_are_counted_in_thousands_apart(prof_recorded):
    done = prof_recorded("check", "--sass", "--baseline", "5", "6")
    assert done.returncode == 1
    assert "1,407 → 0" in done.stdout
    assert "0 → 1,251" in done.stdout
