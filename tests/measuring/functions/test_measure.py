"""`profiler.measure`: fresh processes verify, time and profile a function, and its run is like any other."""

import json
import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.needs("cc")
BRIEF = "processes=2, repeats=3, launches=2"


def test_a_function_of_a_script_becomes_a_run(measuring):
    text = f"print(prof.measure(fast, x, reference=double, bytes=2 * x.nbytes, {BRIEF}))\n"
    found = measuring.run(text)
    assert found.returncode == 0, found.stderr
    (run_id,) = measuring.runs.ids()
    run = measuring.runs.open(run_id)
    assert found.stdout.splitlines()[1:] == [f"<Measurement fast: 1.00 us, 1 kernel, run {run_id}>"]
    assert (run_id.name, run.manifest.ladder, run.manifest.program) == (
        "fast",
        None,
        "python3 script.py fast",
    )
    facts = run.manifest.provenance
    assert (facts.reference, facts.relative_error, facts.bytes) == ("double", 0.0, 8000)
    assert list(facts.sources) == ["script.py"]


@pytest.mark.slow
def test_no_launch_of_an_autotuner_is_timed_or_profiled(measuring):
    found = measuring.run(f"prof.measure(double, x, reference=fast, {BRIEF})\n")
    assert found.returncode == 0, found.stderr
    times = measuring.runs.open(measuring.runs.ids()[0]).to_pandas("timings")
    assert list(times.kernel_ns) == [2100.0] * 6  # both kernels, without the tuning of 1 ms a call
    assert list(times.reference_ns) == [1000.0] * 6
    words = json.loads(measuring.calls[0])["words"]
    assert words[words.index("--kernel-name") + 1] == "double_kernel"  # it takes most of the time
    assert words[words.index("--profile-from-start") + 1] == "off"


@pytest.mark.slow
def test_the_process_that_verifies_is_the_first_that_is_timed(measuring):
    text = f"""
import os
def noted(x):
    with open("processes", "a") as file:
        file.write(f"{{os.getpid()}}\\n")
    return fast(x)
prof.measure(noted, x, reference=double, profile=False, {BRIEF})
print(len(set(open("processes").read().split())))
"""
    found = measuring.run(text)
    assert found.stdout.splitlines()[1:] == ["2"], found.stderr
    run = measuring.runs.open(measuring.runs.ids()[0])
    assert list(run.to_pandas("timings").process) == [0, 0, 0, 1, 1, 1]


@pytest.mark.slow
def test_the_script_itself_does_not_run_again(measuring):
    found = measuring.run(
        f"prof.measure(fast, x, profile=False, {BRIEF})\nprof.measure(kept, x, profile=False, {BRIEF})\n"
    )
    assert found.stdout.count("the whole script runs") == 1, found.stderr
    assert [run_id.name for run_id in measuring.runs.ids()] == ["fast", "kept"]


@pytest.mark.slow
def test_a_name_of_the_script_may_be_that_of_a_local(measuring):
    text = f"""
SIZES = [(a, b) for a in (1, 2) for b in (3, 4)]

def scaled(a, b):
    launch("scaled_kernel", 700, len(SIZES))
    return a * b
a = prof.measure(scaled, x, x, profile=False, {BRIEF})
b = prof.measure(scaled, x, x, reference=lambda a, b: a.T * b, profile=False, {BRIEF})
print(a.ns, b.ns)
"""
    found = measuring.run(text)
    assert found.stdout.splitlines()[1:] == ["700.0 700.0"], found.stderr


@pytest.mark.slow
def test_lambdas_closures_and_partials_are_sent_too(measuring):
    text = f"""
from functools import partial
def make(factor):
    def scaled(x):
        launch("scaled_kernel", 700)
        return x * factor
    return scaled
def scale(factor, x):
    return make(factor)(x)
for one in (lambda x: fast(x), make(2), partial(scale, 2)):
    print(prof.measure(one, x, name="one", reference=lambda x: 2 * x, profile=False, {BRIEF}).ns)
"""
    found = measuring.run(text)
    assert found.stdout.splitlines()[1:] == ["1000.0", "700.0", "700.0"], found.stderr


@pytest.mark.slow
def test_code_that_a_decorator_of_another_module_put_around_a_function_finds_the_names_of_that_module(
    measuring,
):
    (measuring.folder / "decorators.py").write_text("""
import functools
calls = []
def counted(function):
    @functools.wraps(function)
    def wrapper(x):
        calls.append(function.__name__)
        return function(x)
    return wrapper
""")
    text = f"""
from decorators import counted
print(prof.measure(counted(lambda x: fast(x)), x, name="one", reference=double, profile=False, {BRIEF}).ns)
"""
    found = measuring.run(text)
    assert found.stdout.splitlines()[1:] == ["1000.0"], found.stderr


@pytest.mark.slow
def test_a_function_in_the_cells_of_a_notebook_is_measured(measuring):
    script = measuring.folder / "notebook.py"
    cells = [
        measuring.functions,
        "%matplotlib_is_not_here\n",
        "fast = fast\ny = x[::2].copy()",
        f"a = prof.measure(fast, y, reference=double, profile=False, {BRIEF})\nprint(a.ns)",
    ]
    script.write_text(
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "shell = InteractiveShell.instance()\n"
        f"for cell in {cells!r}:\n    shell.run_cell(cell, store_history=True)\n"
    )
    found = subprocess.run(
        [sys.executable, script], cwd=measuring.folder, env=measuring.environment,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert found.stdout.splitlines()[-1] == "1000.0", found.stdout + found.stderr
    assert found.stdout.count("the whole script runs") == 1


@pytest.mark.slow
def test_a_kernel_is_chosen_by_its_name_and_each_kernel_has_its_time(measuring):
    found = measuring.run(
        f"a = prof.measure(double, x, kernel_name='fill', profile=False, {BRIEF})\n"
        "print([(one.name, one.launches, one.ns) for one in a.launched], a.cautions)\n"
    )
    assert found.stdout.splitlines()[1:] == [
        "[('double_kernel', 1, 2000), ('fill_kernel', 1, 100)] "
        "('the result was not verified: there is no reference',)"
    ], found.stderr


@pytest.mark.slow
def test_the_kernels_of_a_call_are_listed_by_their_time_and_named_as_their_source_names_them(measuring):
    found = measuring.run(f"""
def several(x):
    launch("_Z4fillPfi", 100)
    launch("_Z5scalePf", 700)
    launch("_Z4fillPfi", 100)
    return x
a = prof.measure(several, x, reference=several, profile=False, {BRIEF})
print([(one.name, one.launches, one.ns) for one in a.launched], a.ns)
html = a._repr_html_().replace("\xa0", " ")
print("1 x scale(float*), 700.0 ns" in html, "2 x fill(float*, int), 200.0 ns" in html)
print("<dt>launches" in prof.measure(fast, x, profile=False, {BRIEF})._repr_html_())
""")
    assert found.stdout.splitlines()[1:] == [
        "[('scale(float*)', 1, 700), ('fill(float*, int)', 2, 200)] 900.0", "True True", "False",
    ], found.stderr  # fmt: skip


@pytest.mark.slow
def test_arguments_that_are_written_are_verified_over_poison(measuring):
    text = f"prof.measure(into, x, np.zeros_like(x), reference=lambda x, y: x + x, profile=False, {BRIEF})\n"
    found = measuring.run(text)
    assert found.returncode == 0, found.stderr
    assert len(measuring.runs.ids()) == 1


IN_PLACE = """
def sorts(x):
    launch("sort_kernel", 5000 if x[0] > x[-1] else 100)
    x.sort()

def grows(x):
    launch("grow_kernel", 1000)
    x *= 3000

def doubles(x):
    x *= 2
"""


@pytest.mark.slow
def test_each_call_of_a_function_that_works_in_place_gets_the_arguments_as_they_were_given(measuring):
    """Without that, all calls but the first would sort what is sorted already."""
    found = measuring.run(
        f"{IN_PLACE}y = x[::-1].copy()\n"
        f"print(prof.measure(sorts, y, reference=lambda y: y.sort(), profile=False, {BRIEF}).ns, y[0])\n"
    )
    assert found.stdout.splitlines()[-1] == "5000.0 1.0", found.stderr


def test_a_wrong_function_that_works_in_place_is_not_verified_on_what_its_own_calls_have_left(measuring):
    """After a dozen calls its numbers are infinite, as those of any other function that grows them are."""
    failed = measuring.error(
        f"prof.measure(grows, x, reference=doubles, profile=False, {BRIEF})", before=IN_PLACE
    )
    assert failed.startswith("ResultWrong: 'grows' computes a wrong result"), failed


@pytest.mark.slow
def test_arguments_that_are_too_large_to_put_back_are_a_caution(measuring):
    """Such as a cache that fills a GPU: `Huge` stands for an array of 9 GB, and is never read."""
    found = measuring.run(f"""
def untouched(x, shape):
    return fast(x)
class Huge:
    shape, dtype, nbytes = (9 * 10**9,), np.dtype("uint8"), 9 * 10**9
print(prof.measure(untouched, x, Huge(), profile=False, {BRIEF}).cautions[-1])
""")
    assert found.stdout.splitlines()[-1].startswith(
        "9 GB of the arguments are not put back, because they are too many"
    ), found.stderr


def test_an_argument_that_shows_what_a_call_wrote_and_refuses_to_be_written_fails_no_measurement(measuring):
    """PyTorch refuses to write an expanded tensor too, which a kernel may do.

    The first is put back with what it is a view of; of the second, nothing else holds the values.
    """
    text = f"""
import threading
def make(lock):
    def grows(y, view):
        with lock:
            launch("grow_kernel", 1000)
            y += 1
            hidden[:] += 1
    return grows
y, hidden = x.copy(), x.copy()
for seen in (y, hidden):
    a = prof.measure(make(threading.Lock()), y, np.broadcast_to(seen, (2, 1000)), profile=False, {BRIEF})
    print(a.ns, y[0], a.cautions[2:])
"""
    found = measuring.run(text)
    put_back, left_out = found.stdout.splitlines()[-2:]
    assert put_back == "1000.0 0.0 ()", found.stderr
    assert left_out.startswith("1000.0 0.0 ('8e-06 GB of"), left_out


def test_arguments_that_were_written_in_this_process_hold_what_they_held(measuring):
    text = f"""
{IN_PLACE}
import threading
def make(lock):
    def sorts_here(x):
        with lock:
            sorts(x)
    return sorts_here
y = x[::-1].copy()
a = prof.measure(make(threading.Lock()), y, reference=lambda y: y.sort(), {BRIEF})
print(a.ns, y[0])
"""
    found = measuring.run(text)
    assert found.stdout.splitlines()[-1] == "5000.0 1.0", found.stderr


@pytest.mark.slow
def test_if_counters_are_refused_the_times_remain(measuring):
    text = f"a = prof.measure(fast, x, reference=double, {BRIEF})\nprint(a.cautions[0], len(a.to_pandas('timings')))\n"
    (measuring.folder / "bin" / "ncu").write_text(
        (measuring.folder / "bin" / "ncu").read_text().replace("four-way", "counters-refused")
    )
    found = measuring.run(text)
    assert found.returncode == 0, found.stderr
    assert "times alone" in found.stdout
    assert "NVreg_RestrictProfilingToAdminUsers=0" in found.stdout
    run = measuring.runs.open(measuring.runs.ids()[0])
    assert (run.manifest.name, run.manifest.origin, run.manifest.is_profiled) == ("fast", "timed", False)


@pytest.mark.slow
@pytest.mark.parametrize("profile", [False, True])
def test_what_to_doubt_is_said_of_the_stored_run_too(measuring, profile):
    options = f"profile={profile}, {BRIEF}"
    found = measuring.run(f"""
prof.measure(fast, x, {options})
prof.measure(double, x, {options})
print(prof.show("fast"))
print(prof.show("fast")._repr_html_().count("was not verified"))
print(prof.read("fast")._repr_html_().count("was not verified"))
print(prof.measure(fast, x, {options})._repr_html_().count("was not verified"))
print([one for one in prof.compare("fast", "double").comparable.warnings if "verified" in one])
""")
    *shown, one, other, third, compared = found.stdout.splitlines()
    assert "the result was not verified: there is no reference" in "\n".join(shown), found.stderr
    assert (one, other, third) == ("1", "1", "1")
    assert compared == "['both sides: the result was not verified: there is no reference']"


@pytest.mark.slow
def test_the_work_that_was_stated_becomes_bandwidth_everywhere(measuring):
    text = f"""
a = prof.measure(fast, x, bytes=8000, flops=1000, profile=False, {BRIEF})
b = prof.measure(double, x, bytes=8000, profile=False, {BRIEF})
found = prof.compare(a, b)
print(round(found.speedup.ratio, 6), found.before.timing.gbytes_per_s, found.before.timing.gflops)
print("GB/s" in a._repr_html_())
"""
    found = measuring.run(text)
    assert found.stdout.splitlines()[1:] == ["0.47619 8.0 1.0", "True"], found.stderr


@pytest.mark.slow
def test_the_arguments_of_two_functions_are_compared(measuring):
    text = f"""
a = prof.measure(fast, x, profile=False, {BRIEF})
b = prof.measure(double, x, profile=False, {BRIEF})
c = prof.measure(double, x[:500], profile=False, {BRIEF})
print(a.manifest.arguments, a.manifest.provenance.seconds > 0)
for other in (b, c):
    warnings = prof.compare(a, other).comparable.warnings
    print([one for one in warnings if "argument" in one or "workload" in one])
"""
    found = measuring.run(text)
    assert found.stdout.splitlines()[1:] == [
        "(float32[1000]) True",
        "[]",
        "['the arguments of the functions differ: (float32[1000]) against (float32[500])']",
    ], found.stderr


@pytest.mark.slow
def test_a_sweep_measures_every_point(measuring):
    text = f"""
found = prof.measure(fast, lambda n: np.ones(n, np.float32), over={{"n": [10, 20]}}, bytes=lambda n: 8 * n,
                     reference=double, profile=False, {BRIEF})
print(found.to_pandas()[["n", "median_ns", "reference_median_ns", "gbytes_per_s"]].to_dict("list"))
print(sorted(found.chart().to_dict()["encoding"]))
"""
    found = measuring.run(text)
    assert found.stdout.splitlines()[1:] == [
        "{'n': [10, 20], 'median_ns': [1000.0, 1000.0], 'reference_median_ns': [2100.0, 2100.0], "
        "'gbytes_per_s': [0.08, 0.16]}",
        "['color', 'x', 'y']",
    ], found.stderr


UNMEASURABLE = {
    "wrong, x, reference=double": "ResultWrong: 'wrong' computes a wrong result: relative error ",
    "shorter, x, reference=double": "ProgramFailed: 'shorter' cannot be measured: output 0 has the shape (3,), and that of its reference (1000,)",
    "forgets, x, x.copy(), reference=lambda x, y: 2 * x": "ResultWrong: 'forgets' computes a wrong result",
    "nothing, x": "ProgramFailed: 'nothing' cannot be measured: it launches no kernel: once it is settled, a call does nothing",
    "raises, x": "ProgramFailed: 'raises' cannot be measured: it raised ValueError after 0 s: no such thing",
    "exits, x": "ProgramFailed: 'exits' cannot be measured: it raised SystemExit after 0 s: enough",
    "crashes, x": "ProgramFailed: 'crashes' cannot be measured: its process died: ended by SIGABRT",
    "fast, x, reference=raises": "ProgramFailed: 'fast' cannot be measured: its reference raised ValueError: no such thing",
    "hangs, x, timeout_s=2": "ProgramTimedOut: 'hangs' did not end within 2 s and was killed",
    "restless, x": "ProgramFailed: 'restless' cannot be measured: after 2000 calls it still does not launch the same kernels in 5 calls in a row",
    # Measured in this process, where it fails too.
    "fast, open(__file__)": "ProgramFailed: 'fast' cannot be measured: it raised TypeError after 0 s",
    "fast, x, kernel_name='triple'": "KernelNotFound: 'fast' launches no kernel that matches 'triple'; it launches:",
}


def test_a_function_that_cannot_be_measured_gives_one_message_and_stores_nothing(measuring):
    failed = measuring.errors(*(f"prof.measure({call}, {BRIEF})" for call in UNMEASURABLE))
    busy = re.compile(r"after \d s\b")  # as long as a busy machine takes
    pairs = zip(UNMEASURABLE.items(), failed, strict=True)
    assert [
        (call, said) for (call, message), said in pairs if not busy.sub("after 0 s", said).startswith(message)
    ] == []


def test_inside_another_profiler_it_says_that_prof_starts_ncu_itself(measuring):
    measuring.environment["LISTENED_TO"] = "1"
    failed = measuring.error(f"prof.measure(fast, x, {BRIEF})")
    assert failed == "ProfiledAlready: 'fast': another profiler listens to this process, and CUPTI allows one"


@pytest.mark.slow
def test_the_output_of_a_function_is_not_taken_for_its_times(measuring):
    found = measuring.run(f"print(prof.measure(chatty, x, profile=False, {BRIEF}).ns)\n")
    assert found.stdout.splitlines()[-1] == "1000.0", found.stderr


REFUSED = {
    "processes=0": "ValueError: processes is 0, and must be more than 0",
    "launches=-1": "ValueError: launches is -1, and must be more than 0",
    "over={'n': [1.5]}": "TypeError: over={'n': [1.5]} must give whole numbers for each name, such as ",
    "over={'n': []}": "TypeError: over={'n': []} must give whole numbers for each name, such as ",
    "over={'BLOCK': [256, 512]}": "TypeError: nothing here depends on BLOCK: give an argument as a function, such as ",
    "over={'n': 5}": "TypeError: over={'n': 5} must give whole numbers for each name, such as ",
    "bytes='8'": "TypeError: bytes is '8', and must be a number; a function of values needs over={...}",
    "flops=lambda n: n": "TypeError: flops is <function <lambda> at ",
    "kernel_name=fast": "TypeError: kernel_name is <function fast at ",
    "preset='nope'": "PresetNotFound: no preset 'nope'; there are default",
    "BLOCK=32": "TypeError: measure has no option BLOCK: give the function its own keywords with functools.partial(",
}


def test_options_that_mean_nothing_are_refused_before_anything_runs(measuring):
    said = measuring.errors(*(f"prof.measure(nothing, x, {options})" for options in REFUSED))
    pairs = zip(REFUSED.items(), said, strict=True)
    assert [(options, line) for (options, message), line in pairs if not line.startswith(message)] == []


def test_the_work_of_a_call_may_be_any_number(measuring):
    """Such as `2e9`, a number of NumPy's, or what a formula gives."""
    found = measuring.run(
        f"prof.measure(fast, x, profile=False, bytes=np.int64(8000), flops=2e9, {BRIEF})\n"
        "facts = prof.read('fast').manifest.provenance\n"
        "print(facts.bytes, facts.flops)\n"
    )
    assert found.stdout.splitlines()[-1] == "8000 2000000000", found.stderr


def test_keywords_are_given_to_the_function_by_partial_and_its_run_has_its_name(measuring):
    found = measuring.run(
        "from functools import partial\n"
        "def scaled(x, factor):\n    launch('kernel', 700)\n    return x * factor\n"
        "two = partial(scaled, factor=2)\n"
        f"print(prof.measure(two, x, reference=double, profile=False, {BRIEF}))\n"
    )
    assert found.stdout.splitlines()[-1].startswith("<Measurement scaled: 0.70 us, 1 kernel, run "), (
        found.stderr
    )


@pytest.mark.slow
@pytest.mark.parametrize("typed", [["-c"], ["-"]], ids=["python -c", "a prompt"])
def test_a_function_without_a_source_file_is_measured_in_this_process(measuring, typed):
    script = measuring.functions + f"print(prof.measure(fast, x, profile=False, {BRIEF}).cautions[-1])\n"
    words, text = (typed, script) if typed == ["-"] else ([*typed, script], None)
    found = subprocess.run(
        [sys.executable, *words], input=text, cwd=measuring.folder, env=measuring.environment,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert "its source lies in no file: write it to a module, a script or a notebook" in found.stdout, (
        found.stderr
    )


@pytest.mark.slow
def test_a_function_that_cannot_be_sent_is_measured_in_this_process(measuring):
    text = f"""
import threading
lock = threading.Lock()
def make():
    held = lock  # a closure over what cannot be copied
    def guarded(x):
        with held:
            launch("double_kernel", 1000)
        return x * 2
    return guarded
a = prof.measure(make(), x, reference=double, {BRIEF})
print(a.ns, *a.cautions)
b = prof.measure(make(), x, reference=double, name="again", {BRIEF})
print(prof.compare(a, b).speedup.ratio)
try:
    prof.measure(make(), x, reference=lambda x: x, {BRIEF})
except Exception as error:
    print(error.message)
"""
    found = measuring.run(text)
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()[1:]
    assert lines[0].startswith(
        "1000.0 measured in this process alone, without counters, because the function"
    )
    assert lines[1] == "1.0"
    assert lines[2].startswith("'guarded' computes a wrong result: relative error ")
    times = measuring.runs.open(measuring.runs.ids()[0]).to_pandas("timings")
    assert list(times.process) == [0] * 6  # as many repeats as two processes make
    assert list(times.reference_ns) == [2100.0] * 6


@pytest.mark.slow
def test_a_function_that_cannot_be_sent_and_hangs_is_interrupted(measuring):
    text = """
import threading
def make(lock):
    def hanging(x):
        with lock:
            time.sleep(600)
    return hanging
hangs_here = [make(threading.Lock())]
"""
    message = measuring.error("prof.measure(hangs_here[0], x, timeout_s=2)", before=text)
    assert message == "ProgramFailed: 'hanging' cannot be measured: it did not return within 2 s"


@pytest.mark.slow
def test_processes_that_ran_other_configurations_are_a_caution(measuring):
    text = f"""
import os
def choosy(x):
    launch("tuned_kernel", 1000, os.getpid())  # an autotuner may choose in each process anew
    launch("other_kernel", 100)
    return x
a = prof.measure(choosy, x, reference=lambda x: x, profile=False, {BRIEF})
b = prof.measure(fast, x, reference=double, profile=False, {BRIEF})
print(a.cautions, b.cautions)
"""
    found = measuring.run(text)
    assert found.returncode == 0, found.stderr
    said = found.stdout.splitlines()[-1]
    assert said.startswith(
        "('the processes that were timed ran different configurations of its kernels: tuned_kernel (grid "
    )
    assert said.count("tuned_kernel") == 2
    assert "other_kernel" not in said
    assert said.endswith(") ()")


@pytest.mark.slow
def test_a_wrong_result_is_measured_if_asked(measuring):
    text = f"prof.measure(wrong, x, reference=double, verify=False, profile=False, {BRIEF})\n"
    found = measuring.run(text)
    assert found.returncode == 0, found.stderr
    assert measuring.runs.open(measuring.runs.ids()[0]).manifest.provenance.relative_error > 0.1
