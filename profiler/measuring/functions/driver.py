"""Calls the CUDA driver through ctypes: waits for the GPU, empties its L2, and marks the profiler's window.

It works in the context that PyTorch, CuPy, JAX or Numba made, and needs none of them.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_uint, c_uint64, c_void_p

_L2_CACHE_SIZE = 38  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
_BLOCKS, _THREADS = 1024, 256
L2_READER = "prof_reads_l2"
# Reads words and writes none: no line of the buffer has to be written back while something else is timed.
PTX = f"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry {L2_READER}(.param .u64 words, .param .u64 count)
{{
    .reg .pred %p; .reg .b32 %r<8>; .reg .b64 %d<6>;
    ld.param.u64 %d1, [words];
    ld.param.u64 %d2, [count];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;
    mad.lo.u32 %r5, %r1, %r2, %r3;
    mul.lo.u32 %r6, %r4, %r2;
    cvt.u64.u32 %d3, %r5;
    cvt.u64.u32 %d4, %r6;
    mov.u32 %r7, 0;
next:
    setp.ge.u64 %p, %d3, %d2;
    @%p bra done;
    shl.b64 %d5, %d3, 2;
    add.u64 %d5, %d1, %d5;
    ld.global.u32 %r1, [%d5];
    or.b32 %r7, %r7, %r1;
    add.u64 %d3, %d3, %d4;
    bra next;
done:
    setp.eq.u32 %p, %r7, 0;
    @%p bra end;
    st.global.u32 [%d1], %r7;
end:
    ret;
}}
"""


class DriverFailed(Exception):
    """A call of the CUDA driver failed."""


class Driver:
    """The current context of this thread, or the first GPU's primary one if there is none."""

    def __init__(self) -> None:
        try:
            self._cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise DriverFailed(str(error)) from None
        self._call("cuInit", c_uint(0))
        self._buffer = c_uint64()
        self._words = c_uint64()
        self._reader = c_void_p()

    def wait(self) -> None:
        """Waits until the GPU has done all work of every stream."""
        self._enter()
        self._call("cuCtxSynchronize")

    def flush(self) -> None:
        """Empties the L2 by reading something four times as large, and waits."""
        self._enter()
        if not self._words.value:
            self._prepare()
        parameters = (c_void_p * 2)(ctypes.addressof(self._buffer), ctypes.addressof(self._words))
        shape = (c_uint(_BLOCKS), c_uint(1), c_uint(1), c_uint(_THREADS), c_uint(1), c_uint(1))
        self._call("cuLaunchKernel", self._reader, *shape, c_uint(0), c_void_p(), parameters, c_void_p())
        self._call("cuCtxSynchronize")

    def start_window(self) -> None:
        self._enter()
        self._call("cuProfilerStart")

    def stop_window(self) -> None:
        self._call("cuProfilerStop")

    def _enter(self) -> None:
        context = c_void_p()
        self._call("cuCtxGetCurrent", byref(context))
        if not context:
            self._call("cuDevicePrimaryCtxRetain", byref(context), c_int(0))
            self._call("cuCtxSetCurrent", context)

    def _prepare(self) -> None:
        device, size = c_int(), c_int()
        self._call("cuCtxGetDevice", byref(device))
        self._call("cuDeviceGetAttribute", byref(size), c_int(_L2_CACHE_SIZE), device)
        bytes_ = 4 * max(size.value, 1 << 20)
        self._call("cuMemAlloc_v2", byref(self._buffer), ctypes.c_size_t(bytes_))
        self._call("cuMemsetD8_v2", self._buffer, ctypes.c_ubyte(0), ctypes.c_size_t(bytes_))
        module = c_void_p()
        self._call("cuModuleLoadData", byref(module), ctypes.c_char_p(PTX.encode()))
        self._call("cuModuleGetFunction", byref(self._reader), module, L2_READER.encode())
        self._words.value = bytes_ // 4

    def _call(self, name: str, *arguments: object) -> None:
        code = getattr(self._cuda, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorString(code, byref(text))
            reason = text.value.decode() if text.value else f"error {code}"
            raise DriverFailed(f"{name}: {reason}")
