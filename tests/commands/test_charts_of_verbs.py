"""`--chart` of `prof ladder` and `prof show`: a picture beside the answer, on light or dark paper."""

import json

import pytest


@pytest.fixture
def shipped(prof_here, shipped_runs):
    return lambda *arguments: prof_here("--runs", shipped_runs.root, *arguments)


def titles_of(spec):
    """Every title and subtitle of a chart and its parts."""
    if isinstance(spec, list):
        return [title for part in spec for title in titles_of(part)]
    own = [spec["title"]["text"]] if isinstance(spec.get("title"), dict) and "text" in spec["title"] else []
    return own + [
        title for kind in ("concat", "hconcat", "vconcat", "layer") for title in titles_of(spec.get(kind, []))
    ]


@pytest.mark.slow
def test_a_recording_is_drawn_with_its_launches_times_stalls_and_lines(shipped, tmp_path):
    path = tmp_path / "sheet.json"
    result = shipped("show", "gemm-6-source", "--chart", path)
    assert (result.returncode, result.stderr) == (0, f"Wrote {path}\n")
    assert result.stdout.startswith("gemm 6 takes ")
    titles = titles_of(json.loads(path.read_text()))
    assert titles[0] == "gemm 6"
    for start in (
        "gemm 6: time under the profiler of ",
        "gemm 6: time without",
        "The largest share of",
        "Line 67 executes",
    ):
        assert any(title.startswith(start) for title in titles), start


@pytest.mark.slow
def test_a_ladder_is_drawn_with_its_steps_and_stalls(shipped, tmp_path):
    """The picture is of the workload that is printed."""
    path = tmp_path / "ladder.json"
    result = shipped("ladder", "--chart", path)
    assert (result.returncode, result.stderr) == (0, f"Wrote {path}\n")
    titles = titles_of(json.loads(path.read_text()))
    assert titles[0] == "gemm: Matrix multiplication, C = A * B, row-major"
    for words in (
        "reaches",
        "The largest step is to",
        "steps make it faster",
        "The largest share of",
        "within",
    ):
        assert any(words in title for title in titles), words
    shipped("ladder", "--size", 1024, "--chart", path)
    assert "m = 1024" in path.read_text()


def test_timings_alone_are_drawn_too(shipped, shipped_runs, tmp_path):
    repeats = shipped_runs.find("gemm-6-timed", ladder="gemm").table("timings").num_rows
    path = tmp_path / "timed.json"
    assert shipped("show", "gemm-6-timed", "--chart", path).returncode == 0
    assert [title.split(" within")[0] for title in titles_of(json.loads(path.read_text()))] == [
        "gemm 6", f"gemm 6: time without the profiler of {repeats} repeats",
    ]  # fmt: skip


def test_a_chart_is_drawn_only_when_one_of_several_kernels_is_named(prof_here, store, tmp_path):
    path = tmp_path / "one.json"
    refused = prof_here("--runs", store.root, "show", "several", "--chart", path)
    assert refused.returncode == 32
    assert not path.exists()
    assert prof_here("--runs", store.root, "show", "several", "-k", "offset", "--chart", path).returncode == 0
    assert "offset(float *, float)" in path.read_text()


@pytest.mark.parametrize(
    "verb", [("compare", "5", "6"), ("show", "6"), ("ladder",)], ids=lambda verb: verb[0]
)
def test_dark_needs_a_picture_that_has_a_paper(shipped, tmp_path, verb):
    for more, words in (((), "add --chart"), (("--chart", tmp_path / "c.html"), "light or dark setting")):
        result = shipped(*verb, "--dark", *more)
        assert (result.returncode, result.stdout) == (2, "")
        assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_paper_is_light_unless_dark_is_asked_for(shipped, tmp_path):
    papers = []
    for name, more in (("light.json", ()), ("dark.json", ("--dark",))):
        shipped("--quiet", "show", "gemm-6-timed", "--chart", tmp_path / name, *more)
        papers.append(json.loads((tmp_path / name).read_text())["config"]["background"])
    assert papers == ["#ffffff", "#0d1117"]
