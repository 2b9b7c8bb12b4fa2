"""Nobody who calls functions is told to type an option: each sentence names a call or an argument in its place."""

import ast
import pickle
import re
from functools import cache
from html import unescape
from pathlib import Path

import pytest
import typer

import profiler
from profiler import errors
from profiler.cli import app
from profiler.errors import ProfError
from profiler.present.render.json import to_json
from profiler.python.words import ARGUMENTS, CALLS, advise, told
from profiler.text import Spoken

HOME = Path(profiler.__file__).parent
# Only a terminal has these, although Python has a function of the command's name: `measure` measures no program and no rung.
IN_A_TERMINAL = re.compile(
    "prof check --(?:accept REASON|sass)|prof sass .*--listing|prof collect .*(?:PROGRAM|--kernel|--ladder|--cache-control).*"
)
# Errors that no function raises.
OF_COMMANDS = {"CheckUndecided", "ShapeRefused", "ClusterUnreachable", "SlurmFailed"}


@pytest.fixture(scope="module")
def runs(recorded):
    return profiler.open_runs(recorded.root)


@cache
def options():
    verbs = typer.main.get_command(app).commands.values()
    return {name for verb in verbs for option in verb.params for name in option.opts if name.startswith("-")}


def typed(text):
    """What of a text can only be typed in a terminal: a command that Python has a function for, or an option of prof."""
    text = " ".join(text.split())  # a terminal breaks lines
    ours = re.sub(r"`([^`]*)`", lambda code: "" if is_of_a_terminal(code[1].strip()) else code[0], text)
    commands = re.findall(rf"\bprof (?:{'|'.join(CALLS)})\b.{{,40}}", ours)
    words = re.findall(r"(?<![\w-])(--?[a-z][a-z-]*)(?![\w-])", ours)
    return [*commands, *(word for word in words if word in options())]


def is_of_a_terminal(code):
    program, verb, *_ = [*code.split(), "", ""]
    alone = program == "ncu" or (program == "prof" and verb not in CALLS)
    return alone or IN_A_TERMINAL.fullmatch(code)


def test_what_is_typed_is_found():
    assert {"-k", "--full", "--force", "--launch-skip", "--size", "--accept"} <= options()
    for said in (
        "`prof show 5` shows it",
        "see prof compare 5 6",
        "give -k PATTERN",
        "`--full` has all",
        "(--force)",
    ):
        assert typed(said)
    of_a_terminal = "`ncu --set full -k x`, `prof time --kernel 5`, `prof check --accept REASON`"
    assert typed(of_a_terminal) == []


# Commands and options


@pytest.mark.parametrize(
    ("terminal", "python"),
    [
        ("prof show", "prof.show(...)"),
        ("prof show 20", "prof.show(20)"),
        ("prof show --full", "prof.show(...)"),
        ("prof show 20 --gpu 'H100 80GB HBM3'", "prof.show(20)"),
        ("prof show 2 --ladder sum", "prof.show('sum-2')"),
        ("prof show a.ncu-rep -k 'scale<int>$'", "prof.show('a.ncu-rep', kernel_name='scale<int>$')"),
        ("prof show RECORDING --nvtx forward", "prof.show(RECORDING, nvtx='forward')"),
        ("prof compare 9 10", "prof.compare(9, 10)"),
        ("prof compare 1 2 --ladder sum", "prof.compare('sum-1', 'sum-2')"),
        ("prof compare --force", "prof.compare(..., force=True)"),
        ("prof compare -k a -k 'b c'", "prof.compare(..., kernel_name='a', other_kernel='b c')"),
        ("prof check --baseline old.ncu-rep new.ncu-rep", "prof.check('new.ncu-rep', baseline='old.ncu-rep')"),
        ("prof ladder", "prof.ladder(...)"),
        ("prof ladder --ladder sum --gpu h200", "prof.ladder('sum', gpu='h200')"),
        ("prof list '*sum*'", "prof.open_runs(...).to_pandas()"),
        ("prof collect", "prof.measure(...)"),
        ("prof collect --launches 5 --processes 5 ...", "prof.measure(..., launches=5, processes=5)"),
        ("prof collect --times-only", "prof.measure(..., profile=False)"),
        ("-k PATTERN", "kernel_name=PATTERN"),
        ("--launch N", "launch=N"),
        ("--force", "force=True"),
        ("--gpu", "gpu"),
    ],
)  # fmt: skip
def test_a_command_becomes_a_call_and_an_option_an_argument(terminal, python):
    assert told(f"Whatever `{terminal}` is said to do.") == f"Whatever `{python}` is said to do."


@pytest.mark.parametrize(
    "code",
    [
        "prof time", "prof ingest REPORT --kernel N", "prof collect --ladder sum", "prof collect -- ./mine -k 5",
        "prof check --accept REASON", "prof list --kernels", "prof", "ncu -k regex:a", "--kernel-name-base mangled", "x -k",
        "it's",
    ],
)  # fmt: skip
def test_what_only_a_terminal_has_and_the_code_of_others_stay(code):
    assert told(f"`{code}`") == f"`{code}`"


def test_only_what_stands_between_backticks_is_changed():
    """The rest may be the arguments of somebody's program."""
    said = "the arguments of the programs differ: --launch 3 -k 5 against prof show 5"
    assert told(said) == said


def test_each_call_and_each_argument_exists():
    from inspect import signature

    from profiler.python.measuring import Options

    for call, takes in CALLS.values():
        name = re.fullmatch(r"prof\.(\w+)\(.*", call)[1]
        known = {
            *signature(getattr(profiler, name)).parameters,
            *(Options.__annotations__ if name == "measure" else ()),
        }
        if name != "open_runs":  # which has nothing but its place
            assert {ARGUMENTS[option].partition("=")[0] for option in takes} <= known


# Sentences with both


def test_advice_that_is_another_one_in_python_is_written_with_both_texts_side_by_side():
    more = "2 kernels: " + Spoken("--full lists them", "`.to_pandas()` lists them") + "; `--force` compares."
    assert more == "2 kernels: --full lists them; `--force` compares."
    assert told(more) == "2 kernels: `.to_pandas()` lists them; `force=True` compares."


def test_both_texts_cross_from_process_to_process_in_an_error_and_json_has_that_of_the_terminal():
    error = pickle.loads(pickle.dumps(ProfError("no", remedy=Spoken("Give --size.", "Give `workload`."))))
    assert error.remedy == "Give --size."
    assert to_json({"remedy": error.remedy}) == '{"remedy":"Give --size."}'
    advise(error)
    assert error.remedy == "Give `workload`."
    assert error.__notes__ == ["Give `workload`."]


# All that is said


def test_no_answer_names_an_option_of_a_command(reports, runs):
    names = ("several", "graph", "gemm_5", "gemm_6", "range")
    several, graph, gemm_5, gemm_6, in_range = paths = [reports / f"{name}.ncu-rep" for name in names]
    shown = [profiler.show(path) for path in paths]
    pairs = [(several, several), (gemm_5, gemm_6), (graph, graph), (graph, gemm_6)]
    checked = [(gemm_5, gemm_6), (gemm_6, gemm_5), (graph, in_range), (graph, gemm_5)]
    answers = [
        *shown, *profiler.show(several), profiler.show(*paths), profiler.show(runs["gemm-6"]), profiler.show(runs["gemm-6-timed"]),
        *map(profiler.read, paths), profiler.sass(several), profiler.ladder("relu", runs),
        *(profiler.compare(*pair, force=True) for pair in pairs), profiler.compare(runs["gemm-5"], runs["gemm-6"]),
        *(profiler.check(after, baseline=before) for before, after in checked),
    ]  # fmt: skip
    said = [
        text
        for answer in answers
        for text in (
            " ".join(repr(answer).split()),
            " ".join(re.sub("(?m)^command .*", "", answer.text()).split()),
            cell_of(answer),
            spoken_of(answer),
        )
    ]
    assert [typed(text) for text in said if typed(text)] == []
    for advice in (
        "several.ncu-rep', kernel_name=", "`['name']` and `kernel_name='name'` give one kernel", "`launch=N`",
        "prof.compare(..., force=True)", "prof.measure(...)",
        "(`.missing` names them)", "`.manifest` of `prof.read(...)`",
    ):  # fmt: skip
        assert any(advice in text for text in said), advice


def cell_of(answer):
    """The words in a notebook's cell, without the command that made a recording; code stands between backticks there, too."""
    html = re.sub(r"<style>.*?</style>|<dt>command</dt>.*?</div>", "", answer._repr_html_(), flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", " ", re.sub(r"</?code[^>]*>", "`", html)))


def spoken_of(answer):
    """What a script would print of an answer."""
    headline = getattr(answer, "headline", None)
    cautions = getattr(answer, "cautions", ())
    return "\n".join([*([headline.why, headline.next] if headline else []), *cautions])


@pytest.mark.parametrize(
    "ask",
    [
        lambda path: profiler.show(path, launch=99),
        lambda path: profiler.show(path, nvtx="none"),
        lambda path: profiler.show(path, kernel_name="none"),
        lambda path: profiler.show("nothing"),
        lambda path: profiler.show("sum"),
        lambda path: profiler.show("5-6"),
        lambda path: profiler.show(path.parent / "none.ncu-rep"),
        lambda path: profiler.show("https://host/none.ncu-rep"),
        profiler.compare,
        lambda path: profiler.compare(path, path.parent / "gemm_5.ncu-rep"),
        lambda path: profiler.compare(path, path.parent / "triton_matmul.ncu-rep"),
        lambda path: profiler.check(path, baseline=path),
        lambda path: profiler.check(path, baseline=path.parent / "processes.ncu-rep", kernel_name="o"),
        lambda path: profiler.check(path.parent, baseline=path.parent.parent / "runs"),
        lambda path: profiler.check(path.parent.parent / "runs", baseline=path.parent.parent / "runs"),
        lambda path: profiler.ladder("none"),
        lambda path: profiler.ladder("gemm", gpu="none"),
        lambda path: profiler.ladder("gemm", workload={"m": 5, "n": 5, "k": 5}),
        lambda path: profiler.open_runs(path.parent / "none"),
    ],
)  # fmt: skip
def test_no_error_of_a_function_names_an_option_of_a_command(reports, ask):
    with pytest.raises(ProfError) as caught:
        ask(reports / "several.ncu-rep")
    assert caught.value.remedy
    assert typed("\n".join([str(caught.value), *caught.value.__notes__])) == []


def test_no_remedy_that_a_function_may_give_names_an_option_of_a_command():
    classes = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, ProfError)]
    said = {one.__name__: typed(told(one.remedy)) for one in classes}
    assert {name for name, found in said.items() if found} == OF_COMMANDS


def test_every_command_that_the_sources_name_has_a_call_but_for_those_of_a_terminal_alone():
    rooms = ("analyse", "ask", "catalog", "store", "python", "measuring/functions", "present")
    paths = [HOME / "errors.py", *(path for room in rooms for path in (HOME / room).rglob("*.py"))]
    texts = [text for path in paths for text in texts_in(ast.parse(path.read_text()))]
    codes = {code for text in texts for code in re.findall(r"`(prof [^`]*)`", told(text))}
    assert [code for code in codes if not is_of_a_terminal(code)] == []
    assert len([text for text in texts if "`prof show" in text]) > 5, "and told() had something to do"


def texts_in(tree):
    """The texts of a module, but its documentation and what a terminal alone prints; N stands for what an f-string fills in."""
    nodes = list(ast.walk(tree))
    documented = [one for one in nodes if isinstance(one, (ast.Module, ast.ClassDef, ast.FunctionDef))]
    left_out = [one.body[0] for one in documented if isinstance(one.body[0], ast.Expr)]
    left_out += [
        one.args[0] for one in nodes if isinstance(one, ast.Call) and getattr(one.func, "id", "") == "Spoken"
    ]
    left_out += [part for one in nodes if isinstance(one, ast.JoinedStr) for part in one.values]
    skipped = {part for one in left_out for part in ast.walk(one)}
    for one in nodes:
        if isinstance(one, ast.JoinedStr) and one not in skipped:
            yield "".join(part.value if isinstance(part, ast.Constant) else "N" for part in one.values)
        elif isinstance(one, ast.Constant) and isinstance(one.value, str) and one not in skipped:
            yield one.value
