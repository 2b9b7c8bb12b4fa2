"""ncu is found, is recent enough, and its command records exactly what a preset and a selection ask for."""

from pathlib import Path

import pytest

from profiler.catalog.presets import PRESETS, Preset, find_preset
from profiler.errors import NcuTooOld, ToolNotFound
from profiler.measuring.tools.ncu import NcuOptions, Selection, find_ncu, ncu_command

NCU = Path("/opt/ncu")
SMALL = Preset("small", "One metric.", metrics=("gpu__time_duration.sum",))
ALWAYS = ["/opt/ncu", "--config-file", "off", "--force-overwrite"]
CONTROLS = ["--clock-control", "none", "--cache-control", "all", "--replay-mode", "kernel"]


def command(recording, selection=Selection()):  # noqa: B008 - frozen
    return ncu_command(NCU, recording, selection, "r.ncu-rep", ["./mine", "--flag", "$HOME; *"])


def test_the_words_in_their_order():
    assert command(NcuOptions(SMALL), Selection("a b|c$", skip=3, launches=5)) == [
        *ALWAYS, *CONTROLS, "--metrics", "gpu__time_duration.sum", "--kernel-name-base", "demangled",
        "--kernel-name", "regex:a b|c$", "--launch-skip", "3", "--launch-count", "5",
        "--export", "r.ncu-rep", "./mine", "--flag", "$HOME; *",
    ]  # fmt: skip


def test_without_a_selection_every_launch_counts():
    words = command(NcuOptions(SMALL))
    assert not {"--kernel-name", "--launch-skip", "--launch-count"} & set(words)


def test_controls_are_passed_on():
    recording = NcuOptions(
        SMALL, replay="application", graphs="graph", clock="base", cache="none", extra=("--nvtx",)
    )
    words = command(recording)
    for option, value in (
        ("--clock-control", "base"), ("--cache-control", "none"), ("--replay-mode", "application"),
        ("--graph-profiling", "graph"),
    ):  # fmt: skip
        assert words[words.index(option) + 1] == value
    assert words[words.index("--export") - 1] == "--nvtx"


def test_ranges_are_not_chosen_by_name():
    """ncu refuses to filter ranges by name: see the transcript `range-k`."""
    words = command(NcuOptions(SMALL, replay="range"), Selection("k", skip=1, launches=2))
    assert "--kernel-name" not in words
    assert "--launch-skip" in words


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.name)
def test_a_preset_is_asked_for_whole(preset):
    words = command(NcuOptions(preset))
    asked = [words[index + 1] for index, word in enumerate(words) if word == "--section"]
    assert asked == list(preset.sections)
    assert words[words.index("--metrics") + 1].split(",") == list(preset.metrics)
    assert ("--import-source" in words) == preset.import_source
    assert ("--set" in words) == (preset.set is not None)


def test_sections_metrics_and_a_set_add_to_a_preset():
    more = find_preset("four-way").with_more(["SourceCounters"], ["dram_bytes_per_s"], "basic")
    words = command(NcuOptions(more))
    assert words[words.index("--section") + 1] == "SourceCounters"
    assert words[words.index("--set") + 1] == "basic"
    assert words[words.index("--metrics") + 1].endswith(",dram__bytes.sum.per_second")


def test_a_program_may_mark_the_launches_that_count():
    words = ncu_command(
        Path("ncu"), NcuOptions(find_preset("four-way")), Selection("triton_", of_window=True), "x", ["p"]
    )
    assert words[words.index("--profile-from-start") + 1] == "off"
    assert "--profile-from-start" not in command(NcuOptions(find_preset("four-way")))


# Finding it


def answering(version):
    return f'echo "Nsight Compute"\necho "Version {version} (build 1) (public-release)"'


@pytest.mark.parametrize("version", ["2022.3.0.0", "2025.3.1.0", "2026.1"])
def test_the_first_on_the_path_is_taken(machine, script, version):
    folder = script("ncu", answering(version))
    found = find_ncu(machine.environment)
    assert (found.path, found.version) == (folder / "ncu", version)


@pytest.mark.parametrize("version", ["2019.5.1", "2022.2.9.0"])
def test_one_that_is_too_old_is_refused(machine, script, version):
    script("ncu", answering(version))
    with pytest.raises(NcuTooOld, match=f"Nsight Compute {version} is older than 2022.3") as caught:
        find_ncu(machine.environment)
    assert caught.value.exit_code == 62
    assert "newer Nsight Compute" in caught.value.remedy


@pytest.mark.parametrize("body", ["exit 1", "echo hello", "echo 'Version unknown'"])
def test_an_ncu_that_does_not_print_its_version_is_refused(machine, script, body):
    script("ncu", body)
    with pytest.raises(ToolNotFound, match="does not report its version"):
        find_ncu(machine.environment)


def test_without_any_ncu_the_searched_places_are_listed(monkeypatch):
    # On a machine with a real ncu, one of the fixed places would have it.
    places = [Path("/nonexistent/ncu"), Path("/nonexistent/cuda/bin/ncu"), Path("/nonexistent/ncu")]
    monkeypatch.setattr("profiler.measuring.tools.ncu.ncu_candidates", lambda environment: iter(places))
    with pytest.raises(ToolNotFound, match="ncu was not found") as caught:
        find_ncu()
    assert caught.value.details == ("    /nonexistent/ncu", "    /nonexistent/cuda/bin/ncu")
    assert "Nsight Compute" in caught.value.remedy


def test_it_may_lie_in_cuda_home(script, tmp_path):
    script("ncu", answering("2025.3.1.0"))
    assert find_ncu({"PATH": "/nonexistent", "CUDA_HOME": str(tmp_path)}).path == tmp_path / "bin" / "ncu"


def test_a_relative_path_is_made_whole(script, tmp_path, monkeypatch):
    """ncu is started from another folder, where the relative path `bin/ncu` would lead nowhere."""
    script("ncu", answering("2025.3.1.0"))
    monkeypatch.chdir(tmp_path)
    assert find_ncu({"PATH": "bin"}).path == tmp_path / "bin" / "ncu"
