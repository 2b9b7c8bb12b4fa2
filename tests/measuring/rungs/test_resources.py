"""The compiler's figures for a rung's kernels, found by the names that ncu shows and not by mangled names."""

import time
from pathlib import Path

import pytest

from profiler.catalog.ladders.ladder import Kernel
from profiler.measuring.rungs.build import BuildRecord, Built
from profiler.measuring.rungs.resources import misfit_text, own_resources
from profiler.measuring.tools.ptxas import Resources

# Two overloads; the number between `_Z` and the name is the name's length.
PLAIN, TEMPLATE = "_Z8saxpy_v2PfS_i", "_Z8saxpy_v2ILi4EEvPfS_i"


@pytest.fixture
def toolkit(script, monkeypatch):
    """`toolkit(body)`: a toolkit whose `cu++filt` is this script; without a body, a toolkit without `cu++filt`."""

    def install(body=""):
        # A real toolkit of this machine would be found in a fixed folder.
        places = [script("cu++filt", body) / "cu++filt"] if body else []
        monkeypatch.setattr("profiler.measuring.rungs.resources.toolkit_candidates", lambda *_: iter(places))

    return install


@pytest.fixture
def no_tools(toolkit, monkeypatch):
    """No toolkit, and a system without C++'s own library."""

    def missing(name):
        raise OSError(f"{name}: cannot open shared object file")

    toolkit()
    monkeypatch.setattr("profiler.measuring.tools.mangling.ctypes.CDLL", missing)


def built(regex, *functions, needs=()):
    resources = [Resources(name, "sm_90", 40, 0, 0, 0, 0) for name in functions or (PLAIN, TEMPLATE)]
    record = BuildRecord("sm_90", [], "13.0.88", [], {}, "0" * 64, 1.0, resources)
    return Built(Kernel(7, "k", "a kernel", regex, {}, needs=needs), "built", Path("k"), record)


def found(regex):
    return [one.function for one in own_resources(built(regex))]


def test_an_expression_may_tell_overloads_apart(toolkit):
    toolkit()
    assert found("saxpy_v2") == [PLAIN, TEMPLATE]
    assert found(r"^saxpy_v2\(") == [PLAIN]
    assert found(r"^void saxpy_v2<4>\(float") == [TEMPLATE]


def test_the_toolkits_own_names_go_first_they_are_written_as_ncus(toolkit):
    toolkit("echo 'saxpy_v2(float *, float *, int)'; echo 'void saxpy_v2<(int)4>(float *, float *, int)'")
    assert found(r"<\(int\)4>") == [TEMPLATE]


@pytest.mark.parametrize("body", ["exit 3", "echo only one line"])
def test_a_tool_that_fails_is_none(toolkit, no_tools, body):
    toolkit(body)
    assert found("saxpy_v2ILi4E") == [TEMPLATE]


def test_without_a_tool_the_compiled_names_must_do(no_tools):
    assert found("saxpy_v2") == [PLAIN, TEMPLATE]
    assert found("saxpy_v2ILi4E") == [TEMPLATE]


def test_no_expression_takes_exponential_time(no_tools):
    started = time.process_time()
    assert own_resources(built("(.*)*(.*)*(.*)*(.*)*(.*)*Q", "saxpy" * 20)) == []
    assert time.process_time() - started < 5


def test_an_expression_that_matches_nothing_is_an_error_that_lists_what_there_is(no_tools):
    assert (
        misfit_text(built("^saxpy_v3"))
        == f"'^saxpy_v3' matches no kernel that was compiled: {PLAIN}, {TEMPLATE}"
    )
    many = misfit_text(built("no", *(f"k{number}{'x' * 100}" for number in range(9))))
    assert many.endswith("… and 6 more")
    assert "compiled: scale_wide, k0, k1 and" in misfit_text(built("^scale$", "k0", "k1", "k2", "scale_wide"))
    assert len(many) < 300


def test_there_is_nothing_to_tell_where_it_fits_or_where_the_kernel_is_a_librarys(no_tools):
    assert misfit_text(built("saxpy_v2")) == ""
    assert misfit_text(built("xmma", needs=("cublas",))) == ""
