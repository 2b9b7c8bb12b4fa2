"""The smallest CUDA program: one empty kernel, launched through the driver alone.

`prof doctor` runs this file under ncu to learn whether counters may be read. It needs only the driver's own library,
neither nvcc nor a CUDA toolkit, and ends within a second.
"""

from __future__ import annotations

import ctypes
import sys

KERNEL_NAME = "prof_probe"
# This PTX is old enough for every GPU that Nsight Compute supports: the driver compiles it for the GPU that is here.
PTX = f".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry {KERNEL_NAME}() {{ ret; }}\n".encode()


class _Driver:
    """libcuda, with every call checked."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libcuda.so.1")

    def call(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(*arguments)
        if code:
            name = ctypes.c_char_p()
            self._library.cuGetErrorName(code, ctypes.byref(name))
            raise OSError(f"{function}: {(name.value or b'unknown error').decode()}")


def _launch_empty_kernel() -> None:
    """Launches the empty kernel once; raises OSError with the driver's own error."""
    driver = _Driver()
    device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuInit", 0)
    driver.call("cuDeviceGet", ctypes.byref(device), 0)
    driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    driver.call("cuCtxSetCurrent", context)
    driver.call("cuModuleLoadData", ctypes.byref(module), PTX)
    driver.call("cuModuleGetFunction", ctypes.byref(kernel), module, KERNEL_NAME.encode())
    driver.call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    driver.call("cuCtxSynchronize")


if __name__ == "__main__":
    try:
        _launch_empty_kernel()
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
