"""Whether two recordings of a program say that it was called alike."""

from dataclasses import replace

import pytest
from msgspec import structs

from profiler.analyse.compare.compare import compare_profiles
from profiler.analyse.recording.profile import profile_kernel
from profiler.store.runs.manifest import Provenance

NCU = "/opt/ncu --clock-control none -f --metrics a,b --import-source yes -o"
UNKNOWN = "not recorded, and may differ: the workload"


@pytest.fixture
def cautions(make_run):
    """The cautions about two recordings of the kernel k, or of `kernels`; each has fields of its own, or is a command."""

    def compared(*sides, kernels=("k", "k")):
        profiles = []
        for number, (fields, kernel) in enumerate(zip(sides, kernels, strict=True)):
            given = {"command_line": fields} if isinstance(fields, str) else fields
            launch = {"kernel": kernel, "ns": 100.0 + number}
            run = make_run(launch, launch, workload=None)
            manifest = structs.replace(run.manifest, **given)
            profiles.append(profile_kernel(replace(run, manifest=manifest), kernel))
        said = compare_profiles(*profiles).comparable.warnings
        return [one for one in said if "another process" not in one]

    return compared


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("./a.out 4096", "./a.out 4096"),
        ("./a.out", "./a.out"),
        ("before/a.out 4096", "/opt/after/a.out 4096"),
        ("python train.py --rows 4096", "python train.py --rows 4096"),
    ],
)
def test_a_program_that_was_called_alike_needs_no_caution(cautions, one, other):
    assert cautions(f"{NCU} before {one}", f"{NCU} after --nvtx {other}") == []


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("./a.out 4096", "./a.out 8192", "4096 against 8192"),
        ("./a.out 4096", "./a.out", "4096 against none"),
        ("v1/a.out 4096", "v2/b.out 8192", "4096 against 8192"),
        ("./a.out --m 1 --n 2 --k 3", "./a.out --m 1 --n 4 --k 3", "--n 2 against --n 4"),
        ("./a.out 1 2 2", "./a.out 1 2 2 2", "none against 2"),
        ("./a.out 'two words'", "./a.out two words", "'two words' against two words"),
        ("./a.out /home/me/small.bin", "./a.out /home/me/large.bin", "small.bin against large.bin"),
        (f"./a.out {'x' * 99} 1", f"./a.out {'y' * 99} 1", f"{'x' * 39}…{'x' * 20} against {'y' * 39}…{'y' * 20}"),
    ],
)  # fmt: skip
def test_arguments_that_differ_are_named_instead(cautions, one, other, said):
    assert cautions(f"{NCU} r {one}", f"{NCU} r {other}") == [f"the arguments of the programs differ: {said}"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (f"{NCU} r ./a.out 4096", ""),  # versions of ncu before 2022
        (f"{NCU} r ./a.out 4096", "ncu --mode attach -o r"),  # ncu did not start it
        (f"{NCU} r ./a.out 4096", f"{NCU} r ./b.out 4096"),
        (f"{NCU} r ./a.out small/in.bin", f"{NCU} r ./a.out large/in.bin"),
        (f"{NCU} r ./a.out 4096", {"workload": {"m": 4096}, "command_line": f"{NCU} r ./a.out 4096"}),
        (f"{NCU} r python f.py", {"provenance": Provenance(runtime="Python 3.12"), "command_line": f"{NCU} r python f.py"}),
    ],
)  # fmt: skip
def test_the_caution_stays_where_the_commands_do_not_tell(cautions, one, other):
    assert cautions(one, other) == [UNKNOWN]


def test_of_kernels_of_other_names_the_caution_says_only_what_the_first_sentence_does_not(cautions):
    alike = (f"{NCU} r ./a.out 4096", f"{NCU} r ./a.out 4096")
    assert cautions(*alike, kernels=("add_rows", "add_columns")) == [UNKNOWN]
    (said,) = cautions(f"{NCU} r ./a.out 1", f"{NCU} r ./a.out 2", kernels=("add_rows", "add_columns"))
    assert said == "the arguments of the programs differ: 1 against 2"


def test_that_kernels_are_different_is_no_caution_as_the_first_sentence_says_it(cautions):
    calls = (f"{NCU} r ./a.out 4096", f"{NCU} r ./a.out 4096")
    assert cautions(*calls, kernels=("add", "mul")) == []


def test_what_has_a_workload_is_not_judged_by_its_command(cautions):
    sides = [{"workload": {"m": 1}, "command_line": f"{NCU} r ./a.out --seed {seed}"} for seed in (1, 2)]
    assert cautions(*sides) == []


def test_the_command_of_a_program_that_was_only_timed_counts_too(cautions):
    """The command that prof keeps of such a run is the program's own, without ncu."""
    timed = {"origin": "timed", "reports": [], "content_sha256": "0" * 64}
    profiled = f"{NCU} r ./a.out --rows 8192"
    assert cautions({**timed, "command_line": "./a.out --rows 8192"}, profiled) == []
    (said,) = cautions({**timed, "command_line": "./a.out --rows 4096"}, profiled)
    assert said.endswith("--rows 4096 against --rows 8192")
