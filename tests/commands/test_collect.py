"""`prof collect` as one types it, with an ncu that replays what the real one said on an H200."""

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from terminal import write_tool

from profiler.store.runs.run_store import RunStore

FAKE_NCU = Path(__file__).parents[1] / "measuring" / "fake_ncu.py"

# Writes its words to the log of the fake ncu, so that all that was started stands in one order.
PROGRAM = """
import json, os, sys
with open(os.environ["FAKE_NCU_LOG"], "a") as log:
    log.write(json.dumps({"words": sys.argv}) + "\\n")
if sys.argv[2] == "time":
    print(json.dumps({"kernel_ns": 2000.0, "reference_ns": 1000.0}))
if sys.argv[2] == "check":
    sys.exit(4 if sys.argv[1] == "4" else 0)
"""

LADDER = f"""
title = "Scripts"
command = ["{sys.executable}", "-ISc", "pass", "{{kernel}}", "profile", "{{size}}", "{{seed}}"]
time = ["{{folder}}/program.py", "{{kernel}}", "time", "{{size}}", "{{seed}}"]
check = ["{{folder}}/program.py", "{{kernel}}", "check", "{{size}}", "{{seed}}"]
[workload]
size = 100
"""

COMPILED = """
title = "Compiled"
command = ["{binary}", "{kernel}", "profile", "{size}", "--launches", "{launches}", "--seed", "{seed}"]
[workload]
size = 100
"""

RUNG = """
[[kernel]]
number = {number}
name = "rung{number}"
idea = "an idea"
regex = "rung|gemm"
skip = {number}
"""

NVCC = (Path(__file__).parents[1] / "measuring" / "fake_nvcc.sh").read_text()


@dataclass
class Here:
    """Somebody's folder with a ladder of scripts and one that is compiled, on a machine with a GPU and ncu."""

    folder: Path
    run: Callable[..., subprocess.CompletedProcess[str]]
    environment: dict[str, str]
    patch: pytest.MonkeyPatch

    def prof(self, *words):
        return self.run(*words)

    def collect(self, *words):
        return self.run("collect", *words)

    def scripts(self, *words):
        """Neither verified nor timed, once, with as many launches as the transcript `four-way` has."""
        quick = ("--no-verify", "--repeats", 0, "--processes", 1, "--launches", 2)
        return self.collect("--ladder", "scripts", *quick, *words)

    def replay(self, *names, pace=0.0):
        """Sets what ncu replays from now on: one transcript a call, the last for all that follow."""
        self.log.write_text("")
        self.setenv("FAKE_NCU", ",".join(names))
        self.setenv("FAKE_NCU_PACE", str(pace))

    def setenv(self, name, value):
        self.environment[name] = value
        self.patch.setenv(name, value)

    def tool(self, name, text):
        write_tool(self.folder / "bin" / name, text)

    @property
    def log(self):
        return self.folder / "log"

    @property
    def started(self):
        """All that ncu and the programs were called with, in their order."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    @property
    def calls(self):
        """Returns the calls of ncu alone."""
        return [call for call in self.started if "folder" in call]

    @property
    def runs(self):
        store = RunStore(self.folder / "runs")
        return [store.open(run_id) for run_id in store.ids()]


def furnish(here):
    for name, text in (("scripts", LADDER), ("compiled", COMPILED)):
        folder = here.folder / "kernels" / name
        folder.mkdir(parents=True)
        rungs = ""
        for number in range(1, 6):
            rungs += RUNG.format(number=number)
            if name == "compiled":
                rungs += f'source = "{number}.cu"\n'
                (folder / f"{number}.cu").write_text(f"#!/bin/sh\n# {'broken' if number == 5 else number}\n")
        (folder / "ladder.toml").write_text(text + rungs)
    write_tool(here.folder / "kernels" / "scripts" / "program.py", f"#!{sys.executable} -IS\n{PROGRAM}")
    here.tool("nvidia-smi", 'echo "NVIDIA H200, 9.0, 580.1, GPU-0"')
    here.tool("ncu", f'exec {sys.executable} -S "{FAKE_NCU}" "$@"')
    here.tool("nvcc", NVCC)
    return here


@pytest.fixture
def here(tmp_path, prof_here, reader_without_code, monkeypatch):
    """Runs the command in this process, with one reader of reports for all tests."""
    home = tmp_path / "home" / "jane"
    home.mkdir(parents=True)
    made = furnish(Here(home, prof_here, {}, monkeypatch))
    monkeypatch.chdir(home)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", f"{home}/bin:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_NCU_LOG", str(made.log))
    monkeypatch.setattr(
        "profiler.measuring.fleet.assign.Sandbox", lambda workers: nullcontext(reader_without_code)
    )
    made.replay("four-way")
    before = signal.getsignal(signal.SIGTERM)
    yield made
    signal.signal(signal.SIGTERM, before)


def after(call, option):
    return call["words"][call["words"].index(option) + 1]


# From a number to a run


def test_its_help_imports_nothing_that_measures_or_analyses():
    command = [sys.executable, "-X", "importtime", "-m", "profiler", "collect", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    loaded = {line.rpartition("|")[2].strip() for line in said.splitlines()}
    assert loaded.isdisjoint({"asyncio", "pebble", "pyarrow", "rich", "profiler.present.document"})
    assert not [name for name in loaded if name.startswith(("profiler.analyse", "profiler.cluster"))]


def test_a_compiled_rung_becomes_a_run_and_is_not_measured_twice(here):
    words = ("--ladder", "compiled", "--kernel", "1-2", "--launches", 2, "--processes", 1)
    done = here.collect(*words)
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:3]] == [
        ["collected", "compiled-1"],
        ["collected", "compiled-2"],
    ]
    assert done.stderr.splitlines()[-1] == "next: prof compare 1 2 --ladder compiled"
    assert [(run.manifest.kernel, run.manifest.launches) for run in here.runs] == [(1, 2), (2, 2)]
    assert len(here.calls) == 2

    again = here.collect(*words)
    assert [line.split()[0] for line in again.stdout.splitlines()[1:3]] == ["known", "known"]
    assert len(here.calls) == 2

    (here.folder / "kernels" / "compiled" / "2.cu").write_text("#!/bin/sh\n# another idea\n")
    changed = here.collect(*words, "--format", "json")
    assert {row["run"]: row["status"] for row in json.loads(changed.stdout)} == {
        "compiled-1": "known",
        "compiled-2": "collected",
    }
    assert len(here.calls) == 3

    here.collect(*words, "--again")
    assert len(here.calls) == 5


def test_its_report_can_be_published(here):
    """Neither ncu's command line, nor the folder, nor the program's name lie in anybody's home."""
    here.scripts("--ladder", "compiled", "--kernel", 3)
    (call,) = here.calls
    assert "jane" not in call["folder"]
    assert not [word for word in call["words"] if "jane" in word]
    assert call["words"][call["words"].index("--export") + 2] == "./03_rung3"
    assert after(call, "--launch-skip") == "3"
    assert after(call, "--launches") == after(call, "--launch-count") == "2"
    assert not Path(call["folder"]).exists()


def test_with_cwd_it_runs_where_it_is_told_to(here):
    (here.folder / "data").mkdir()
    here.scripts("--ladder", "compiled", "--kernel", 3, "--cwd", "data")
    (call,) = here.calls
    assert call["folder"] == str(here.folder / "data")
    assert str(here.folder / "build" / "compiled" / "sm_90" / "03_rung3") in call["words"]


def test_the_next_command_names_this_gpu_when_the_project_means_another(here):
    (here.folder / "prof.toml").write_text('gpu = "a100"\n')
    done = here.collect("--name", "mine", "--processes", 1, "--", "./mine")
    assert done.stderr.splitlines()[-1] == "next: prof show mine --gpu H200"


def test_a_kernel_is_chosen_as_users_of_ncu_write_it_too(here):
    here.collect("--name", "mine", "-k", "regex:gemm", "--processes", 1, "--", "./mine")
    here.collect("--name", "mine", "-k", "scale", "--processes", 1, "--", "./mine")
    assert [after(call, "--kernel-name") for call in here.calls] == ["regex:gemm", "regex:scale"]


def test_any_program_gets_its_words_as_they_are(here):
    words = ["./mine", "$HOME; touch x", "a  b", "*", "`id`", "'\"", "", "-v", "--name", "--", "ü"]
    done = here.collect("--name", "Mine, all", "--kernel-name", "ge|mm $x", "--launch-skip", 3, "--launches", 2,
                        "--processes", 1, "--", *words)  # fmt: skip
    assert done.returncode == 0, done.stderr
    (call,) = here.calls
    assert call["words"][-len(words) :] == words
    assert (after(call, "--kernel-name"), after(call, "--launch-skip")) == ("regex:ge|mm $x", "3")
    assert call["folder"] == str(here.folder)
    (run,) = here.runs
    assert run.manifest.name == "mine-all"
    assert done.stderr.splitlines()[-1] == "next: prof show mine-all"
    assert not (here.folder / "x").exists()


def test_a_program_that_launches_less_than_nobody_asked_for_is_fine(here):
    """Without --launches, five at most; with it, exactly so many."""
    done = here.collect("--name", "mine", "--processes", 1, "--", "./mine")
    assert done.returncode == 0, done.stderr
    assert after(here.calls[0], "--launch-count") == "5"
    assert here.collect("--name", "mine", "--processes", 1, "--launches", 5, "--", "./mine").returncode == 66


def test_the_sheet_holds_the_times_of_a_verified_kernel(here):
    done = here.collect(
        "--ladder", "scripts", "--kernel", 1, "--launches", 2, "--processes", 1, "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["unprofiled_ns"], row["reference_pct"], row["launches"]) == (2000.0, 50.0, 2)
    assert row["profiled_ns"] > 0
    assert "verified    kernel 1 (rung1) at size=100" in done.stderr
    assert [one.get("folder") is not None for one in here.started] == [False, False, True]


@pytest.mark.slow
def test_a_rung_without_a_kernel_of_its_own_is_timed_and_stands_in_the_ladder(here):
    ladder = here.folder / "kernels" / "scripts" / "ladder.toml"
    ladder.write_text(ladder.read_text().replace('name = "rung1"', 'name = "copy"\nprofile = false', 1))
    words = ("--ladder", "scripts", "--kernel", "1-2", "--launches", 2, "--processes", 1)

    dry = joined(here.collect(*words, "--dry-run"))
    assert dry[0] == "# kernel 1 (copy) at size=100 is timed, not profiled"
    assert [line.split()[1] for line in dry if "ncu" in line and "--export scripts-1" in line] == []

    done = here.collect(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    copy, rung = json.loads(done.stdout)
    assert (copy["run"], copy["unprofiled_ns"], copy["profiled_ns"]) == ("scripts-1-timed", 2000.0, None)
    assert (rung["run"], rung["launches"]) == ("scripts-2", 2)
    assert "timed       kernel 1 (copy) at size=100, process 1 of 1" in done.stderr
    climb = json.loads(here.prof("ladder", "--ladder", "scripts", "--format", "json").stdout)
    assert [(one["name"], one["duration_ns"]) for one in climb["kernels"]] == [
        ("copy", 2000.0),
        ("rung2", 2000.0),
    ]

    left_out = here.scripts("--kernel", "1-2")
    assert (
        "left out    kernel 1 (copy) at size=100: it is not profiled, and --repeats 0 times"
        in left_out.stderr
    )
    nothing = here.scripts("--kernel", 1)
    assert (nothing.returncode, "--repeats 0 leaves nothing to measure" in nothing.stderr) == (2, True)


# What goes wrong


@pytest.mark.parametrize(
    ("transcript", "words", "code", "told"),
    [
        ("no-kernel", [], 65, "      void gemm_05_tile_2d<(bool)1>("),
        ("fewer", ["--launches", 5], 66, "3 of 5 launches were profiled"),
        ("folder-absent", [], 67, "    ==ERROR== Unable to write to file x.ncu-rep."),
        ("program-fails", [], 55, "    the loss is NaN"),
        ("program-out-of-memory", [], 58, "    torch.OutOfMemoryError: CUDA out of memory."),
        ("program-refuses-shape", [], 59, "    error: A of 300000 x 300000 has more than"),
        ("counters-refused", [], 63, "NVreg_RestrictProfilingToAdminUsers=0"),
        ("counters-busy", [], 64, "dcgmi profile --pause"),
        ("unknown-section", ["--section", "NoSuchSection"], 68, "==ERROR== Option '--section NoSuchSection'"),
        ("unknown-metric", ["--preset", "four-way", "--metric", "no__such_metric.sum"], 49, "--query-metrics"),
    ],
)  # fmt: skip
def test_one_error_with_the_command_its_last_lines_and_what_to_do(here, transcript, words, code, told):
    here.replay(transcript)
    done = here.scripts("--kernel", 1, *words)

    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    errors = [line for line in done.stderr.splitlines() if not line.startswith("profiled")]
    assert errors[0].startswith("prof: ")
    assert errors[1].startswith(f"  {here.folder}/bin/ncu --config-file off")
    assert errors[-1].startswith("      ")
    assert here.runs == []


def test_the_command_of_an_error_can_be_run_by_hand(here):
    """The folder that a compiled rung runs in is gone by then, and so is its copy there."""
    here.replay("program-fails")
    command = shlex.split(here.scripts("--ladder", "compiled", "--kernel", 3).stderr.splitlines()[2])
    at = command.index("--export")
    assert command[at + 1] == "compiled-3.ncu-rep"
    assert Path(command[at + 2]).exists()


def test_a_wrong_result_is_not_profiled(here):
    done = here.collect("--ladder", "scripts", "--kernel", 4, "--processes", 1)
    assert done.returncode == 60
    assert "computes a wrong result, seed" in done.stderr
    assert "program.py 4 check 100" in done.stderr
    assert (here.calls, here.runs) == ([], [])


def test_a_program_that_hangs_is_ended(here):
    here.replay("hung", pace=1)
    done = here.scripts("--kernel", 1, "--timeout", 0.7)
    assert done.returncode == 56
    assert "did not end within 0.7 s" in done.stderr
    assert "--timeout SECONDS" in done.stderr
    assert here.runs == []


@pytest.mark.parametrize(
    ("tool", "text", "code"),
    [("ncu", 'echo "Version 2021.1.0.0 (build 1)"', 62), ("ncu", "exit 1", 51), ("nvidia-smi", "exit 9", 52)],
)
def test_without_the_tools_nothing_begins(here, tool, text, code):
    here.tool(tool, text)
    assert here.scripts("--kernel", 1).returncode == code
    assert not (here.folder / "runs").exists()


@pytest.mark.parametrize(
    ("words", "code"), [(["--kernel", 99], 46), (["--kernel", 1, "--ladder", "nope"], 44)]
)
def test_a_kernel_that_the_ladder_lacks_is_said_before_a_missing_tool(here, words, code):
    here.tool("ncu", "exit 1")
    assert here.scripts(*words).returncode == code


def test_a_failure_to_compile_is_reported_as_it_is(here):
    done = here.scripts("--ladder", "compiled", "--kernel", 5)
    assert done.returncode == 53
    assert "error: expected a semicolon" in done.stderr
    assert here.calls == []


def test_a_failed_kernel_does_not_stop_the_others_and_each_failure_is_reported(here):
    here.replay("four-way", "program-fails", "four-way")
    done = here.scripts("--kernel", "1-3")
    assert done.returncode == 71
    assert "failed      kernel 2 (rung2) at size=100 failed (exit code 7 under ncu)" in done.stderr
    assert "    the loss is NaN" in done.stderr
    assert "1 of 3 kernels were not collected" in done.stderr
    assert [run.manifest.kernel for run in here.runs] == [1, 3]
    assert [line.split()[1] for line in done.stdout.splitlines()[1:]] == ["scripts-1", "scripts-3"]


def test_each_report_that_cannot_be_read_is_named(here):
    here.replay("unknown-metric")
    done = here.scripts("--kernel", "1-2", "--preset", "four-way", "--metric", "no__such_metric.sum")
    assert done.returncode == 71
    for number in (1, 2):
        assert f"failed      scripts-{number}-four-way: ncu recorded nothing for no__such" in done.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "--kernel 6"),
        (["--kernel", "1", "--all"], "exclude each other"),
        (["--kernel", "1", "--name", "x", "--", "./mine"], "not both"),
        (["--kernel", "1", "--name", "x"], "for a program of your own"),
        (["--kernel", "1", "--kernel-name", "x"], "for a program of your own"),
        (["--kernel", "9" * 5000], "a range such as 4-6"),
        (["--kernel", "3-2"], "a range such as 4-6"),
        (["--kernel", "one"], "a range such as 4-6"),
        (["--kernel", "1", "--processes", "0"], "--processes"),
        (["--kernel", "1", "--clock-control", "fast"], "--clock-control"),
        (["--kernel", "1", "--cwd", "nowhere"], "--cwd"),
    ],
)
def test_a_command_line_without_a_clear_meaning_is_refused(here, words, told):
    done = here.collect("--ladder", "scripts", *words)
    assert done.returncode == 2
    assert told in done.stderr
    assert not (here.folder / "runs").exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--kernel", "9"], 46),
        (["--kernel", "1", "--preset", "fourway"], 61),
        (["--kernel", "1", "--metric", "durration"], 40),
        (["--kernel", "1", "--set-param", "n=5"], 47),
        (["--kernel", "1", "--gpus", "1"], 52),
        (["--kernel", "1", "--gpus", "1", "--dry-run"], 52),
    ],
)
def test_words_that_name_nothing_end_with_a_code_of_their_own(here, words, code):
    assert here.scripts(*words).returncode == code
    assert not here.log.read_text()


# A dry run


def typed(done):
    assert done.returncode == 0, done.stderr
    return [shlex.split(line) for line in joined(done)]


def joined(done):
    """The lines as a shell takes them: what a backslash ends goes on in the next."""
    return done.stdout.replace(" \\\n  ", " ").replace("\\\n", "").splitlines()


def without_place(words):
    """Neither where the report goes, nor the seed, nor the folder that a program lies in."""
    plain = list(words)
    if "--export" in plain:
        at = plain.index("--export")
        plain[at + 1 : at + 3] = ["REPORT", Path(plain[at + 2]).name]
    return [*plain[:-1], "SEED"]


@pytest.mark.slow
def test_it_prints_what_would_be_run_in_that_order_and_starts_nothing(here):
    words = ("--ladder", "scripts", "--kernel", "1-2", "--processes", 2, "--launches", 2, "--size", 10)
    lines = typed(here.collect(*words, "--dry-run"))
    assert not here.log.read_text()
    assert not (here.folder / "runs").exists()

    assert here.collect(*words).returncode == 0
    ran = [
        [str(here.folder / "bin" / "ncu"), *call["words"]] if "folder" in call else call["words"]
        for call in here.started
    ]
    assert [without_place(line) for line in lines] == [without_place(words) for words in ran]
    assert len(lines) == 2 + 2 * (2 + 2)


def test_no_command_overwrites_the_report_of_another(here):
    sizes = ["--size", 10, "--size", 20]
    lines = typed(here.scripts("--kernel", "1-2", *sizes, "--processes", 2, "--dry-run"))
    exports = [line[line.index("--export") + 1] for line in lines if "--export" in line]
    assert sorted(exports) == [
        f"scripts-{kernel}.{number}ncu-rep" for kernel in (1, 2) for number in ("2.", "3.", "4.", "")
    ]


def test_it_prints_the_compiler_too_and_the_same_words_for_a_compiled_rung(here):
    words = ("--ladder", "compiled", "--kernel", 3, "--processes", 1, "--launches", 2)
    compiler, profiler = typed(here.collect(*words, "--dry-run"))
    assert compiler[0] == str(here.folder / "bin" / "nvcc")
    assert compiler[-1] == str(here.folder / "build" / "compiled" / "sm_90" / "03_rung3")
    assert not (here.folder / "build").exists()

    here.collect(*words)
    (call,) = here.calls
    assert without_place(profiler[1:]) == without_place(call["words"])


def test_words_are_quoted_as_a_shell_needs_them(here):
    words = ["./mine", "$HOME; touch x", "a  b", "*", "'\"", ""]
    (line,) = typed(here.collect("--name", "mine", "--processes", 1, "--dry-run", "--", *words))
    assert line[-len(words) :] == words


def test_a_long_command_is_folded_as_a_shell_takes_it(here):
    words = ["./mine", "a,b", "'c, d'", *(f"word-{number}" for number in range(40)), "x" * 300]
    done = here.collect("--name", "mine", "--processes", 1, "--dry-run", "--", *words)
    *lines, last = done.stdout.splitlines()
    assert last == f"  {'x' * 300}"
    assert len(lines) > 20
    assert max(map(len, lines)) <= 100
    assert all(line.endswith("\\") for line in lines)
    script = f"set -- {done.stdout}\nprintf '%s\\n' \"$@\""
    taken = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert taken.stdout.splitlines() == typed(done)[0]
    assert taken.stdout.splitlines()[-len(words) :] == words


def kernels_of(lines):
    return [(line[-4], line[-2]) for line in lines if "--export" in line]


@pytest.mark.parametrize(
    ("words", "kernels"),
    [
        (["--kernel", "2-4"], "234"),
        (["--kernel", "4", "--kernel", "1-2", "--kernel", "2"], "124"),
        (["--kernel", "4-99"], "45"),
        (["--all"], "12345"),
    ],
)
def test_kernels_are_chosen_one_by_one_by_range_or_all(here, words, kernels):
    assert kernels_of(typed(here.scripts(*words, "--dry-run"))) == [(number, "100") for number in kernels]


@pytest.mark.parametrize(
    ("words", "sizes"),
    [
        (["--size", 10, "--size", 20], ["10", "20"]),
        (["--size", 10, "--size", 10], ["10"]),
        (["--set-param", "size=30"], ["30"]),
        (["--size", 10, "--size", 20, "--set-param", "size=30"], ["30"]),
    ],
)
def test_every_size_once(here, words, sizes):
    assert kernels_of(typed(here.scripts("--kernel", 1, *words, "--dry-run"))) == [
        ("1", one) for one in sizes
    ]


def test_every_option_for_ncu_arrives(here):
    (line,) = typed(
        here.scripts(
            "--kernel", 1, "--preset", "four-way", "--section", "LaunchStats", "--metric", "registers,a__b.sum",
            "--set", "basic", "--replay-mode", "application", "--graph-profiling", "graph", "--clock-control", "base",
            "--cache-control", "none", "--ncu-option", "--nvtx", "--ncu-option", "--apply-rules=no", "--dry-run",
        )
    )  # fmt: skip
    for option, value in (
        ("--section", "LaunchStats"), ("--set", "basic"), ("--replay-mode", "application"),
        ("--graph-profiling", "graph"), ("--clock-control", "base"), ("--cache-control", "none"),
    ):  # fmt: skip
        assert line[line.index(option) + 1] == value
    assert line[line.index("--metrics") + 1].endswith(",launch__registers_per_thread,a__b.sum")
    assert line[line.index("--export") - 2 :][:2] == ["--nvtx", "--apply-rules=no"]


@pytest.fixture
def bare(here):
    """A laptop: no GPU, and neither an ncu nor an nvcc that works."""
    for tool in ("ncu", "nvcc", "nvidia-smi"):
        here.tool(tool, "exit 1")
    return here


def test_a_machine_without_a_gpu_and_its_tools_prints_it_with_words_that_stand_for_them(bare):
    done = bare.collect("--ladder", "compiled", "--kernel", 3, "--processes", 1, "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    *comments, compiler, profiler = joined(done)
    assert comments == [
        "# no ncu was found here: `ncu` stands for its path",
        "# no nvcc was found here: `nvcc` stands for its path, and cuBLAS is left out",
        "# no GPU was found here: XX stands for its architecture, 90 on an H100 or H200",
    ]
    assert compiler.startswith("nvcc -Xptxas=-v -lineinfo -gencode=arch=compute_XX,code=sm_XX ")
    assert profiler.startswith("ncu --config-file off ")
    assert f"--export compiled-3.ncu-rep {bare.folder}/build/compiled/sm_XX/03_rung3 3 profile" in profiler


def test_there_only_what_a_command_names_is_missing(bare):
    script = bare.scripts("--kernel", 1, "--dry-run")
    program = bare.collect("--name", "mine", "--processes", 1, "--gpus", "all", "--dry-run", "--", "./mine")
    for done in (script, program):
        comment, command = joined(done)
        assert comment == "# no ncu was found here: `ncu` stands for its path"
        assert command.startswith("ncu --config-file off ")


def test_no_worker_is_started_or_asked_to_print_it(bare):
    for crew in (["--slurm", "--partition=gpu"], ["--scheduler", "tcp://127.0.0.1:1"]):
        done = bare.scripts("--kernel", 1, *crew, "--dry-run")
        assert (done.returncode, done.stderr) == (0, "")


# Several GPUs


@pytest.fixture
def two_gpus(here):
    here.tool(
        "nvidia-smi",
        'for n in 0 1; do case "$*" in *noheader|*--id=$n|*--id=GPU-$n*)\n'
        'echo "NVIDIA H200, 9.0, 580.1, GPU-${n}2345678-9";; esac; done',
    )
    here.setenv("FAKE_NCU_PACE", "1")  # so that the first to be ready does not do it all before the other is
    return here


def places(here):
    """Which kernels were profiled where."""
    found = {}
    for call in here.calls:
        environment = call["environment"]
        uuid = environment["CUDA_VISIBLE_DEVICES"]
        assert environment["TMPDIR"].endswith(f"prof-{uuid.lower()[:12]}")
        assert environment["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
        found.setdefault(uuid, set()).add(f"{call['words'][-4]} at {call['words'][-2]}")
    return found


@pytest.mark.slow
def test_kernels_of_one_size_stay_on_one_gpu(two_gpus):
    done = two_gpus.scripts("--kernel", "1-2", "--size", 10, "--size", 20, "--gpus", "all")
    assert done.returncode == 0, done.stderr
    assert sorted(places(two_gpus).values(), key=sorted) == [{"1 at 10", "2 at 10"}, {"1 at 20", "2 at 20"}]
    assert len(two_gpus.runs) == 4


@pytest.mark.slow
def test_told_otherwise_they_spread(two_gpus):
    done = two_gpus.scripts("--kernel", "1-2", "--gpus", "0,1", "--spread", "kernels")
    assert done.returncode == 0, done.stderr
    assert sorted(places(two_gpus).values(), key=sorted) == [{"1 at 100"}, {"2 at 100"}]


def test_a_gpu_that_stays_idle_is_reported(two_gpus):
    two_gpus.replay("program-fails")
    done = two_gpus.scripts("--kernel", "1-2", "--gpus", "all")
    assert "on 1 of 2 GPUs" in done.stderr
    assert "--spread kernels" in done.stderr
    assert set(places(two_gpus)) == {"GPU-02345678-9"}


def test_one_gpu_can_be_chosen(two_gpus):
    two_gpus.replay("program-fails")
    two_gpus.scripts("--kernel", "1", "--gpus", "1")
    assert set(places(two_gpus)) == {"GPU-12345678-9"}


# Presets and help


def test_presets_are_listed_with_their_passes(here):
    done = here.prof("presets")
    assert [line.split()[:2] for line in done.stdout.splitlines()[:6]] == [
        ["preset", "passes"], ["default", "16"], ["counters", "14"], ["four-way", "3"], ["memory", "7"], ["full", "38"],
    ]  # fmt: skip
    assert "NVIDIA H200, ncu 2025.3.1" in done.stdout


def test_one_preset_with_its_metrics(here):
    done = here.prof("presets", "four-way")
    assert "sm__inst_executed_pipe_lsu.avg.pct_of_peak_sustained_elapsed" in done.stdout
    (row,) = json.loads(here.prof("presets", "default", "--format", "json").stdout)
    assert (row["preset"], row["passes"]) == ("default", 16)
    assert row["sections"].split()[-1] == "SourceCounters"
    assert here.prof("presets", "nothing").returncode == 61


# Since the last time


def test_a_program_needs_no_name_and_measured_again_it_says_what_changed(here):
    here.replay("four-way")
    first = here.collect("--processes", 1, "--", "python3", "train/softmax.py", "--rows", 7)
    assert first.returncode == 0, first.stderr
    assert first.stderr.splitlines()[-1] == "next: prof show softmax"

    here.replay("default")  # recorded later
    again = here.collect("--processes", 1, "--", "python3", "train/softmax.py", "--rows", 7)
    _, answer = again.stdout.split("\n\n", 1)
    assert answer.startswith(("softmax is ", "softmax takes ", "Whether softmax is faster than before"))
    assert "\nWhy: " in answer
    assert again.stderr.splitlines()[-1] == "next: prof compare softmax"
    assert here.prof("compare", "softmax", "--brief").stdout == answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "next_command"),
    [("#!/bin/sh\n# 2\n", "prof show compiled-2"), ("#!/bin/sh\n# wider\n", "prof compare compiled-2")],
)
def test_a_rung_is_compared_with_the_time_before_only_if_its_source_has_changed(here, source, next_command):
    words = ("--ladder", "compiled", "--kernel", 2, "--processes", 1, "--no-verify", "--repeats", 0)
    here.replay("four-way")
    here.collect(*words, "--launches", 2)
    (here.folder / "kernels" / "compiled" / "2.cu").write_text(source)
    here.replay("default")
    again = here.collect(*words, "--launches", 3, "--again")
    assert again.stderr.splitlines()[-1] == f"next: {next_command}"


@pytest.mark.slow
def test_results_for_a_program_are_rows_alone_whatever_was_measured_before(here):
    here.replay("four-way")
    here.collect("--processes", 1, "--", "./mine")
    here.replay("default")
    again = here.collect("--processes", 1, "--format", "json", "--", "./mine")
    assert [row["run"] for row in json.loads(again.stdout)] == ["mine"]
    assert again.stderr.splitlines()[-1] == "next: prof compare mine"
