"""How a report was measured is read from the command line that it embeds."""

import pytest

from profiler.store.reports.ncu_command import Controls, derive_controls, version_of

NONE_GIVEN = "ncu -o report ./program"


@pytest.mark.parametrize(
    ("version", "clock"),
    [
        ("2024.1.0.0", "base"),
        ("2025.3.1.0", "base"),
        ("2025.10", "base"),
        ("2026.1.0.0", "boost"),
        ("2026.1", "boost"),
        ("2027.0.1", "boost"),
        ("", "unknown"),
        ("nightly", "unknown"),
    ],
)
def test_the_default_clock_control_changed_in_2026_1(version, clock):
    assert derive_controls(NONE_GIVEN, version) == Controls(clock, "all", "kernel")


@pytest.mark.parametrize("equals", [" ", "="])
def test_options_count_with_a_space_and_with_an_equals_sign(equals):
    command = f"ncu --clock-control{equals}none --cache-control{equals}none --replay-mode{equals}range ./p"

    assert derive_controls(command, "2026.1") == Controls("none", "none", "range")


def test_a_report_without_a_command_line_says_nothing():
    assert derive_controls("", "2026.1") == Controls("unknown", "unknown", "unknown")


def test_an_unbalanced_quote_does_not_hide_the_options():
    assert derive_controls("ncu --clock-control none ./p \"it's", "2026.1").clock == "none"


def test_an_option_of_the_program_comes_after_ncus_own():
    assert derive_controls("ncu --clock-control none ./p --clock-control boost", "2026.1").clock == "none"


def test_an_option_at_the_very_end_has_no_value():
    assert derive_controls("ncu --clock-control", "2026.1").clock == "boost"


@pytest.mark.parametrize(
    ("text", "version"), [("2025.3.1.0", (2025, 3, 1, 0)), ("2026.1-rc", (2026,)), ("", ()), ("x.1", ())]
)
def test_a_version_is_its_leading_numbers(text, version):
    assert version_of(text) == version


@pytest.mark.parametrize(
    ("command", "clock"),
    [
        ("ncu -o x python bench.py --clock-control base", "boost"),
        ("ncu -f --nvtx ./p --clock-control base", "boost"),
        ("ncu -f -k5 --clock-control none -o x ./p --clock-control base", "none"),
        ("ncu --set=full -k regex:gemm -c 1 --clock-control base python p.py --clock-control none", "base"),
        ("ncu --an-option-of-tomorrow --clock-control base ./p", "base"),
        ("ncu -o p --clock-control base sh -c './p --clock-control none'", "base"),
        ("ncu -o", "boost"),
    ],
)
def test_only_what_stands_before_the_program_is_ncus(command, clock):
    assert derive_controls(command, "2026.1").clock == clock
