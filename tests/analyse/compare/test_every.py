"""All kernels that two recordings share: an index with the largest change of time first, and a headline."""

import json

import pytest

DURATION = "gpu__time_duration.sum"


@pytest.fixture
def compared(make_run, prof_here, tmp_path):
    """Compares two recordings of kernels, each given with the times of its launches in ns, before and after."""

    def compare(kernels, *arguments):
        for place, name in enumerate(("old", "new")):
            launches = [
                {"kernel": kernel, "metrics": {DURATION: ns}}
                for kernel, times in kernels.items()
                for ns in times[place]
            ]
            make_run(*launches, name=name, root=tmp_path)
        return prof_here("--runs", tmp_path, "compare", "old", "new", "--all", *arguments).stdout

    return compare


STEADY = (1000.0, 1001.0, 1002.0)
SLOWER = (2000.0, 2001.0, 2002.0)
MIXED = {"same(int)": (STEADY, STEADY), "void slow<float>(int)": (STEADY, SLOWER), "few": ((10.0,), (12.0,))}


def test_the_kernel_whose_time_changed_most_comes_first(compared):
    found = json.loads(compared(MIXED, "--format", "json", "--full"))
    assert list(found)[:3] == ["headline", "left_out", "index"]
    assert [(one["kernel"], one["before_ns"], one["after_ns"], one["verdict"]) for one in found["index"]] == [
        ("void slow<float>(int)", 3003.0, 6003.0, "worse"),
        ("few", 10.0, 12.0, "unclear"),
        ("same(int)", 3003.0, 3003.0, "same"),
    ]
    assert [one["after"]["kernel_name"] for one in found["comparisons"]] == [
        one["kernel"] for one in found["index"]
    ]


def test_the_answer_is_the_time_of_all_the_kernel_that_changed_most_and_how_to_ask_about_it(compared):
    text = " ".join(compared(MIXED, "--brief").split())
    assert "The 3 kernels that both have take 6.016 us before and 9.018 us after, +49.9 %." in text
    assert "Why: The largest change: slow of new takes 1.999x as long as slow of old" in text
    assert "-k slow` shows all about it." in text


def test_kernels_that_were_launched_more_often_did_not_get_slower(compared):
    kernels = {"same": ((1000.0,), (1000.0, 1001.0)), "other": (STEADY, (1010.0, 1011.0, 1012.0))}
    text = " ".join(compared(kernels).split())
    assert "take 4.003 us in 4 launches before, and 5.034 us in 5 launches after." in text
    assert text.index("other 3 ") < text.index("same 1 "), "the other changed by more"
    assert "same 1 -> 2 1.000 us 1.000 us" in text, "the time of a launch, which the change is of"
    assert "other 3 1.001 us 1.011 us" in text


def test_kernels_with_too_few_launches_are_unclear_and_not_called_equal(compared):
    text = " ".join(compared({"a": ((10.0,), (20.0,)), "b": ((10.0,), (11.0,))}, "--brief").split())
    assert "Which of them changed is not certain; a may have changed most." in text
    assert "Record more launches of each kernel: `ncu --launch-count 5` records" in text


def test_of_single_launches_the_one_that_changed_by_more_than_launches_differ_is_named(compared):
    kernels = {"a": ((1e6,), (2e6,)), "b": ((1e6,), (1.05e6,))}
    text = " ".join(compared(kernels).split())
    assert "The largest change: a of new takes 2.000x as long as a of old" in text
    assert "+100.00 % likely worse" in text
    assert "+5.00 % unclear" in text
    assert "may have changed most" not in text


def test_a_hundred_kernels_take_a_line_each_and_60_lines_at_most(compared):
    text = compared({f"kernel_{n}": (STEADY, SLOWER) for n in range(100)})
    assert len(text.splitlines()) <= 60
    assert "60 kernels with smaller changes" in text


def test_kernels_that_only_one_side_has_are_counted_with_their_time(compared):
    """Half of a program's time may be in kernels that have another name now."""
    kernels = {**MIXED, "gone": (STEADY, ()), "lost": (STEADY, ()), "new": ((), SLOWER)}
    text = " ".join(compared(kernels).split())
    assert "The 3 kernels that both have take 6.016 us before" in text
    assert (
        "caution: not compared, as the other has none of that name: 2 kernels (6.006 us) of the first recording and "
        "1 kernel (6.003 us) of the second recording" in text
    )
    assert "not compared" not in compared(MIXED)
    assert "not compared" not in compared(kernels, "-k", "slow"), "who chooses a kernel knows of the others"


def test_the_only_kernel_that_both_have_is_not_the_whole_program(compared):
    text = " ".join(compared({"slow": (STEADY, SLOWER), "gone": (STEADY, ())}).split())
    assert (
        "not compared, as the other has none of that name: 1 kernel (3.003 us) of the first recording" in text
    )


def test_one_of_several_kernels_is_never_told_as_the_whole_recording(compared):
    (first, *_) = json.loads(compared(MIXED, "--format", "json", "--full"))["comparisons"]
    assert first["headline"]["what"].startswith("slow of new takes 1.999x as long as slow of old (")
    (alone,) = json.loads(compared({"slow": (STEADY, SLOWER)}, "--format", "json", "--full"))["comparisons"]
    assert alone["headline"]["what"].startswith("new takes 1.999x as long as old (")
