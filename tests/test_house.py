"""The rules of the house, walked rather than trusted."""

import ast
import pickle
import re
import subprocess
import sys
from collections import Counter
from functools import cache, wraps
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import profiler
from profiler import errors

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted((ROOT / "profiler").rglob("*.py"))
# The order of the rooms as CONTRIBUTING.md draws it: what stands between two arrows imports only from what is left of it.
DRAWN = "".join(re.findall(r"^    .*<-.*\n", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE))
RANK = {room: rank for rank, rooms in enumerate(DRAWN.split("<-")) for room in re.findall(r"\w+", rooms)}


def every_module(check):
    """Makes one test of a check for one module: it lists all modules that break the rule, and how."""

    @wraps(check)
    def test():
        broken = []
        for path in MODULES:
            try:
                check(path)
            except AssertionError as error:
                broken.append(f"{path.relative_to(ROOT)}: {error}")
        assert "\n".join(broken) == ""

    del test.__wrapped__  # pytest would ask it for the fixture `path`
    return test


def room_of(path):
    return path.relative_to(ROOT / "profiler").parts[0].removesuffix(".py")


def imports_of(path):
    """Every module imported anywhere in the file: inside functions and for type checking too."""
    return imports_in(path.read_text())


@cache
def imports_in(source):
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"a relative import of {node.module}"
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def circle_of(root, unit=str):
    """The modules of one circle of imports below `root`, in order; [] when there is none. `unit` says what counts as one."""
    names = {
        path: ".".join(path.relative_to(root.parent).with_suffix("").parts) for path in root.rglob("*.py")
    }
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    modules = set(names.values())
    graph = {}
    for path, name in names.items():
        graph.setdefault(unit(name), set()).update(map(unit, imports_of(path) & modules))
    for one, others in graph.items():
        others.discard(one)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return []


def error_classes(cls=errors.ProfError):
    return [cls, *(below for direct in cls.__subclasses__() for below in error_classes(direct))]


# Imports


def test_every_room_has_its_place_in_the_order():
    rooms = {room_of(path) for path in MODULES} - {"__init__", "__main__"}
    assert rooms == set(RANK)
    assert RANK["errors"] < RANK["store"] < RANK["analyse"] < RANK["present"] < RANK["cli"]


@every_module
def test_imports_point_only_left(path):
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return  # the façade and the entry point may reach everywhere
    for name in imports_of(path):
        if name == "profiler" or not name.startswith("profiler."):
            assert name != "profiler" or room == "cli", "the façade is for users, not for the house"
            continue
        there = name.split(".")[1]
        assert there == room or RANK[there] < RANK[room], f"{room} imports {name}"


def test_the_walk_above_sees_imports_in_functions_and_for_type_checking(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(
        "if TYPE_CHECKING:\n    from profiler.cli import app\ndef f():\n    import profiler.commands.reading.show\n"
    )
    assert imports_of(path) == {"profiler.cli", "profiler.cli.app", "profiler.commands.reading.show"}


def test_no_module_imports_itself_by_way_of_others():
    assert " -> ".join(circle_of(ROOT / "profiler")) == ""


def test_no_folder_of_measuring_imports_itself_by_way_of_others():
    def folder_of(name):
        return ".".join(name.split(".")[:3]) if name.startswith("profiler.measuring.") else name

    assert " -> ".join(circle_of(ROOT / "profiler", folder_of)) == ""


def test_a_circle_counts_when_it_closes_in_a_function_or_for_type_checking(tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    (room / "first.py").write_text("def f():\n    from room import second\n")
    (room / "second.py").write_text("if TYPE_CHECKING:\n    from room.third import Name\n")
    (room / "third.py").write_text("")
    assert circle_of(room) == []
    (room / "third.py").write_text("from room.first import f\n")
    assert sorted(circle_of(room)[1:]) == ["room.first", "room.second", "room.third"]


def test_one_module_alone_knows_nvidias_reader():
    users = {path.relative_to(ROOT).as_posix() for path in MODULES if "ncu_report" in imports_of(path)}
    assert users == {"profiler/store/reports/nvidia_reader.py"}


def test_a_process_is_started_where_the_page_says():
    page = (ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`([\w/]+\.py)`", page.partition("### Who starts a process")[2].partition("###")[0])
    starts = re.compile(r"\bsubprocess\.\w|\bos\.(?:fork|exec\w+|posix_spawn)\(|\bProcessPool\(")
    users = {
        path.relative_to(ROOT / "profiler").as_posix() for path in MODULES if starts.search(path.read_text())
    }
    assert users - set(named) == set()
    assert len(users) > 5


# What of the store a room may know that opens no store: a run that it is given, and the types that a run is made of.
GIVEN = ("runs.run", "runs.manifest", "runs.timed_run", "tables", "sweeps")


@every_module
def test_analysis_and_presentation_open_no_store(path):
    """They are given runs and findings; whoever asks opens them."""
    if room_of(path) not in ("analyse", "present"):
        return
    known = [f"profiler.store.{one}" for one in GIVEN]
    for name in imports_of(path):
        if name.startswith("profiler.store."):
            assert name.startswith(tuple(known)), name
            assert not name.endswith("Store"), name


@every_module
def test_questions_and_presentation_measure_nothing(path):
    """They know how machine code is read from a file, and the types of what was built, verified and examined."""
    if room_of(path) not in ("ask", "present"):
        return
    for name in imports_of(path):
        if name.startswith("profiler.measuring."):
            reads_code = name.startswith(
                ("profiler.measuring.tools.disassembly", "profiler.measuring.tools.mangling")
            )
            is_type = is_module(name) or not name.rpartition(".")[2].islower()
            assert reads_code if room_of(path) == "ask" else is_type, name


@every_module
def test_questions_know_no_format_and_print_nothing(path):
    if room_of(path) not in ("ask", "analyse"):
        return
    tops = {name.split(".")[0] for name in imports_of(path)}
    assert tops & {"typer", "rich", "altair", "vl_convert", "jinja2", "csv", "json", "sys"} == set()
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert "print" not in {call.func.id for call in calls if isinstance(call.func, ast.Name)}


@every_module
def test_commands_ask_and_compute_nothing(path):
    """They may import the types of findings from analysis, and no function."""
    if room_of(path) not in ("commands", "__init__"):
        return
    for name in imports_of(path):
        if name.startswith("profiler.analyse."):
            *_, last = name.split(".")
            assert not last.islower() or is_module(name), f"{name}: ask for it"


def is_module(name):
    place = ROOT.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def test_a_ladders_work_joins_a_profile_in_one_place():
    """So that no two questions count its bytes differently."""
    users = {
        path.relative_to(ROOT).as_posix()
        for path in MODULES
        if imports_of(path)
        & {f"profiler.analyse.recording.work.{name}" for name in ("with_work", "find_useful_bytes")}
    }
    assert users == {"profiler/ask/profiles.py"}


@every_module
def test_analysis_touches_no_file_and_the_catalogue_runs_no_process(path):
    never = {
        "analyse": {"os", "pathlib", "io", "shutil", "subprocess", "tempfile", "glob", "typer", "rich"},
        "catalog": {"subprocess", "multiprocessing", "typer", "rich"},
        "present": {"subprocess", "tempfile", "shutil", "typer"},
        "store": {"typer", "rich"},
        "measuring": {"typer", "rich", "ncu_report"},
    }
    tops = {name.split(".")[0] for name in imports_of(path)}
    assert tops & never.get(room_of(path), set()) == set()


def test_the_facade_promises_what_a_notebook_needs():
    asked = {"check", "compare", "ladder", "report", "roofline", "sass", "show", "source_lines"}
    assert set(profiler.__all__) == {"measure", "open_runs", "range", "read", "tune", *asked}
    for name in profiler.__all__:
        assert getattr(profiler, name).__doc__


def test_a_script_without_a_main_guard_may_read_a_report(every_report_is_read, reports, tmp_path):
    """The façade is used from plain scripts: a reader process must not run the script again."""
    script = tmp_path / "script.py"
    script.write_text(
        "import profiler\nprint('once')\n"
        f"print(profiler.read({str(reports / 'range.ncu-rep')!r}).to_pandas('launches').shape[0])\n"
    )
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert (result.stdout.split(), result.stderr) == (["once", "2"], "")


# Tests


def private_names(source):
    """Lines, each with a private name that it imports, reads or replaces and that is none of the file's own."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ImportFrom(names=aliases):
                names = [alias.name for alias in aliases]
            case ast.Attribute(value=ast.Name(id="self" | "cls" | "os")):
                continue
            case ast.Attribute(attr=name):
                names = [name]
            case ast.Call(func=ast.Attribute(attr="setattr"), args=[*places, _]):
                names = [one.value.rpartition(".")[2] for one in places if isinstance(one, ast.Constant)]
            case _:
                continue
        yield from ((node.lineno, name) for name in names if re.fullmatch("_([^_].*)?[^_]", name))


def test_tests_use_public_names_or_say_why_not():
    """The reason stands on the line, or on the one above, after `# private:`."""
    found = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        source = path.read_text()
        lines = source.splitlines()
        found += [
            f"{path.relative_to(ROOT)}:{number}: {name}"
            for number, name in private_names(source)
            if "# private: " not in "".join(lines[number - 2 : number])
        ]
    assert "\n".join(found) == ""


def test_a_private_name_is_seen_where_it_is_imported_read_or_replaced():
    source = 'from a import _b\na._c()\nself._own\nmonkeypatch.setattr("a.b._d", 1)\npatch.setattr(a, "_e", 1)\na.__dict__\n'
    assert sorted(private_names(source)) == [(1, "_b"), (2, "_c"), (4, "_d"), (5, "_e")]


def annotated(source):
    """Names of the functions with annotations; those of `singledispatch` choose by them."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any(
            isinstance(one, ast.Attribute) and one.attr == "register" for one in node.decorator_list
        ):
            arguments = [one for one in ast.walk(node.args) if isinstance(one, ast.arg)]
            if node.returns or any(one.annotation for one in arguments):
                yield node.name


def test_tests_have_no_annotations_since_nothing_reads_them():
    """`compiled.py` is no test, and each change of it would make the recorded machine code stale."""
    paths = {*(ROOT / "tests").rglob("*.py")} - {*(ROOT / "tests" / "data").rglob("*.py")}
    paths.remove(ROOT / "tests" / "kernels" / "compiled.py")
    found = {str(path.relative_to(ROOT)): [*annotated(path.read_text())] for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


def test_an_annotation_is_seen_at_an_argument_and_at_a_result():
    source = """
def a(x: int): ...
async def b(*, x: int = 1): ...
@pytest.mark.parametrize("registers", [1])
def c(registers) -> int: ...
def d(x): ...
@of.register
def _(x: int): ...
"""
    assert [*annotated(source)] == ["a", "b", "c"]


# Errors


def test_exit_codes_are_unique_and_leave_the_shells_own_alone():
    codes = Counter(cls.exit_code for cls in error_classes())
    assert [code for code, count in codes.items() if count > 1] == []
    assert not set(codes) & {0, 1, 2, 130, 141}
    assert all(2 < code < 126 for code in codes)


def test_every_error_that_can_be_raised_has_a_remedy():
    for cls in error_classes():
        if not cls.__subclasses__():
            assert cls.remedy.endswith("."), cls.__name__


@every_module
def test_only_errors_with_a_remedy_are_raised(path):
    """A class for a whole group has none of its own, so whoever raises it writes one."""
    general = {cls.__name__ for cls in error_classes() if cls.__subclasses__()}
    source = path.read_text()
    if not any(f"raise {name}(" in source for name in general):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            name, given = ast.unparse(node.exc.func), {keyword.arg for keyword in node.exc.keywords}
            assert name not in general or "remedy" in given, f"line {node.lineno}"


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes():
    drawn, above = set(), []
    for branch, name in re.findall(r"^( *[│├└─ ]*)(\w+)", errors.__doc__.split("\n\n")[1], re.MULTILINE):
        above = [(depth, parent) for depth, parent in above if depth < len(branch)]
        drawn.add((above[-1][1] if above else "Exception", name))
        above.append((len(branch), name))
    assert drawn == {(cls.__base__.__name__, cls.__name__) for cls in error_classes()}


def test_an_error_keeps_its_lines_and_its_remedy_on_the_way_between_processes():
    error = errors.KernelAmbiguous(
        "which one", details=["  1 x a", "  2 x b\nc"], remedy="Choose.", near="one", reason="two"
    )
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), copy.message, copy.details, copy.remedy, copy.near, copy.reason) == (
        errors.KernelAmbiguous, "which one", ("  1 x a", "  2 x b\nc"), "Choose.", "one", "two",
    )  # fmt: skip
    assert str(copy) == "which one\n  1 x a\n  2 x b\nc"


# Size, documentation, words


@every_module
def test_a_module_says_what_it_is_for_and_stays_readable_in_one_sitting(path):
    source = path.read_text()
    assert re.match(r'(#.*\n)*"""[^"\s]', source)
    assert len(source.splitlines()) <= 400


def test_a_folder_holds_few_enough_modules_to_be_read_at_a_glance():
    folders = Counter(path.parent.relative_to(ROOT) for path in MODULES if path.name != "__init__.py")
    assert {str(folder): count for folder, count in folders.items() if count > 15} == {}


def types_named(source):
    """The public classes of a module, and the types to which its top level gives a name."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.ClassDef(name=name):
                yield name
            case ast.Module(body=body):
                for name in (one.targets[0].id for one in body if is_named(one)):
                    if re.fullmatch("[A-Z][A-Za-z]*[a-z][A-Za-z]*", name):
                        yield name


def is_named(node):
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)


def test_a_type_has_a_name_of_its_own():
    """A private one is known to its module alone."""
    names = Counter(name for path in MODULES for name in types_named(path.read_text()))
    assert [name for name, count in names.items() if count > 1 and not name.startswith("_")] == []


def test_a_type_is_seen_as_a_class_and_as_a_name_for_another_type():
    source = 'class A: ...\nKind = Literal["a"]\nValue = TypeVar("Value")\nLARGEST = 3\n_Private = int\nplain = 1\n'
    assert set(types_named(source)) == {"A", "Kind", "Value"}


def test_no_text_of_the_house_speaks_of_where_or_how_it_was_written():
    words = ("cla" + "ude", "anth" + "ropic", "chat" + "gpt", "/wo" + "rk/", "/tmp/" + "lab", "as an a" + "i")
    pattern = re.compile("|".join([*map(re.escape, words), "\\bissue" + r" #?\d"]), re.IGNORECASE)
    suffixes = {".py", ".md", ".toml", ".cu", ".cuh", ".yaml", ".yml", ".ipynb", ".html"}
    places = ["profiler", "tests", "kernels", "docs", "dashboards", ".ci", ".github"]
    files = [path for place in places for path in (ROOT / place).rglob("*") if path.suffix in suffixes]
    files += [
        path
        for path in ROOT.glob("*")
        if path.is_file() and path.suffix in {*suffixes, ""} and path.name != ".git"
    ]
    assert len(files) > 40
    found = [
        f"{path.relative_to(ROOT)}: {match.group()}"
        for path in files
        if (match := pattern.search(path.read_text()))
    ]
    assert found == []
