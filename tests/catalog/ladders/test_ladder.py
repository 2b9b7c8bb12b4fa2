"""Ladder files: what a good one means, and how a bad one fails, with its line."""

import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from profiler.catalog.ladders.ladder import (
    PLACEHOLDERS,
    Workload,
    fill_command,
    find_ladder,
    size_text,
    usual_ladder,
)
from profiler.catalog.ladders.ladder_file import read_ladder
from profiler.catalog.ladders.toml_reader import line_of
from profiler.errors import LadderInvalid, LadderNotFound, ProfError, RungNotFound, WorkloadInvalid

ROOT = Path(__file__).parents[3]
GEMM = ROOT / "kernels/gemm/ladder.toml"

GOOD = """\
title = "Training steps"
reference = 1
flops = "2 * batch * width ** 2"
command = ["python", "train.py", "--batch", "{batch}", "--width={width}", "--launches", "{launches}"]
size = ["batch"]

[workload]
batch = 32
width = 1024

[[kernel]]
number = 2
name = "fused"
idea = "one kernel"
regex = "fused_.*"
source = "train.py"
skip = 3
against = 1
expects = "faster"
time = [
    "python", "{source}",
    "--json",
]

[[kernel]]
number = 1
name = "eager"
idea = "as written"
regex = "elementwise"
published = [{ gpu = "NVIDIA A100", gbytes_per_s = 1870, reference_pct = 96.6 }]
"""


@pytest.fixture
def ladder_file(tmp_path):
    folder = tmp_path / "kernels" / "mine"
    folder.mkdir(parents=True)
    path = folder / "ladder.toml"
    path.write_text(GOOD)
    return path


def test_the_only_ladder_is_meant_where_none_is_named_unless_the_default_one_is_found(tmp_path, ladder_file):
    assert usual_ladder(tmp_path) == "mine"
    deeper = tmp_path / "deeper" / "kernels" / "other"
    deeper.mkdir(parents=True)
    (deeper / "ladder.toml").write_text(GOOD)
    assert usual_ladder(deeper) == "other"
    default = tmp_path / "kernels" / "gemm"
    default.mkdir()
    (default / "ladder.toml").write_text(GOOD)
    assert usual_ladder(tmp_path) == usual_ladder(deeper) == "gemm"


def test_without_a_ladder_or_with_several_the_default_one_is_meant(tmp_path, ladder_file):
    assert usual_ladder(Path("/")) == "gemm"
    second = tmp_path / "kernels" / "second"
    second.mkdir()
    (second / "ladder.toml").write_text(GOOD)
    assert usual_ladder(tmp_path) == "gemm"


def test_a_ladder_of_somebody_elses_program(ladder_file):
    ladder = read_ladder(ladder_file)
    eager, fused = ladder.kernels
    assert (ladder.name, ladder.reference, ladder.folder) == ("mine", 1, ladder_file.parent)
    assert [kernel.number for kernel in ladder.kernels] == [1, 2]
    assert not fused.is_compiled
    assert fused.source == ladder_file.parent / "train.py"
    assert (fused.skip, eager.skip) == (3, 0)
    assert not fused.has_window
    assert set(fused.commands) == {"profile", "time"}
    assert set(eager.commands) == {"profile"}
    assert eager.published[0].gbytes_per_s == 1870.0
    assert (fused.expects, eager.expects) == ("faster", None)
    assert (fused.against, eager.against) == (1, None)
    values = ladder.workload.values(64)
    assert values == {"batch": 64, "width": 1024}
    assert fused.flops.evaluate(values) == 2 * 64 * 1024**2
    assert fill_command(eager.commands["profile"], {**values, "launches": 5}) == [
        "python", "train.py", "--batch", "64", "--width=1024", "--launches", "5",
    ]  # fmt: skip


def test_a_parameter_may_be_nothing_but_a_size_may_not(ladder_file):
    ladder_file.write_text(GOOD.replace("width = 1024", "width = 1024\noffset = 0"))
    workload = read_ladder(ladder_file).workload
    assert workload.values(given={"width": 0}) == {"batch": 32, "width": 0, "offset": 0}
    with pytest.raises(WorkloadInvalid, match="--size 0: a size is a whole number from 1"):
        workload.values(0)


def test_a_rung_without_a_kernel_of_its_own_is_timed_alone(ladder_file):
    ladder_file.write_text(GOOD.replace('regex = "fused_.*"', "profile = false"))
    eager, fused = read_ladder(ladder_file).kernels
    assert (eager.is_profiled, fused.is_profiled) == (True, False)
    assert fused.regex is None
    ladder_file.write_text(GOOD.replace('regex = "fused_.*"', 'profile = false\nregex = "memcpy"'))
    memcpy = read_ladder(ladder_file).kernel(2)
    assert (memcpy.regex, set(memcpy.commands)) == ("memcpy", {"time"})


def test_a_ladder_names_further_sources_relative_to_its_folder(ladder_file):
    for name in ("train.py", "model.py", "../data.py", "../../elsewhere.py"):
        (ladder_file.parent / name).write_text("")
    ladder_file.write_text(GOOD.replace("skip = 3", 'sources = ["model.py", "../data.py"]'))
    eager, fused = read_ladder(ladder_file).kernels
    assert eager.further_sources is None, "the ladder does not say"
    assert fused.further_sources == (ladder_file.parent / "model.py", ladder_file.parent / "../data.py")
    ladder_file.write_text(GOOD.replace("skip = 3", 'sources = ["../../elsewhere.py"]'))
    with pytest.raises(LadderInvalid, match="neither in the ladder's folder nor in one beside it"):
        read_ladder(ladder_file)


def test_ours_is_read_like_any_other():
    ladder = read_ladder(GEMM)
    assert [kernel.number for kernel in ladder.kernels] == list(range(len(ladder.kernels)))
    assert ladder.reference == 0
    for kernel in ladder.kernels:
        assert kernel.source.is_file()
        assert kernel.source.name == f"{kernel.file_name}.cu"
        assert set(kernel.commands) == {"profile", "time", "check"}
        assert kernel.flops.evaluate(ladder.workload.values(4096)) == 2 * 4096**3
        for mode in kernel.commands:
            words = fill_command(
                kernel.commands[mode], {**dict.fromkeys(PLACEHOLDERS, 1), **ladder.workload.values()}
            )
            assert words[1:3] == ["--mode", mode]
    published = [kernel.published[0].gpu for kernel in ladder.kernels if kernel.published]
    assert set(published) == {"NVIDIA RTX A6000"}
    assert ladder.kernel(10).targets == {"sm_90": "sm_90a"}


def test_the_documentations_example_is_a_ladder(tmp_path):
    text = (ROOT / "kernels/README.md").read_text()
    examples = [part.split("```")[0] for part in text.split("```toml\n")[1:]]
    assert len(examples) >= 2
    for example in examples:
        if "[[kernel]]" in example:
            (tmp_path / "ladder.toml").write_text(example)
            assert read_ladder(tmp_path / "ladder.toml").kernels


# (what is replaced, by what, what the line then starts with, the reason)
BAD = [
    ('title = "Training steps"\n', "", None, "'title' is missing"),
    ('title = "Training steps"', "title = 3", "title", "title must be text in quotes, not 3"),
    ('title = "Training steps"', 'title = " "', "title", "title is empty"),
    ('title = "Training steps"', 'titel = "x"', "titel", "unknown key 'titel'; did you mean 'title'?"),
    ("reference = 1", "reference = 7", "reference", "the reference is kernel 7"),
    ("reference = 1", "reference = true", "reference", "must be a whole number, not true"),
    ("reference = 1", 'name = "../up"', "name", "must be letters a-z, digits"),
    ('"2 * batch * width ** 2"', '"2 * batch *"', "flops", "character 12: a number, a name or '(' expected"),
    ('"2 * batch * width ** 2"', '"2 * bach"', "flops", "'bach' is not in [workload]; did you mean 'batch'?"),
    ('"2 * batch * width ** 2"', '"9 ** 9 ** 9"', "flops", "the power is too large"),
    ('"2 * batch * width ** 2"', '"1 / (batch - 32)"', "flops", "division by zero"),
    ('"{batch}"', '"{bach}"', "command", "unknown placeholder {bach}; did you mean 'batch'?"),
    ('"{batch}"', '"{batch"', "command", "expected '}'"),
    ('"{batch}"', '"{batch!r}"', "command", "is not a placeholder"),
    ('"{batch}"', '"{batch:>9}"', "command", "is not a placeholder"),
    ('"{batch}"', '"{}"', "command", "is not a placeholder"),
    ('"{batch}"', '"{batch.real}"', "command", "is not a placeholder"),
    ('"{batch}"', "3", "command", "must be a list of words in quotes, not 3"),
    ('["batch"]', '["depth"]', "size", "'depth' is not in [workload]"),
    ('["batch"]', '"batch"', "size", "size must be a list"),
    ("batch = 32", "batch = -1", "batch", "batch = -1: a parameter is a whole number from 0"),
    ("batch = 32", "batch = 3.5", "batch", "batch must be a whole number, not 3.5"),
    ("batch = 32", "batch = 9223372036854775808", "batch", "a parameter is a whole number from 0"),
    ("width = 1024", "seed = 1024", "seed", "'seed' already means a fresh random number"),
    ("width = 1024", "Width = 1024", "Width", "lower-case letters"),
    ("number = 2\n", "", "[[kernel]]", "'number' is missing"),
    ("number = 2", "number = 1", None, "number 1 is taken by"),
    ("number = 2", "number = -2", "number", "a kernel's number is 0 to 999"),
    ("number = 2", "number = 2.0", "number", "must be a whole number"),
    ('name = "fused"', 'name = "Fused one"', "name", "must be letters a-z"),
    ('name = "fused"', "name = [1]", "name", "must be text in quotes"),
    ('regex = "fused_.*"', 'regex = "fused_("', "regex", "is not a regular expression: missing )"),
    ('regex = "fused_.*"', 'regex = "fused_(?=a)"', "regex", "lookaround, back-references"),
    ('regex = "fused_.*"', f'regex = "{"x" * 501}"', "regex", "is too long for a regular expression"),
    ("skip = 3", "skip = -3", "skip", "skip counts launches, so it cannot be -3"),
    ("skip = 3", "window = 1", "window", "window must be true or false, not 1"),
    ("skip = 3", 'profile = "no"', "profile", "profile must be true or false, not 'no'"),
    ('regex = "elementwise"', "profile = false", "profile", "is timed, and needs a 'time' command"),
    ('regex = "elementwise"\n', "", "[[kernel]]", "'regex' is missing"),
    ("skip = 3", 'sources = ["model.py"]', "sources", "train.py: no such file"),
    ("skip = 3", 'sources = "model.py"', "sources", "sources must be a list"),
    ("skip = 3", "skipp = 3", "skipp", "unknown key 'skipp'; did you mean 'skip'?"),
    ("skip = 3", 'needs = ["cudnn"]', "needs", "unknown library 'cudnn'; known: cublas"),
    ("skip = 3", 'targets = { sm_90 = "90a" }', "targets", "targets pair names such as sm_90"),
    ("skip = 3", "flags = [1]", "flags", "must be a list of words"),
    ('"--json",', '"{nothing}",', "time", "unknown placeholder {nothing}"),
    ('"--json",', '"{binary}",', "[[kernel]]", "has no source that ends in .cu"),
    ('source = "train.py"\n', "", "[[kernel]]", "but this kernel has no source"),
    ("gbytes_per_s", "gb", "published", "unknown key 'gb'"),
    ("1870", '"1870"', "published", "gbytes_per_s must be a number"),
    ("1870", "0", "published", "gbytes_per_s must be above 0, not 0"),
    ("1870", "inf", "published", "gbytes_per_s must be above 0, not inf"),
    ("1870", "9" * 400, None, "a number of more than 80 digits"),
    ("against = 1", "against = 7", "against", "against is the number of another kernel of the ladder, not 7"),
    ("against = 1", "against = 2", "against", "against is the number of another kernel of the ladder, not 2"),
    ("against = 1", 'against = "eager"', "against", "against must be a whole number"),
    ('"faster"', '"better"', "expects", "expects is one of faster, same, slower, not 'better'"),
    ('"faster"', "1.5", "expects", "expects must be text in quotes"),
    ("[workload]", "[workload", "[workload", "not TOML: "),
    ("[workload]", "[workload]\nbatch = 1", "batch = 32", "not TOML: "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "start", "reason"), BAD, ids=[f"{case[1][:20]}-{case[3][:25]}" for case in BAD]
)
def test_a_bad_file_is_refused_with_its_line(ladder_file, old, new, start, reason):
    text = GOOD.replace(old, new, 1)
    assert text != GOOD
    ladder_file.write_text(text)
    with pytest.raises(LadderInvalid) as caught:
        read_ladder(ladder_file)
    message = str(caught.value)
    assert reason in message
    if start is None:
        return
    assert message.startswith(f"{ladder_file}:"), message
    line = int(message.removeprefix(f"{ladder_file}:").split(":")[0])
    assert text.splitlines()[line - 1].startswith(start)


def test_no_kernels_at_all(tmp_path):
    path = tmp_path / "ladder.toml"
    for text in (
        'title = "x"',
        'title = "x"\nkernel = []',
        'title = "x"\nkernel = 3',
        'title = "x"\nkernel = [3]',
    ):
        path.write_text(text)
        with pytest.raises(LadderInvalid, match="kernel"):
            read_ladder(path)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a = " + b"[" * 5000, b"\n" * 5000, b"", b"\x00"])
def test_a_file_that_holds_no_ladder_is_refused(tmp_path, content):
    path = tmp_path / "ladder.toml"
    path.write_bytes(content)
    with pytest.raises(LadderInvalid):
        read_ladder(path)


@given(st.data())
def test_a_line_lost_or_garbled_is_a_ladder_or_a_refusal(tmp_path_factory, data):
    lines = GOOD.splitlines()
    at = data.draw(st.integers(0, len(lines) - 1))
    lines[at] = data.draw(st.one_of(st.just(""), st.text(max_size=20), st.sampled_from(lines)))
    path = tmp_path_factory.getbasetemp() / "garbled.toml"
    path.write_text("\n".join(lines), errors="replace")
    try:
        read_ladder(path)
    except LadderInvalid as error:
        refusal = str(error)
    else:
        return
    assert refusal.startswith(str(path))


def test_the_line_is_that_of_the_statement_whatever_its_text_holds(tmp_path):
    path = tmp_path / "tricky.toml"
    path.write_text(
        '# [ a comment "\ntitle = """\n]]] \\""" \u2028 [ "\n"""""\n'
        'flags = [ # [[\n  "]", \'[\',\n\n]\n"quo[ted" = 1\n[workload]\n'
    )
    with pytest.raises(LadderInvalid, match=r"tricky\.toml:9: unknown key 'quo\[ted'"):
        read_ladder(path)


def test_the_line_of_a_long_file_is_found_at_once():
    kernels = "".join(f'[[kernel]]\nnumber = {number}\nflags = [\n"[",\n]\n' for number in range(1000))
    started = time.process_time()
    assert line_of(kernels, ("kernel", 999, "flags")) == 4998
    one_list = "flags = [\n" + '["]"],\n' * 5000 + "]\nname = 1\n"
    assert line_of(one_list, ("name",)) == 5003
    assert time.process_time() - started < 1


def test_a_ladder_is_found_from_any_folder_below(ladder_file, tmp_path):
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert find_ladder("mine", deep) == ladder_file
    assert find_ladder("mine", ladder_file.parent) == ladder_file
    assert find_ladder(str(ladder_file), Path("/")) == ladder_file
    assert find_ladder(f"{ladder_file.parent}/", Path("/")) == ladder_file
    with pytest.raises(LadderNotFound, match=r"no ladder 'yours'.*there is mine") as caught:
        find_ladder("yours", deep)
    assert caught.value.remedy.startswith("Give one of these")
    with pytest.raises(LadderNotFound, match="nearest: mine;"):
        find_ladder("mien", deep)
    with pytest.raises(LadderNotFound) as caught:
        find_ladder("mine", Path("/"))
    assert "Go to a folder that holds `kernels/`" in caught.value.remedy
    with pytest.raises(LadderNotFound, match="no such ladder file"):
        find_ladder("elsewhere/ladder.toml", deep)


def test_a_ladder_is_looked_for_in_one_place_after_another(ladder_file, tmp_path):
    elsewhere = tmp_path.parent
    with pytest.raises(LadderNotFound):
        find_ladder("mine", elsewhere)
    assert find_ladder("mine", elsewhere, tmp_path / "runs") == ladder_file
    with pytest.raises(LadderNotFound, match=f"in {elsewhere} or {tmp_path} or above; there is mine"):
        find_ladder("yours", elsewhere, tmp_path)


def test_a_number_that_is_not_there_names_those_that_are(ladder_file):
    ladder = read_ladder(ladder_file)
    with pytest.raises(RungNotFound, match="'mine' has no kernel 7; it has 1 to 2"):
        ladder.choose([1, 7])
    assert [kernel.number for kernel in ladder.choose([2, 1, 2])] == [1, 2]
    assert len(ladder.choose(None)) == 2


@pytest.mark.parametrize(
    ("size", "given_", "reason"),
    [
        (0, {}, "--size 0: a size is"),
        (-1, {}, "--size -1: a size is"),
        (2**63, {}, "--size 9223372036854775808: a size is"),
        (None, {"width": -1}, "--set-param width=-1: a parameter is a whole number from 0"),
        (None, {"depth": 1}, "'depth' is not a parameter of this workload; it has: batch, width"),
    ],
)
def test_sizes_that_are_none(ladder_file, size, given_, reason):
    with pytest.raises(WorkloadInvalid, match=reason):
        read_ladder(ladder_file).workload.values(size, given_)


def test_a_size_may_be_one_number_for_each_dimension():
    workload = Workload({"m": 4096, "n": 4096, "k": 4096, "seed": 1}, size=("m", "n", "k"))
    assert workload.values("512") == {"m": 512, "n": 512, "k": 512, "seed": 1}
    assert workload.values("128x16384x4096") == {"m": 128, "n": 16384, "k": 4096, "seed": 1}
    assert workload.values("128x16384x4096", {"k": 1})["k"] == 1


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        ("128x256", "give one number, or one for each of MxNxK"),
        ("1x2x3x4", "give one number, or one for each of MxNxK"),
        ("128xx4", "a size is a whole number from 1"),
        ("128x0x4", "a size is a whole number from 1"),
        ("large", "--size large: a size is a whole number from 1"),
        pytest.param("9" * 5000, "a size is a whole number from 1", id="more digits than Python reads"),
        ("4e3", "a size is a whole number from 1"),
    ],
)
def test_dimensions_that_are_none(size, reason):
    with pytest.raises(WorkloadInvalid, match=reason):
        Workload({"m": 1, "n": 1, "k": 1}, size=("m", "n", "k")).values(size)


def test_a_size_reads_as_one_writes_it():
    assert size_text({"m": 4096, "n": 4096, "k": 4096}) == "m=n=k=4096"
    assert size_text({"m": 1, "n": 2}) == "m=1 n=2"
    assert size_text({"n": 7}) == "n=7"
    assert size_text({}) == ""


def test_every_refusal_has_a_remedy():
    for error in (LadderInvalid, LadderNotFound, RungNotFound, WorkloadInvalid):
        assert issubclass(error, ProfError)
        assert error.remedy
