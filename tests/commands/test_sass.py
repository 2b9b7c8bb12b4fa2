"""`prof sass`: every source and format, and windows of every width."""

import csv
import io
import json
import subprocess

import jsonschema
import pytest

STORY = ["A operand: 8 LDS -> 2 LDS.128 per k-step", "B operand: 2 LDS.128 per k-step, unchanged"]


@pytest.fixture
def sass(prof_recorded):
    return lambda *arguments: prof_recorded("sass", *arguments)


@pytest.fixture
def sources(recorded, reports):
    """The ways to name a pair of kernels."""
    return {
        "numbers": ("5", "6"),
        "names": ("gemm-5", "gemm-6"),
        "run ids": tuple(str(recorded.find(number, "gemm").manifest.run_id) for number in "56"),
        "files": (reports / "gemm_5.ncu-rep", reports / "gemm_6.ncu-rep"),
        "both": ("5", reports / "gemm_6.ncu-rep"),
    }


# Sources and formats


@pytest.mark.parametrize("kind", ["numbers", "names", "run ids", "files", "both"])
def test_two_kernels_are_named_as_everywhere(sass, sources, kind):
    result = sass(*sources[kind])
    assert (result.returncode, result.stderr) == (0, "")
    assert all(sentence in result.stdout for sentence in STORY)


def test_sass_shows_the_kernel_that_takes_most_of_the_time(sass, reports):
    page = sass(reports / "several.ncu-rep").stdout
    assert page.startswith(f"kernel  {reports / 'several.ncu-rep'}: offset(float *, float)")
    assert "caution: this kernel takes most of the time; `-k PATTERN` chooses 2 others" in " ".join(
        page.split()
    )

    pair = sass(reports / "several.ncu-rep", reports / "processes.ncu-rep").stdout
    assert "`-k PATTERN` chooses 2 others" in " ".join(pair.split())


def test_one_kernel_alone(sass):
    page = sass("6").stdout
    assert page.startswith("kernel  gemm 6")
    assert "A operand: 2 LDS.128 per k-step" in page
    assert "│" not in page


@pytest.mark.slow
def test_every_recorded_kernel_has_a_page_in_every_format(sass):
    for number in range(11):
        for format in ("table", "json", "markdown", "csv"):
            result = sass(number, "--format", format)
            assert (result.returncode, result.stderr) == (0, ""), (number, format)
            assert result.stdout.strip()


def test_the_json_is_small_and_follows_the_published_schema(sass):
    schema = json.loads(sass("--schema").stdout)
    for pair in (("5", "6"), ("0", "10"), ("9",)):
        text = sass(*pair, "--format", "json").stdout
        assert len(text) < 8192
        jsonschema.validate(json.loads(text), schema)
        assert [one["label"] for one in json.loads(text)["kernels"]] == [f"gemm {number}" for number in pair]


def test_the_json_says_what_the_page_says(sass):
    finding = json.loads(sass("5", "6", "--format", "json").stdout)
    assert (finding["schema_version"], finding["per"]) == (1, "step")
    assert [change["sentence"] for change in finding["changes"]] == STORY
    assert [kernel["shared"]["fmas_per_word"] for kernel in finding["kernels"]] == [4, 4]


def test_csv_has_every_opcode_and_markdown_a_row_for_each_row_of_the_page(sass):
    rows = list(csv.DictReader(io.StringIO(sass("5", "6", "--format", "csv").stdout)))
    assert {row["before_opcode"] for row in rows} >= {"LDS", "LDS.128", "FFMA"}
    page, markdown = (sass("5", "6", *more).stdout for more in ((), ("--format", "markdown")))
    counts = [line for line in page.split("\n\n")[-2].splitlines()[2:] if "┼" not in line]
    table = markdown.split("\n\n")[-2].splitlines()[2:]
    assert len(table) == len(counts) > 5
    assert "| 128 | 8 | LDS | 59 |  |  |  |  |" in table


# What is shown


def test_the_listing_has_every_instruction(sass):
    page = sass("6", "--listing").stdout
    assert page.count(" FFMA R") == 1024
    assert page.count(" LDS.128 R") == 64


def test_the_whole_function_has_what_is_around_the_loop(sass):
    loop, whole = sass("6").stdout, sass("6", "--full").stdout
    assert "STG.E.128" not in loop
    assert "STG.E.128" in whole
    assert "the whole function" in whole


def test_where_the_first_cause_is_is_said_if_it_is_not_in_the_loop(sass, reports):
    """The next tile is loaded in the outer loop, and used in the inner one."""
    report = reports / "gemm_6.ncu-rep"
    said = "The first cause, loads-not-overlapped, is not in this loop, but in LDG.E.128 at sgemm.cu:63."
    assert said in " ".join(sass(report).stdout.split())
    assert "The first cause" not in sass(report, "--full").stdout
    assert "The first cause" not in sass(reports / "gemm_5.ncu-rep").stdout


def test_a_kernel_is_chosen_where_a_report_holds_several(prof_here, store):
    run = ["--runs", store.root, "sass"]
    assert prof_here(*run, "several", "-k", "offset").stdout.startswith("kernel  several: offset(")
    page = prof_here(*run, "several", "processes", "-k", "offset")
    assert page.returncode == 0
    assert (
        "caution: processes: nothing was counted: every instruction of the function counts as" in page.stdout
    )


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "prof sass 5 6"),
        (["5", "6", "--listing", "--format", "json"], 2, "--format csv --listing"),
        (["99"], 21, "no run of kernel 99"),
        (["gemm-5-timed"], 25, "timings alone"),
        (["5", "--kernel-name", "nothing"], 33, "'nothing'"),
    ],
)
def test_a_recording_that_cannot_be_shown_is_one_message(sass, reports, arguments, code, words):
    result = sass(*(word.format(reports=reports) for word in arguments))
    assert result.returncode == code
    assert words in result.stderr
    if "json" in arguments:
        assert words in json.loads(result.stdout)["error"]["message"]
    else:
        assert result.stdout == ""


@pytest.mark.parametrize(
    "options",
    [[], ["--listing"], ["--full"], ["--format", "csv"], ["--format", "markdown"], ["--format", "json"]],
    ids=" ".join,
)
def test_names_out_of_reports_act_on_nothing(prof_here, make_run, hostile_names, tmp_path, options):
    """The kernel's name, and the instructions of a report that somebody made up."""
    everything = " ".join(hostile_names[:-1]).encode("utf-8", "replace").decode()
    instructions = [*((name, 5) for name in hostile_names), ("FFMA", 7)]
    launch = {"kernel": everything, "gpu": everything, "instructions": instructions}
    make_run(launch, name="hostile", root=tmp_path)
    result = prof_here("--runs", tmp_path, "sass", "hostile", *options)
    assert (result.returncode, result.stderr) == (0, "")
    assert all(line.isprintable() for line in result.stdout.split("\n"))
    assert not any(line.startswith("prof: all is well") for line in result.stdout.splitlines())


# On a terminal


@pytest.mark.parametrize("width", [60, 100])
def test_the_page_fits_the_window(prof_on_a_terminal, recorded, width):
    page = prof_on_a_terminal("--runs", recorded.root, "sass", "5", "6", width=width, NO_COLOR="1")
    code = page[page.index("unchanged") :]
    assert max(map(len, code.splitlines())) <= width
    assert "LDS.128" in code
    assert ("│" in code) == (width >= 80)


def test_widths_are_coloured_on_a_terminal_unless_forbidden(prof_on_a_terminal, recorded):
    words = ("--runs", recorded.root, "sass", "5", "6")
    coloured, plain = (prof_on_a_terminal(*words, **environment) for environment in ({}, {"NO_COLOR": "1"}))
    assert "\x1b[1;33mLDS\x1b[0m" in coloured
    assert "\x1b[1;32mLDS.128\x1b[0m" in coloured
    assert "\x1b" not in plain


# Files of machine code

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry sum_rows(.param .u64 out, .param .u32 n)
{
    .reg .b32 %r<8>; .reg .b64 %d<4>; .reg .f32 %f<3>; .reg .pred %p<3>;
    ld.param.u64 %d1, [out];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, 0;
outer:
    mov.u32 %r3, 0;
    mov.f32 %f1, 0f00000000;
inner:
    mul.wide.u32 %d2, %r3, WIDTH;
    add.u64 %d3, %d1, %d2;
    ld.volatile.global.f32 %f2, [%d3];
    fma.rn.f32 %f1, %f2, %f2, %f1;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p1, %r3, %r1;
    @%p1 bra inner;
    st.global.f32 [%d1], %f1;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p2, %r2, %r1;
    @%p2 bra outer;
    ret;
}
"""


@pytest.fixture
def cubin(tmp_path, needs):
    """`cubin("a.cubin", 4)`: a kernel with two nested loops that reads every fourth byte."""

    def make(name, width):
        needs("cuobjdump")
        (tmp_path / "kernel.ptx").write_text(PTX.replace("WIDTH", str(width)))
        path = tmp_path / name
        subprocess.run([needs("ptxas"), "-arch=sm_90", tmp_path / "kernel.ptx", "-o", path], check=True)
        return path

    return make


def test_the_loop_of_a_cubin_is_found_by_its_structure(prof_here, cubin):
    done = prof_here("sass", cubin("a.cubin", 4), "--format", "json")
    assert done.returncode == 0, done.stderr
    (kernel,) = json.loads(done.stdout)["kernels"]
    assert (kernel["kernel_name"], kernel["scope"]) == ("sum_rows", "loop")
    assert (kernel["iterations"], kernel["executed_pct"]) == (None, None)
    opcodes = {one["opcode"].split(".")[0]: one["count"] for one in kernel["opcodes"]}
    assert opcodes["LDG"] == opcodes["FFMA"] > 0
    assert "STG" not in opcodes  # the outer loop's
    assert kernel["cautions"][0].startswith("nothing was counted")


def test_two_files_stand_side_by_side_whatever_they_are_called(prof_here, cubin):
    before, after = cubin("a.cubin", 4), cubin("program", 128)
    page = prof_here("sass", before, after)
    assert page.returncode == 0, page.stderr
    assert "before  " in page.stdout
    assert "the loop from 0x" in page.stdout
    whole = prof_here("sass", before, "--full")
    assert "the whole function, 0x0 to 0x" in whole.stdout
    assert "STG" in whole.stdout


def test_a_file_that_is_not_there_is_one_message(prof_here, tmp_path):
    done = prof_here("sass", tmp_path / "gone.cubin")
    assert (done.returncode, "no such file" in done.stderr) == (93, True)


def test_a_file_with_several_kernels_gets_a_hint_that_suits_files(prof_here, cubin, tmp_path):
    for name in ("a.cubin", "b.cubin"):
        (tmp_path / "both").mkdir(exist_ok=True)
        cubin(f"both/{name}", 4 if name == "a.cubin" else 128)
    done = prof_here("sass", tmp_path / "both")
    assert done.returncode == 32
    assert "`prof check --sass` compares all" in done.stderr
    assert "prof show" not in done.stderr
