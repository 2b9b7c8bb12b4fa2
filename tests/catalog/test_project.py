"""Limits of `prof check`: where they are found, what they mean, and what is refused."""

import pytest

from profiler.catalog.project import DEFAULT_SLOWER_PCT, find_thresholds
from profiler.errors import ThresholdsInvalid


def limits(folder):
    return {(one.metric.name, one.way): one.limit_pct for one in find_thresholds(folder).limits}


@pytest.fixture
def declare(tmp_path):
    """`declare(text)` writes `[check]` with these lines; returns the folder."""

    def write(text, file="prof.toml", header="[check]"):
        (tmp_path / file).write_text(f"{header}\n{text}\n")
        return tmp_path

    return write


def test_without_a_file_the_duration_alone_is_limited(tmp_path):
    assert limits(tmp_path) == {("duration_ns", "rise"): DEFAULT_SLOWER_PCT}
    assert find_thresholds(tmp_path).path is None


def test_a_limit_says_how_far_the_metric_may_go_the_wrong_way(declare):
    folder = declare(
        "duration_ns.worse_pct = 3\ninst_executed.worse_pct = 1.5\nthreads_per_inst.worse_pct = 0"
    )
    assert limits(folder) == {
        ("duration_ns", "rise"): 3.0,
        ("inst_executed", "rise"): 1.5,
        ("threads_per_inst", "fall"): 0.0,
    }


def test_a_metric_without_a_better_direction_says_which_way(declare):
    folder = declare("l2_hit_pct.fall_pct = 5\nregisters = { rise_pct = 0, fall_pct = 10 }")
    assert limits(folder) == {
        ("duration_ns", "rise"): DEFAULT_SLOWER_PCT,
        ("l2_hit_pct", "fall"): 5.0,
        ("registers", "rise"): 0.0,
        ("registers", "fall"): 10.0,
    }


def test_the_duration_comes_first_wherever_it_stands(declare):
    folder = declare("inst_executed.worse_pct = 1\nduration_ns.worse_pct = 5")
    assert find_thresholds(folder).limits[0].metric.name == "duration_ns"


def test_the_stricter_of_two_limits_in_one_direction_holds(declare):
    assert limits(declare("duration_ns = { worse_pct = 4, rise_pct = 3 }")) == {("duration_ns", "rise"): 3.0}


def test_an_empty_table_is_the_default(declare):
    assert limits(declare("")) == {("duration_ns", "rise"): DEFAULT_SLOWER_PCT}


# Where


def test_pyproject_holds_them_too(declare):
    folder = declare("duration_ns.worse_pct = 7", "pyproject.toml", "[tool.prof.check]")
    assert limits(folder) == {("duration_ns", "rise"): 7.0}


def test_the_nearest_file_above_holds_and_prof_toml_goes_before_pyproject(declare, tmp_path):
    declare("duration_ns.worse_pct = 7", "pyproject.toml", "[tool.prof.check]")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert limits(below) == {("duration_ns", "rise"): 7.0}
    declare("duration_ns.worse_pct = 9")
    assert limits(below) == {("duration_ns", "rise"): 9.0}
    assert find_thresholds(below).path == tmp_path / "prof.toml"


def test_a_pyproject_about_something_else_is_passed_by(declare, tmp_path):
    declare("duration_ns.worse_pct = 7")
    below = tmp_path / "a"
    below.mkdir()
    (below / "pyproject.toml").write_text("[tool.other]\nline-length = 100\n")
    assert limits(below) == {("duration_ns", "rise"): 7.0}


def test_a_nearer_file_that_declares_a_gpu_alone_hides_no_limits(declare, tmp_path):
    declare("duration_ns.worse_pct = 7", "pyproject.toml", "[tool.prof.check]")
    below = tmp_path / "a"
    below.mkdir()
    for folder in (tmp_path, below):
        (folder / "prof.toml").write_text("gpu = 'h200'\n")
        assert limits(folder) == {("duration_ns", "rise"): 7.0}
        assert find_thresholds(folder).path == tmp_path / "pyproject.toml"


# What is refused


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("duraton_ns.worse_pct = 2", "'duraton_ns' is not a metric of the catalogue; nearest: duration_ns"),
        ("duration_ns.worse = 2", "unknown key 'duration_ns.worse'; nearest: worse_pct"),
        ("duration_ns = 2", "duration_ns: say how far it may go: duration_ns.worse_pct = 2"),
        ("registers = {}", "registers.rise_pct"),
        ("l2_hit_pct.worse_pct = 2", "l2_hit_pct.worse_pct: it has no better direction"),
        ("duration_ns.worse_pct = -1", "a limit is a percentage from 0, not -1"),
        ("duration_ns.worse_pct = nan", "a limit is a percentage from 0, not nan"),
        ("duration_ns.worse_pct = inf", "a limit is a percentage from 0, not inf"),
        ("duration_ns.worse_pct = true", "a limit is a percentage from 0, not True"),
        ("duration_ns.worse_pct = '2 %'", "a limit is a percentage from 0, not '2 %'"),
        ("duration_ns.worse_pct = ", "not TOML"),
        (f"duration_ns.worse_pct = {'9' * 5000}", "a number of more than 80 digits"),
        (f"duration_ns.worse_pct = {'9' * 400}", "a number of more than 80 digits"),
        (f"duration_ns.worse_pct = 0x{'f' * 6000}", "a number of more than 80 digits"),
    ],
)
def test_a_limit_that_would_check_nothing_is_refused_with_its_file(declare, line, told):
    folder = declare(line)
    with pytest.raises(ThresholdsInvalid) as refused:
        find_thresholds(folder)
    assert told in refused.value.message
    assert refused.value.message.startswith(str(folder / "prof.toml"))


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("prof.toml", "[chek]\n"),
        ("prof.toml", "check = 2\n"),
        ("prof.toml", "[tool.prof.check]\n"),
        ("pyproject.toml", "[tool.prof]\nchek = 1\n"),
        ("pyproject.toml", "[tool]\nprof = 1\n"),
    ],
)
def test_an_unknown_table_is_refused(tmp_path, file, text):
    (tmp_path / file).write_text(text)
    with pytest.raises(ThresholdsInvalid):
        find_thresholds(tmp_path)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "prof.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ThresholdsInvalid, match="cannot be read as text"):
        find_thresholds(tmp_path)
