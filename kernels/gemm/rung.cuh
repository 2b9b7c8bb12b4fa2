// What a rung is written with: the multiplication it is handed, its grid, the tensor map of a matrix, cuBLAS, and how
// to fail. The program that calls it is harness.cuh, which includes this.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <type_traits>

#include "../harness/failure.cuh"

#if !defined(PROF_NO_CUBLAS) && defined(__has_include)
#if !__has_include(<cublas_v2.h>)
#define PROF_NO_CUBLAS
#endif
#endif
#ifndef PROF_NO_CUBLAS
#include <cublas_v2.h>
#endif

namespace harness {

// FP32 numbers that are to be multiplied in TF32: the matrices are FP32, the tensor cores leave out their 13 lowest bits.
struct tf32 {
    tf32() = default;
    __host__ __device__ explicit tf32(float of) : value(of) {}
    __host__ __device__ operator float() const { return value; }
    float value;
};

// One multiplication: A is m x k, B is k x n, C is m x n.
template <class Element>
struct Gemm {
    int m, n, k;
    const Element* a;
    const Element* b;
    float* c;
};

inline int tiles(int extent, int tile) { return extent / tile + (extent % tile != 0); }

// The grid of a kernel that covers C with tiles, x along the columns and y along the rows.
inline dim3 grid_of_tiles(int m, int n, int tile_m, int tile_n) {
    constexpr int MAX_GRID_Y = 65535;
    if (tiles(m, tile_m) > MAX_GRID_Y)
        fail(UNSUPPORTED, "m = %d needs %d rows of tiles; a grid has at most %d", m, tiles(m, tile_m), MAX_GRID_Y);
    return dim3(tiles(n, tile_n), tiles(m, tile_m));
}

// Describes a row-major matrix to the tensor copy engine, which will fetch boxes of this shape from it.
// Rows must be multiples of 16 bytes. The driver's entry point is looked up, so nothing links against libcuda.
template <class Element>
CUtensorMap tensor_map(const Element* matrix, int rows, int columns, int box_rows, int box_columns, CUtensorMapSwizzle swizzle) {
    void* encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess) fail(CUDA_FAILED, "the driver has no cuTensorMapEncodeTiled");
    constexpr auto type = sizeof(Element) == 4 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    const cuuint64_t extent[] = {cuuint64_t(columns), cuuint64_t(rows)}, row_bytes[] = {columns * sizeof(Element)};
    const cuuint32_t box[] = {cuuint32_t(box_columns), cuuint32_t(box_rows)}, step[] = {1, 1};
    CUtensorMap map;
    const CUresult status = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
        &map, type, 2, const_cast<Element*>(matrix), extent, row_bytes, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS) fail(CUDA_FAILED, "cuTensorMapEncodeTiled: CUresult %d", int(status));
    return map;
}

// cuBLAS in the rung's own precision, or nothing when it was missing at build time.
template <class Element>
class Reference {
  public:
#ifdef PROF_NO_CUBLAS
    static constexpr bool available = false;
    void launch(const Gemm<Element>&) { fail(CUDA_FAILED, "built without cuBLAS, which is all that this rung runs"); }
#else
    static constexpr bool available = true;
    Reference() {
        check(cublasCreate(&handle_), "cublasCreate");
        check(cublasSetMathMode(handle_, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
    }
    ~Reference() { cublasDestroy(handle_); }
    Reference(const Reference&) = delete;
    Reference& operator=(const Reference&) = delete;

    // cuBLAS is column-major and so reads our matrices as their transposes: C^T = B^T A^T.
    void launch(const Gemm<Element>& g) {
        constexpr cudaDataType_t type = sizeof(Element) == 4 ? CUDA_R_32F : CUDA_R_16BF;
        constexpr auto compute = std::is_same<Element, tf32>::value ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
        const float one = 1.0f, zero = 0.0f;
        check(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, g.n, g.m, g.k, &one, g.b, type, g.n, g.a, type, g.k, &zero,
                           g.c, CUDA_R_32F, g.n, compute, CUBLAS_GEMM_DEFAULT),
              "cublasGemmEx");
    }

  private:
    static void check(cublasStatus_t status, const char* call) {
        if (status == CUBLAS_STATUS_ALLOC_FAILED) fail(OUT_OF_MEMORY, "out of device memory in %s", call);
        if (status != CUBLAS_STATUS_SUCCESS) fail(CUDA_FAILED, "%s: %s", call, cublasGetStatusString(status));
    }
    cublasHandle_t handle_ = nullptr;
#endif
};

}  // namespace harness
