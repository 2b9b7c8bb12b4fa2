"""The smallest CUDA program: one empty kernel, launched through the driver alone.

`prof doctor` runs this file under ncu to learn whether counters may be read. It needs only the driver's own library,
neither nvcc nor a CUDA toolkit, and ends within a second.
"""

from __future__ import annotations

import ctypes
import sys
from functools import partial

KERNEL_NAME = "prof_probe"
# This PTX is old enough for every GPU that Nsight Compute supports: the driver compiles it for the GPU that is here.
PTX = f".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry {KERNEL_NAME}() {{ ret; }}\n".encode()


def _call(cuda: ctypes.CDLL, function: str, *arguments: object) -> None:
    code = getattr(cuda, function)(*arguments)
    if code:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(code, ctypes.byref(name))
        raise OSError(f"{function}: {(name.value or b'unknown error').decode()}")


def _launch_empty_kernel() -> None:
    """Launches the empty kernel once; raises OSError with the driver's own error."""
    call = partial(_call, ctypes.CDLL("libcuda.so.1"))
    device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(kernel), module, KERNEL_NAME.encode())
    call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    call("cuCtxSynchronize")


if __name__ == "__main__":
    try:
        _launch_empty_kernel()
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
