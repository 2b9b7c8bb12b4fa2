#!/usr/bin/env python3
"""Records the kernels of this folder: record.py OUT [PROGRAM ...]

Builds every program, lets it verify its kernels, and profiles each kernel with the preset "default", one report a kernel. OUT gets
`times.csv` (each kernel's time without the profiler, in us, the best of five) and the reports by program, packed: `PROGRAM.tar.xz`.
A few kernels are recorded again with every section of Nsight Compute, for its rules: `full.tar.xz`. With names of programs, only
these are recorded. The kernels of `scripts.py`, `ordered_updates.py`, `drawn_numbers.py`, `row_tiles.py` and `tensor_types.py` need PyTorch, Triton and CuPy, those of `register_banks.py` CuPy, those of `python_samples.py` all three and Numba, and those of `cute_samples.py` CuPy and the CuTe DSL.

It runs in the neutral folder /tmp/prof, because a report holds the folder and the command line. It needs nvcc, ncu and a GPU.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))
from profiler.catalog.presets import find_preset  # noqa: E402

WORK = Path("/tmp/prof")
PROGRAMS = [
    "global_memory",
    "shared_memory",
    "sums_in_banks",
    "tile_order",
    "one_place",
    "whose_work",
    "in_place",
    "taken_back",
    "by_threads",
    "planes",
    "scratch",
    "far_neighbours",
    "keyed_hashes",
    "signed_digits",
    "ordered_atomics",
    "by_all",
    "groups",
    "instructions",
    "waiting",
    "launch",
    "instruction_cache",
    "ceilings",
    "textbook",
    "exercises",
    "samples",
    "functions",
    "integers",
    "choices",
    "tables",
    "constants",
    "unrolling",
    "occupancy",
    "phases",
    "trees",
    "decisions",
    "compilation",
    "compilation_debug",
]
DEBUG = {"compilation_debug": "compilation"}  # programs that are others, compiled for debugging
SCRIPTS = [
    "scripts",
    "ordered_updates",
    "drawn_numbers",
    "row_tiles",
    "tensor_types",
    "register_banks",
    "python_samples",
    "cute_samples",
]
NVCC = [
    "nvcc",
    "-O3",
    "-std=c++17",
    "-lineinfo",
    "--extended-lambda",
    "-gencode",
    "arch=compute_90,code=sm_90",
]
NCU = [
    "ncu",
    "--config-file",
    "off",
    "--clock-control",
    "none",
    "--profile-from-start",
    "off",
    "--import-source",
    "yes",
    "-f",
]
THRICE = [
    "move_structs",
    "tile_square",
    "curve_double",
    "sum_one_load",
    "walk_nodes-32",
    "copy_vectors",
]  # for a spread
FULL = [
    "move_structs", "transpose_rows", "unpack_words", "brighten_bytes", "columns_in_memory", "transform_few", "count_global", "sum_atomics",
    "tile_square", "private_rows", "product_tiles", "sums_in_shared",
    "planes_by_division", "powers", "resonate_apart", "series_rolled", "layer_bytes", "curve_double", "correct_power", "shade_lanes", "short_rows",
    "sum_one_load", "dot_one_sum", "largest_tree", "mix_unrolled",
    "scan_steps", "heat_slowest-512", "spmv_thread", "bodies_double-16K", "bitonic_shared", "odd_even_half", "options_double", "smooth_wrapped",
    "softmax_apart", "matmul_one_stage", "total_each", "add_transposed",
    "julia_literals", "centres_global", "visit_thread", "align_block", "triangle_runs", "life_remainders", "median_loops", "counters_thread", "weights_global",
    "small_matrices-36", "norm_thrice", "tones_both", "gather_one", "largest_block", "powers_of_floats", "embed_rows", "bins_each", "options_literals", "matmul_naive",
    "fractal-24", "relax-280", "pairs_beside", "map_pixels-1", "walk_nodes-32", "weigh_registers", "walk_with_tile-100K", "copy_vectors", "multiply_add",
    "bits_masked", "tone_constant", "weigh_constant", "sum_by_four",
]  # fmt: skip


def run(*command: str | Path) -> str:
    done = subprocess.run([*map(str, command)], check=False, cwd=WORK, capture_output=True, text=True)
    if done.returncode:
        say(
            f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )
    return done.stdout


def say(text: str) -> None:
    print(f"{time.monotonic() - BEGAN:6.1f} s  {text}", flush=True)


def build(program: str) -> None:
    debug = ["-G"] if program in DEBUG else []
    run(*NVCC, *debug, "-o", program, f"{DEBUG.get(program, program)}.cu")


def profile(program: str, kernel: str, folder: str, *asked: str) -> None:
    report = WORK / folder / f"{kernel}.ncu-rep"
    launches = 3 if kernel in THRICE and folder != "full-reports" else 1
    command = (
        [sys.executable, f"{program}.py", kernel]
        if program in SCRIPTS
        else [f"./{program}", kernel, str(launches)]
    )
    said = run(*NCU, *asked, "--launch-count", str(launches), "-o", report, *command)
    if not report.exists():
        say(f"{kernel}: no report\n{said[-1500:]}")


def profile_all(program: str, kernels: list[str], name: str, *asked: str) -> None:
    (WORK / f"{name}-reports").mkdir(exist_ok=True)
    for kernel in kernels:
        if time.monotonic() - BEGAN < LIMIT:
            profile(program, kernel, f"{name}-reports", *asked)
    say(f"{program}: {len(kernels)} kernels recorded")


def with_preset(name: str) -> list[str]:
    preset = find_preset(name)
    sections = [word for section in preset.sections for word in ("--section", section)]
    return [*sections, "--metrics", ",".join(preset.metrics)]


def pack(name: str) -> None:
    with tarfile.open(OUT / f"{name}.tar.xz", "w:xz", preset=3) as packed:
        for report in sorted((WORK / f"{name}-reports").glob("*.ncu-rep")):
            packed.add(report, report.name)


def main() -> None:
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    for source in [
        *HERE.glob("*.cu"),
        HERE / "program.cuh",
        *(one for name in SCRIPTS for one in HERE.glob(f"{name}*.py")),
    ]:
        shutil.copy(source, WORK)
    asked = sys.argv[2:] or [*PROGRAMS, *SCRIPTS]
    programs = [name for name in asked if name not in SCRIPTS]
    with ThreadPoolExecutor() as pool:
        list(pool.map(build, programs))
    say("built")
    kernels = {program: run(f"./{program}", "--list").split() for program in programs}
    with open(OUT / "times.csv", "w") as times:
        for program in programs:
            times.write(run(f"./{program}"))
            times.flush()
        for script in [name for name in asked if name in SCRIPTS]:
            times.write(said := run(sys.executable, f"{script}.py"))
            kernels[script] = [line.partition(",")[0] for line in said.splitlines()]
    say("verified")
    with ThreadPoolExecutor(4) as pool:  # packs what is recorded while the next program is
        packing = []
        for program in asked:
            name = (
                "ceilings" if program == "instruction_cache" else program
            )  # few files, because each is copied by itself
            profile_all(program, kernels[program], name, *with_preset("default"))
            if program != "instruction_cache":
                packing.append(pool.submit(pack, name))
        for program in asked:
            profile_all(program, [one for one in kernels[program] if one in FULL], "full", "--set", "full")
        packing.append(pool.submit(pack, "full"))
        for done in packing:
            done.result()
    say("packed")


OUT = Path(sys.argv[1]).resolve()
LIMIT = 480  # seconds after which no more reports are begun
BEGAN = time.monotonic()
main()
