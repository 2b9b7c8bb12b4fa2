"""Finding nvcc, cuBLAS and the GPUs wherever they are; and the errors if they are missing."""

import sys
from pathlib import Path

import pytest
from terminal import write_tool

from profiler.errors import GpuNotFound, ToolNotFound
from profiler.measuring.tools.gpus import Gpu, choose_gpus, find_gpu
from profiler.measuring.tools.toolchain import find_cublas, find_packaged, find_toolchain

GPUS = [Gpu("NVIDIA H200", "sm_90", "580.1", f"GPU-{number}2345678-abcd") for number in range(4)]
SAYS_VERSION = 'case "$*" in *--version*) echo "release 13.0, V13.0.88";; esac'


def _nvcc(folder, body=SAYS_VERSION):
    return write_tool(folder / "bin" / "nvcc", body)


def _cublas(folder, library, name="libcublas.so.13"):
    (folder / "include").mkdir(parents=True, exist_ok=True)
    (folder / "include/cublas_v2.h").touch()
    (folder / library).mkdir(parents=True, exist_ok=True)
    (folder / library / name).touch()
    return folder / library / name


def test_the_path_comes_first_then_cuda_home(tmp_path):
    on_path, home = _nvcc(tmp_path / "a"), _nvcc(tmp_path / "b")
    both = {"PATH": str(on_path.parent), "CUDA_HOME": str(tmp_path / "b")}
    assert find_toolchain(both).nvcc == on_path
    assert find_toolchain({"PATH": "", "CUDA_HOME": str(tmp_path / "b")}).nvcc == home
    assert find_toolchain({"PATH": "", "CUDA_PATH": str(tmp_path / "b")}).nvcc == home


def test_the_packages_of_pypi(tmp_path, monkeypatch):
    site = tmp_path / "site"
    older, newer = _nvcc(site / "nvidia" / "cu13"), _nvcc(site / "nvidia" / "cu14")
    library = _cublas(site / "nvidia" / "cu13", "lib")
    monkeypatch.setattr(sys, "path", [str(site)])
    assert find_packaged("nvcc") == newer
    newer.unlink()
    assert find_packaged("nvcc") == older
    found = find_toolchain({"PATH": str(older.parent)})
    assert found.root == site / "nvidia" / "cu13"
    assert found.link_folder == found.root / "lib", "the packages have no lib64, where nvcc would look"
    assert found.cublas.file == library


def test_a_script_that_calls_nvcc_is_asked_where_it_really_is(tmp_path):
    body = f'{SAYS_VERSION}\ncase "$*" in *--dryrun*) echo "#\\$ TOP=/opt/cuda/bin/.." >&2;; esac'
    assert find_toolchain({"PATH": str(_nvcc(tmp_path, body).parent)}).root == Path("/opt/cuda")


def test_no_nvcc_anywhere(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    monkeypatch.setattr(
        "profiler.measuring.tools.toolchain.nvcc_candidates",
        lambda environment: iter([Path(environment["CUDA_HOME"]) / "bin/nvcc"]),
    )
    with pytest.raises(ToolNotFound, match="nvcc was not found") as caught:
        find_toolchain({"PATH": "", "CUDA_HOME": "/nowhere"})
    assert caught.value.details == ("    /nowhere/bin/nvcc",)
    assert "pip install nvidia-cuda-nvcc" in caught.value.remedy


def test_an_nvcc_that_says_nothing(tmp_path):
    nvcc = _nvcc(tmp_path, "echo broken >&2; exit 1")
    with pytest.raises(ToolNotFound, match="does not report its version") as caught:
        find_toolchain({"PATH": str(nvcc.parent)})
    assert "broken" in str(caught.value)


def test_cublas_of_another_version_is_not_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    _cublas(tmp_path, "lib64", "libcublas.so.12")
    found = find_cublas(tmp_path, "13")
    assert found is None or not found.file.is_relative_to(tmp_path)
    library = _cublas(tmp_path, "lib64")
    found = find_cublas(tmp_path, "13")
    assert found.file == library


def test_a_header_without_its_library_is_no_cublas(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    _cublas(tmp_path, "lib64").unlink()
    found = find_cublas(tmp_path, "13")
    assert found is None or not found.file.is_relative_to(tmp_path)


def test_the_gpu(script):
    folder = script(
        "nvidia-smi", 'echo "$@" > "$(dirname "$0")/asked"\necho "NVIDIA B200, 10.0, 580.1, GPU-1"'
    )
    gpu = find_gpu({"PATH": f"{folder}:/usr/bin:/bin"})
    assert (gpu.name, gpu.arch, gpu.driver_version, gpu.uuid) == ("NVIDIA B200", "sm_100", "580.1", "GPU-1")
    assert "--id=0" in (folder / "asked").read_text()
    find_gpu({"PATH": f"{folder}:/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "3,1"})
    assert "--id=3" in (folder / "asked").read_text()


@pytest.mark.parametrize(
    ("body", "environment", "reason"),
    [
        (None, {}, "nvidia-smi is not on the PATH"),
        ("echo hello", {}, "nvidia-smi lists none"),
        ("echo 'No devices were found'; exit 6", {}, "nvidia-smi lists none (exit code 6)"),
        ('echo "GPU, [N/A], 1, x"', {}, "nvidia-smi lists none"),
        ("exit 0", {}, "nvidia-smi lists none"),
        ("exit 0", {"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES hides all of them"),
        ("exit 0", {"CUDA_VISIBLE_DEVICES": "-1"}, "CUDA_VISIBLE_DEVICES hides all of them"),
    ],
)
def test_no_gpu(script, tmp_path, body, environment, reason):
    folder = script("nvidia-smi", body) if body is not None else tmp_path
    with pytest.raises(GpuNotFound) as caught:
        find_gpu({"PATH": str(folder), **environment})
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("given_", "numbers"),
    [
        ("all", [0, 1, 2, 3]),
        ("0", [0]),
        ("2,0", [2, 0]),
        (" 1 , 3 ", [1, 3]),
        ("1,1,GPU-12345678-abcd", [1]),
        ("GPU-32345678-abcd,0", [3, 0]),
    ],
)
def test_gpus_are_chosen_by_number_or_uuid(given_, numbers):
    assert choose_gpus(given_, GPUS) == [GPUS[number] for number in numbers]


@pytest.mark.parametrize("given_", ["4", "0,4", "-1", "", ",", "0,", "GPU-9", "none", "ALL"])
def test_a_gpu_that_is_not_there_is_refused(given_):
    with pytest.raises(GpuNotFound, match="4 are visible, from 0") as caught:
        choose_gpus(given_, GPUS)
    assert "all" in caught.value.remedy
