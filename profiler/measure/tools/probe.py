"""The smallest CUDA program: one empty kernel, launched through the driver alone.

`prof doctor` profiles it to learn whether counters may be read. It needs neither nvcc nor a
CUDA toolkit, only the driver's own library, and ends within a second. Run it as a program.
"""

from __future__ import annotations

import ctypes
import sys

KERNEL_NAME = "prof_probe"
# Old enough for every GPU that Nsight Compute knows: the driver compiles it for the one that is here.
_PTX = f".version 6.0\n.target sm_50\n.address_size 64\n.visible .entry {KERNEL_NAME}() {{ ret; }}\n".encode()


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


def launch_empty_kernel() -> None:
    driver = _Driver()
    device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuInit", 0)
    driver.call("cuDeviceGet", ctypes.byref(device), 0)
    driver.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    driver.call("cuCtxSetCurrent", context)
    driver.call("cuModuleLoadData", ctypes.byref(module), _PTX)
    driver.call("cuModuleGetFunction", ctypes.byref(kernel), module, KERNEL_NAME.encode())
    driver.call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None)
    driver.call("cuCtxSynchronize")


if __name__ == "__main__":
    try:
        launch_empty_kernel()
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
