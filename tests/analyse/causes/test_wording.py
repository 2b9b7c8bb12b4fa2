"""Advice comes in the words of the language that a kernel is written in; which causes are named does not depend on it."""

import ast
import re
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import get_args

import pytest
import track_record
from made_evidence import LOOP, evidence_of

from profiler.analyse.causes import detectors
from profiler.analyse.causes.detectors import ceilings
from profiler.analyse.causes.detectors.candidate import Candidate
from profiler.analyse.causes.detectors.global_memory import atomics
from profiler.analyse.causes.detectors.instructions import integer_overhead
from profiler.analyse.causes.detectors.launch import little_work
from profiler.analyse.causes.detectors.waiting import barriers, unoverlapped_loads
from profiler.analyse.causes.diagnose import diagnose
from profiler.analyse.causes.words.cuda import CUDA
from profiler.analyse.causes.words.every import words_for
from profiler.analyse.causes.words.julia import JULIA
from profiler.analyse.causes.words.numba import NUMBA
from profiler.analyse.causes.words.triton import FAST_IN_TRITON, IN_TRITON
from profiler.analyse.causes.words.words import SINGLE_IS_ENOUGH, FastForms, Words
from profiler.analyse.recording.languages import Language
from profiler.analyse.recording.profile import profile_kernel
from profiler.catalog.causes import BY_NAME
from profiler.catalog.causes.ceilings import CEILINGS

OF_CUDA = ("__", "#pragma", "float4", "threadIdx", "cp.async")
# Besides: options of its compilers, indices and sizes, functions and literals of floats, vectors, atomics, templates, pointers and statements. What
# other languages call alike has a dot before it there, or is called itself.
ONLY_IN_CUDA = re.compile(
    r"(?<!\w)__|#pragma|cp\.async|nvcc|ptxas|-lineinfo|-use_fast|-fmad|curand|\w::|template|typedef|vector type|<<<"
    r"|(?<!\.)\b(?:threadIdx|blockIdx|blockDim|gridDim|warpSize)\b(?!\()|\b(?:atomic|cuda|cub)[A-Z]|\bw?mma_sync|_matrix_sync"
    r"|(?<!\.)\b(?:pow|r?sqrt|exp|log|fma|sin|cos|tan)f\b|\d\.\d*f\b|\b(?:float|double|u?int|half|u?char|short|long)[1248]\b"
    r"|\bconst [^\s]|;`|\b(?:if|for|while) \("
)
# What the kernel itself says of the larger tile that is advised.
HOW_MUCH_LARGER = re.compile(r", (twice|\d+ times) as high (and|or) wide")
# What is code in advice, and not of CUDA C++ alone: of no language, or of Triton, for which it stands beside.
OF_ANY_LANGUAGE = {
    "`a / n - b * b`",
    "`acc += x`",
    "`break`",
    "`k * T + t`",
    "`mask`",
    "`mma.sync`",
    "`power *= x`",
    "`s`",
    "`sqrt(x * x + y * y)`",
    "`t`",
    "`wgmma`",
    "`x * x * x`",
    "`x[k * T + t]`",
    "`x[t + s]`",
    "`x[t]`",
}
OF_TRITON = re.compile(
    r"\btl\.|num_warps|num_stages|libdevice\.|sem=|enable_fp_fusion|while lo < hi:|x\[:, index\]|DISABLE_PTXAS_OPT"
)
CODE = re.compile(r"`[^`]*`")
KERNEL_OF_NUMBA = "_ZN8__main__4fillB2v1B92cw51cXTLSUwv1sDUaE5ArrayIfLi1E1C7mutable7alignedEf"


# A whole number before a percent sign, which may stand in the next string.
ROUNDED_BY_HAND = re.compile(r""":\.0%\}|(?::\.0f|round\([^()]*\)|int\([^()]*\))\}["'\s]*(?:f["'] ?)?%""")

OF_NUMBA = ("options_literals", "options_floats", "blur_rows_first", "matmul_naive", "matmul_tiled")


@pytest.fixture(scope="module")
def runs():
    names = {
        "softmax_apart",
        "norm_one_warp",
        "embed_flat",
        "matmul_one_stage",
        "columns_few",
        "embed_rows",
        "options_literals",
        "add_transposed",
        "tile_square",
        *OF_NUMBA,
    }
    return track_record.open_kernels(names)


def advice(runs, name):
    run = runs[name]
    return {one.cause: one.try_ for one in diagnose(profile_kernel(run, track_record.kernel_of(run))).causes}


def advise(evidence, candidate):
    return candidate.advice_in(evidence.profile.language)


@pytest.mark.parametrize(
    "name", ["softmax_apart", "norm_one_warp", "matmul_one_stage", "columns_few", "embed_rows"]
)
def test_a_kernel_of_triton_is_advised_in_words_of_triton(runs, name):
    found = advice(runs, name)
    assert found
    # Each form of idle lanes has a remedy of its own, and a small grid names the loop.
    several = {"idle-lanes", "grid-too-small"}
    of_causes = {
        cause: HOW_MUCH_LARGER.sub("", text)
        for cause, text in found.items()
        if cause in IN_TRITON.keys() - several
    }
    # One may be instead of another, which it says first.
    assert [cause for cause, text in of_causes.items() if not text.endswith(IN_TRITON[cause][1:])] == []
    assert not any(word in text for text in found.values() for word in OF_CUDA)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("matmul_one_stage", "Triton copies the next ones while this one is multiplied"),
        ("columns_few", "`tl.range(…, num_stages=3)` for the loop"),
        ("embed_flat", "a BLOCK that gives each thread several of them"),
    ],
)
def test_how_to_load_ahead_depends_on_where_the_loads_are(runs, name, words):
    assert words in advice(runs, name)["loads-not-overlapped"]


def test_a_program_of_which_most_warps_find_no_work_is_to_be_started_with_fewer(runs):
    """Each program has a row of 100 elements, and warps for 1,024."""
    assert "choose BLOCK by the length of the row" in advice(runs, "embed_rows")["idle-lanes"]


@pytest.mark.parametrize("name", ["options_literals", "add_transposed", "tile_square"])
def test_kernels_of_numba_cupy_and_cuda_are_not(runs, name):
    found = advice(runs, name)
    assert found
    assert not set(found.values()) & set(IN_TRITON.values())


@pytest.mark.parametrize("name", OF_NUMBA)
def test_a_kernel_of_numba_is_advised_in_words_of_numba(runs, name):
    found = advice(runs, name)
    assert found
    assert not any(ONLY_IN_CUDA.search(text) for text in found.values())
    doubles = found.get("fp64-arithmetic", NUMBA.without_doubles)
    assert re.sub(f"(?<={SINGLE_IS_ENOUGH}) .it is not [^)]*.(?=:)", "", doubles) == NUMBA.without_doubles


@pytest.mark.parametrize(
    ("name", "cause", "words"),
    [
        ("options_literals", "fp64-arithmetic", "np.float32(0.5)"),
        ("options_floats", "special-functions", "fastmath=True"),
        ("matmul_naive", "integer-overhead", "np.uint32"),
        ("matmul_tiled", "loads-not-overlapped", "cuda.shared.array"),
        ("matmul_tiled", "barriers", "cuda.syncwarp"),
    ],
)
def test_what_numba_calls_it_is_said_of_recorded_kernels(runs, name, cause, words):
    assert words in advice(runs, name)[cause]


@pytest.mark.parametrize(
    ("kernel", "file", "words"),
    [
        (KERNEL_OF_NUMBA, "made.py", "cuda.shfl_sync"),
        (KERNEL_OF_NUMBA, None, "cuda.shfl_sync"),  # compiled without lines
        ("_ZN6cudapy8__main__9fill$2411E5ArrayIfLi2E1A8readonly9unalignedE", None, "cuda.shfl_sync"),
        ("a::fill[abi:v1](Array<complex<float>, (int)1, C, mutable, aligned>)", None, "cuda.shfl_sync"),
        ("fill(Array<float, (int)1, C>)", "made.cu", "`__shfl_sync`"),  # of a class that its author calls so
        ("_Z4fill5ArrayIfLi1EE", "made.cu", "`__shfl_sync`"),
        ("fill", "/home/me/fill.jl", "(`shfl_sync`"),
        ("_Z10julia_fill13CuDeviceArrayI7Float32Li1ELi1EE", None, "(`shfl_sync`"),
        ("julia_fill(CuDeviceArray<Float32, (int)1, (int)1>)", None, "(`shfl_sync`"),
        ("julia_fill(float *)", "made.cu", "`__shfl_sync`"),  # an author may call a kernel so
        ("fill", "made.py", "tl.sum"),
        ("kernel_cutlass_fill___main__Fill_object_at__0", "made.py", "`cute.arch.shuffle_sync`"),
        ("fill", "0123.cubin.cu", "`__shfl_sync`"),  # of CuPy
    ],
)
def test_the_language_is_what_the_compiler_left_in_the_name_and_the_lines(kernel, file, words):
    lines = ("BAR.SYNC 0x0", "FADD R1, R1, R1", "BRA 0x0")
    evidence = evidence_of(*lines, facts={1: {"waits": {"barrier": 9}}}, file=file)
    object.__setattr__(evidence.profile, "kernel", kernel)
    (candidate,) = barriers.detect_barriers(evidence)
    assert words in advise(evidence, candidate)


@pytest.mark.parametrize(
    ("kernel", "file", "words"),
    [
        (KERNEL_OF_NUMBA, "made.py", "or a loop in steps of `cuda.gridsize(1)`)"),
        ("fill", "made.cu", "or a grid-stride loop)"),
    ],
)
def test_numba_has_a_word_of_its_own_for_a_loop_that_strides_over_the_grid(kernel, file, words):
    evidence = evidence_of("LDG.E R4, [R2.64]", file=file, figures={"waves": 100.0})
    object.__setattr__(evidence.profile, "kernel", kernel)
    (candidate,) = little_work.detect_little_work(evidence)
    assert words in advise(evidence, candidate)


def texts_of_detectors():
    """Yields what detectors say, and the remedies that they take from the list of causes, without what explains their code."""
    for path in Path(detectors.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text())
        yield from texts_in(tree, {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)})
    yield from (one.remedy for one in CEILINGS)


def texts_in(tree, left_out=()):
    """Yields the texts in code, with a pair of braces for what an f-string fills in."""
    of_others = set(left_out)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) and node not in of_others:
            of_others.update(node.values)
            yield "".join(
                getattr(one, "value", "") if isinstance(one, ast.Constant) else "{}" for one in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in of_others:
            yield node.value


def candidates_of_detectors():
    """Yields where a detector makes a candidate, with the texts that its module has under names."""
    for path in Path(detectors.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text())
        named = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Candidate":
                yield node, named


def texts_with_named(tree, named):
    """Returns the texts in code, and those that it has by a name."""
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in named]
    return [*texts_in(tree), *(text for name in names for text in texts_in(named[name]))]


def words_in(words):
    """Returns all words of a language, of which some are made for a number or a name."""
    found = []
    for one in vars(words).values():
        if is_dataclass(one):
            found += words_in(one)
        else:
            found += [one(16) if callable(one) else one] if not isinstance(one, tuple) else one
    return found


def code_in(texts):
    return {one for text in texts for one in CODE.findall(text)}


def test_no_detector_says_a_word_of_cuda_itself():
    """It would be printed for kernels of every language: the words of each stand in a module of its own."""
    texts = [text if " " in text else f"`{text.strip('`')}`" for text in texts_of_detectors()]
    assert len(texts) > 1000
    assert [text for text in texts if ONLY_IN_CUDA.search(text)] == []


def test_all_code_that_a_detector_writes_is_of_any_language():
    """Code that looks like none of CUDA C++ is found so."""
    of_others = {one for one in code_in(texts_of_detectors()) if "{" not in one and not OF_TRITON.search(one)}
    assert of_others - OF_ANY_LANGUAGE == set()


@pytest.mark.parametrize("language", ["Numba", "Julia", "CuTe DSL"])
def test_no_language_says_a_word_of_cuda(language):
    words, in_cuda = words_in(words_for(language, None)), words_in(CUDA)
    assert any(ONLY_IN_CUDA.search(text) for text in in_cuda)
    assert [text for text in words if ONLY_IN_CUDA.search(text)] == []
    alike = {text for text in words if text in in_cuda and CODE.search(text)}
    assert alike - {JULIA.choose_each} == set(), "in which Julia writes a condition alike"


def test_what_every_language_says_unless_it_has_a_better_word_is_plain_english():
    plain = [one.default for one in (*fields(Words), *fields(FastForms)) if isinstance(one.default, str)]
    assert len(plain) > 10
    assert [text for text in plain if "`" in text or ONLY_IN_CUDA.search(text)] == []


def test_each_word_is_said_by_a_detector():
    said = {
        node.attr
        for path in Path(detectors.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
    }
    assert {one.name for one in (*fields(Words), *fields(FastForms))} - said == set()


def test_what_was_found_is_said_in_words_of_no_language():
    """Only advice is said anew."""
    found = [
        text for node, named in candidates_of_detectors() for text in texts_with_named(node.args[1], named)
    ]
    assert len(found) > 50
    assert [text for text in found if ONLY_IN_CUDA.search(text)] == []
    assert not any(asks_for_words(node.args[1]) for node, _ in candidates_of_detectors())


def asks_for_words(tree):
    return any(isinstance(node, ast.Attribute) and node.attr == "words" for node in ast.walk(tree))


def test_no_detector_speaks_of_cuda_where_a_kernel_is_of_triton():
    """Advice for a cause that has no words of Triton is said as it is."""
    left = {
        f"{path.stem}: {ast.unparse(node.args[0])}"
        for path in Path(detectors.__file__).parent.rglob("*.py")
        if asks_for_words(tree := ast.parse(path.read_text()))
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Candidate"
        if not any(keyword.arg == "in_triton" for keyword in node.keywords)
        and getattr(node.args[0], "value", None) not in IN_TRITON
    }
    assert left == {
        "occupancy: name",  # of a limit, and Triton has words for each
        "redundant_instructions: 'redundant-instructions'",  # asks for none itself
        "redundant_loads: name",  # of rows of threads, which no program has
    }


@pytest.mark.parametrize(
    ("capability", "said"), [("8.6", "CG.memcpy_async"), ("7.5", "Load the next tile into registers")]
)
def test_kernels_of_julia_too_are_advised_nothing_that_their_gpu_lacks(monkeypatch, capability, said):
    evidence = evidence_of("FADD R1, R1, R1", file="/home/me/fill.jl")
    monkeypatch.setitem(vars(evidence.profile), "compute_capability", capability)
    assert said in evidence.words.next_tile
    assert bool(evidence.words.widen_first) == ("async" in said)


def test_no_remedy_in_words_of_cuda_is_left_without_one_in_words_of_triton():
    left = [one.name for one in BY_NAME.values() if any(word in one.remedy for word in OF_CUDA)]
    assert "spelled-out-instructions" in left
    assert set(left) - set(IN_TRITON) == {"redundant-global-loads"}, "each of its detectors has its own"


def test_what_a_detector_says_itself_comes_first():
    general, own = (
        Candidate("narrow-accesses", "", "float4", in_triton=text) for text in ("", "a larger BLOCK")
    )
    of_triton, of_cuda = (evidence_of("LDG.E R4, [R2.64]", file=file) for file in ("made.py", "made.cu"))
    assert [advise(of_triton, one) for one in (general, own)] == [
        IN_TRITON["narrow-accesses"],
        "a larger BLOCK",
    ]
    assert {advise(of_cuda, one) for one in (general, own)} == {"float4"}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["BAR.SYNC 0x0", "FADD R1, R1, R1"], "Reduce less often"),
        (["BAR.SYNC 0x0", "HGMMA.64x64x16.F32 R56, gdesc[UR12], R56"], "a larger BLOCK_K"),
    ],
)
def test_what_to_do_about_barriers_depends_on_whether_they_guard_tiles(lines, words):
    evidence = evidence_of(*lines, "BRA 0x0", facts={1: {"waits": {"barrier": 9}}}, file="made.py")
    (candidate,) = barriers.detect_barriers(evidence)
    assert words in advise(evidence, candidate)


@pytest.mark.parametrize(
    ("resource", "words"),
    [("fma", "let tensor cores multiply"), ("fma_heavy", "less arithmetic with integers")],
)
def test_tensor_cores_take_no_integers_off_the_fma_pipe(resource, words):
    evidence = evidence_of("IMAD R4, R4, R5, R6", busy={resource: 0.9}, file="made.py")
    (candidate,) = ceilings.detect_ceilings(evidence)
    assert words in advise(evidence, candidate)


@pytest.mark.parametrize(("blocks", "words"), [(100, "one update a program already"), (99, "`tl.sum`")])
def test_a_program_that_updates_once_is_not_told_to_update_once(blocks, words):
    facts = {0: {"acting": 1.0, "waits": {"lg_throttle": 90}}}
    evidence = evidence_of("RED.E.ADD.STRONG.GPU [R6.64], R5", facts=facts, grid=blocks, file="made.py")
    (candidate,) = atomics.detect_atomics(evidence)
    assert words in advise(evidence, candidate)


def test_each_text_is_of_a_cause():
    assert set(IN_TRITON) <= set(BY_NAME)
    assert not any(
        word in text for text in (*IN_TRITON.values(), *words_in(FAST_IN_TRITON)) for word in OF_CUDA
    )


@pytest.mark.parametrize(
    ("lines", "end", "words"),
    [
        (["I2F.RP R9, R8", "IMAD R2, R9, R21, R22"], LOOP, "Take // and %"),
        (["IADD3 R8, R8, R9, RZ", "IMAD R2, R8, R21, R22"], LOOP, "Compute offsets once"),
        (["IADD3 R8, R8, R9, RZ", "IMAD R2, R8, R21, R22"], "EXIT", "Make strides and sizes `tl.constexpr`"),
    ],
)
def test_what_to_do_about_addresses_depends_on_whether_their_line_divides_and_is_in_a_loop(lines, end, words):
    work = [*lines, *["IMAD R2, R2, R21, R22"] * 30, "LDG.E R4, [R2.64]", end]
    evidence = evidence_of(("MOV R8, RZ", 10), *work, file="made.py", line=7)
    (candidate,) = integer_overhead.detect_integer_overhead(evidence)
    assert advise(evidence, candidate).startswith(words)


def test_tiles_that_are_copied_ahead_can_be_copied_further_ahead():
    code = ("LDGSTS.E.BYPASS.128 [R4], [R2.64]", "HGMMA.64x64x16.F32 R56, gdesc[UR12], R56", "@P0 BRA 0x0")
    evidence = evidence_of(*code, facts={0: {"waits": {"long_scoreboard": 9}}}, file="made.py")
    (candidate,) = unoverlapped_loads.detect_unoverlapped_loads(evidence)
    assert "are copied ahead already: try" in advise(evidence, candidate)


SINCE_AMPERE = ("async", "__reduce_add_sync", "warp_reduction")


@pytest.mark.parametrize("capability", ["7.0", "7.5", "8.0", "12.0", None])
@pytest.mark.parametrize("language", get_args(Language))
def test_gpus_before_ampere_are_advised_nothing_that_they_lack(language, capability):
    said = [
        text for text in words_in(words_for(language, capability)) if re.search("|".join(SINCE_AMPERE), text)
    ]
    assert bool(said) == (capability not in ("7.0", "7.5") and language != "Numba")


def test_every_share_of_a_whole_is_rounded_by_the_one_rule():
    """What is not all of it is never printed as 100 %, and what is not nothing never as 0 %."""
    folder = Path(detectors.__file__).parents[1]
    texts = {str(file.relative_to(folder)): file.read_text() for file in sorted(folder.rglob("*.py"))}
    assert "detectors/waiting/barriers.py" in texts
    assert [name for name, text in texts.items() if ROUNDED_BY_HAND.search(text)] == []


@pytest.mark.parametrize(
    ("text", "is_by_hand"),
    [
        ('f"{share:.0f} %"', True),
        ('f"{share:.0f}%"', True),
        ('f"{share:.0%}"', True),
        ('f"{share:.0f} "\n    f"% of it"', True),
        ('f"{share:.0f}"\n    " % of it"', True),
        ('f"{round(share)} %"', True),
        ('f"{bytes:.0f} bytes"\n    f"{pct(share)} %"', False),
        ('f"{number:.1f} %"', False),
    ],
)
def test_a_share_that_is_rounded_by_hand_is_found_on_one_line_or_two(text, is_by_hand):
    assert bool(ROUNDED_BY_HAND.search(text)) == is_by_hand
