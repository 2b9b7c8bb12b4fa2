"""The index of a recording with several kernels: all of them, where the time goes, and what to ask next."""

import json
import re

import msgspec
import pytest

import profiler
from profiler.analyse.causes.headline import BROUGHT_BY_NVIDIA, advice_text, next_text
from profiler.analyse.recording.index import headline_of_index, index_of
from profiler.analyse.recording.kernel_names import base_name, plain_name, without_tags
from profiler.present.documents.recording import recording_document
from profiler.present.render.terminal import Window, document_text
from tests.made_causes import cause_of
from tests.profiles import sheets_of

NAMES = {
    "void at::native::(anonymous namespace)::softmax_warp_forward<float, (int)10>(float *, int)": "softmax_warp_forward",
    "scale(float *, float)": "scale",
    "void k5<(int)128, (bool)1>(int, const float *)": "k5",
    "triton_poi_fused_0": "triton_poi_fused_0",
    "graph": "graph",
    "__prof_main__::naive[abi:v1,cw51cXTLSUwv1](Array<float, 2, C, mutable, aligned>)": "naive",
    "kernel_cutlass_scale_chunks_tensorptrf32gmemo167772161_tensorptrf32gmemo167772161_0": "scale_chunks",
    "kernel_cutlass_kernel_my_moduleProduct_object_at__tensor0000o1111_0": "kernel_my_moduleProduct",
    "kernel_cutlass_of_no_tensor_0": "kernel_cutlass_of_no_tensor_0",
}


@pytest.mark.parametrize("kernel", NAMES)
def test_a_function_is_called_by_its_own_name(kernel):
    assert base_name(kernel) == NAMES[kernel]


def test_a_plain_name_keeps_template_arguments_and_drops_parameters():
    name = "void at::native::(anonymous namespace)::f<float, (int)10, g<int>>(float *, (lambda)1)"
    assert plain_name(name) == "at::native::(anonymous namespace)::f<float, 10, g<int>>"


def test_a_whole_name_is_shown_without_numbas_hash():
    """It takes 110 characters, of the 80 or 100 that a line has."""
    (numba,) = [name for name in NAMES if "[abi" in name]
    assert without_tags(numba) == "__prof_main__::naive(Array<float, 2, C, mutable, aligned>)"
    assert all(without_tags(name) == name for name in NAMES if name != numba)


@pytest.fixture
def kernels(make_run):
    """A run of kernels by their names, each launched once and for so many nanoseconds, if that is recorded."""
    return lambda **times: make_run(
        *({"kernel": name} | ({"ns": ns} if ns else {}) for name, ns in times.items())
    )


def test_kernels_come_by_their_share_of_the_time(make_run):
    times = {"short": 10.0, "long": 60.0, "middle": 30.0}
    run = make_run(*({"kernel": name, "ns": ns} for name, ns in times.items() for _ in "ab"))
    found = index_of(sheets_of(run))
    assert [(one.kernel, one.launches, one.total_ns, one.share_pct) for one in found] == [
        ("long", 2, 120.0, 60.0),
        ("middle", 2, 60.0, 30.0),
        ("short", 2, 20.0, 10.0),
    ]


@pytest.fixture
def many(make_run, tmp_path):
    """A run of 100 kernels, in a store of its own."""
    launches = [
        {"kernel": f"void kernel_{n}(float *)", "ns": 1000.0 + n, "nvtx": ["step"]} for n in range(100)
    ]
    make_run(*launches, name="many", root=tmp_path)
    return ("--runs", tmp_path, "show", "many")


def test_the_screen_has_a_line_for_each_kernel_and_at_most_60(many, prof_here):
    lines = prof_here(*many).stdout.splitlines()
    assert len(lines) <= 60
    rows = [line for line in lines if re.search(r"\bkernel_\d+$|\bkernel_\d+ ", line) and "%" in line]
    assert "kernel_99" in rows[1]
    said = re.search(r"72 more kernels take ([\d.]+) % of the time", "\n".join(lines))
    assert re.fullmatch(r"\d+\.\d", said[1]), "as many digits as the column above has"
    assert "--nvtx RANGE" in "\n".join(lines)


def test_json_begins_with_the_headline_and_all_kernels_in_the_short_form_too(many, prof_here, store):
    printed = prof_here(*many, "--format", "json", "--full").stdout
    assert list(json.loads(printed))[:3] == ["headline", "left_out", "index"]
    assert len(json.loads(printed)["index"]) == 100
    short = prof_here("--runs", store.root, "show", "several", "--format", "json").stdout
    assert [one["kernel"] for one in json.loads(short)["index"]] == [
        "offset(float *, float)",
        "scale(float *, float)",
        "calls_a_function(float *)",
    ]
    assert len(short) <= 8000


@pytest.mark.parametrize(
    ("rest_ns", "share"), [(100.0, "91 %"), (5.0, "99.5 %"), (1.0, "99.9 %"), (0.001, "over 99.9 %")]
)
def test_one_of_several_kernels_never_takes_all_of_the_time(kernels, rest_ns, share):
    headline = profiler.show(kernels(long=999.0, short=rest_ns)).headline
    said = (f"one kernel takes {share} of it.", f"It takes {share} of the time of 2 kernels.")
    assert headline.what.endswith(said)
    assert headline.why.startswith(f"long takes {share} of the time") == (share == "91 %")


def test_the_headline_names_the_kernel_that_takes_most_and_how_to_see_it(many, prof_here):
    headline = json.loads(prof_here(*many, "--format", "json").stdout)["headline"]
    assert headline["what"].startswith("100 kernels take 105.0 us under the profiler in 100 launches")
    assert headline["why"].startswith("kernel_99 takes 1 % of the time")
    assert "-k kernel_99" in headline["next"]


def test_full_shows_every_kernel_below_the_index(prof_here, store):
    text = prof_here("--runs", store.root, "show", "several", "--full").stdout
    assert text.index("top cause") < text.index("scale(float *, float), 3 launches")


def test_a_range_leaves_only_its_launches(make_run, tmp_path, prof_here):
    inside, outside = (
        {"kernel": "k", "ns": ns, "nvtx": names}
        for ns, names in ((10.0, ["step", "Forward"]), (30.0, ["step"]))
    )
    make_run(inside, outside, {**outside, "kernel": "other"}, name="ranges", root=tmp_path)
    show = ("--runs", tmp_path, "show", "ranges", "--format", "json", "--nvtx")

    def index(pattern):
        return [
            (one["kernel"], one["total_ns"]) for one in json.loads(prof_here(*show, pattern).stdout)["index"]
        ]

    assert index("forward") == [("k", 10)]
    assert index("STEP|step") == [("k", 40), ("other", 30)]
    nothing = prof_here(*show, "fowrard")
    assert nothing.returncode == 33
    assert "nearest: Forward" in nothing.stderr
    assert prof_here(*show, "FORWARD").returncode == 33, "a capital counts"


def test_the_place_of_a_cause_is_null_where_it_is_not_known_and_never_left_out(kernels):
    (entry,) = msgspec.to_builtins(index_of(sheets_of(kernels(short=10.0))))
    assert entry["where"] is None


def test_without_durations_the_answer_says_what_is_missing_and_how_to_record_it(kernels):
    sheets = sheets_of(kernels(one=None, other=None))
    for sheet in sheets:
        assert sheet.headline.what.startswith(f"How long {sheet.kernel} takes on ")
    said = headline_of_index("made.ncu-rep", index_of(sheets), sheets, has_counters=True)
    assert said.what == "How long the 2 kernels take in their 2 launches is not recorded."
    assert "prof collect" in said.next


@pytest.mark.parametrize(
    ("untimed", "said"), [(["one"], "How long one takes"), (["one", "other"], "How long 2 more take")]
)
def test_the_time_of_all_is_said_of_those_alone_that_were_timed(kernels, untimed, said):
    """Nsight Compute keeps a launch without its time where the program ended meanwhile."""
    sheets = sheets_of(kernels(timed=2e6, **dict.fromkeys(untimed)))
    headline = headline_of_index("made.ncu-rep", index_of(sheets), sheets, has_counters=True)
    assert headline.what == f"1 kernel takes 2.000 ms under the profiler in 1 launch. {said} is not recorded."


@pytest.mark.parametrize(
    ("longest", "is_said"), [("ampere_sgemm_128x64_nn", True), ("my_ampere_sgemm_128(float *)", False)]
)
def test_who_can_change_the_longest_kernel_is_said_as_of_one_alone(kernels, longest, is_said):
    sheets = sheets_of(kernels(**{longest: 2.1e3, "mine": 2e3}))
    assert sheets[0].causes, "each launch is too short"
    headline = headline_of_index("made.ncu-rep", index_of(sheets), sheets, has_counters=True)
    assert (BROUGHT_BY_NVIDIA in headline.next) == is_said
    assert (BROUGHT_BY_NVIDIA in sheets[0].headline.next) == is_said


@pytest.mark.parametrize(
    ("saves_pct", "begins"), [(4.0, "Move less. Begin with"), (20.0, "Beside this ceiling,")]
)
def test_at_a_ceiling_the_index_advises_what_the_sheet_of_its_first_kernel_does(kernels, saves_pct, begins):
    ceiling = cause_of("at-memory-bandwidth", 0.0, change="Move less.")
    causes = [ceiling, cause_of(saves=saves_pct)]
    sheet = msgspec.structs.replace(*sheets_of(kernels(k=1e6)), causes=causes)
    headline = headline_of_index("made.ncu-rep", index_of([sheet]), [sheet], has_counters=True)
    assert headline.next.startswith(begins)
    assert headline.next.startswith(advice_text(causes))
    assert next_text(causes).startswith(advice_text(causes))


@pytest.mark.parametrize(("rest_ns", "is_alone"), [(60.0, False), (50.0, True)])
def test_a_kernel_that_takes_nearly_all_of_the_time_is_shown_as_if_it_were_alone(kernels, rest_ns, is_alone):
    """5 % of the time is what a change is called notable for: there is less than that in all others together."""
    shown = profiler.show(kernels(fill=rest_ns, long=999.0))
    assert [one.kernel for one in shown.index] == ["long", "fill"]
    text = document_text(recording_document(shown), Window(width=100))
    assert (text.startswith("long takes "), "`-k PATTERN` shows the kernels" in text) == (
        is_alone,
        not is_alone,
    )
    assert ("1 other kernel takes 4.8 % of the time: fill." in text) == is_alone
    in_full = document_text(recording_document(shown, full=True), Window(width=100))
    assert "\nfill, 1 launch\n" in in_full


def test_where_the_time_of_a_kernel_is_not_recorded_none_takes_nearly_all(kernels):
    shown = profiler.show(kernels(long=999.0, untimed=None))
    assert "How long untimed takes is not recorded." in shown.headline.what
