// What a rung is written with: the multiplication it is handed, its grid, the tensor map of a matrix, and how to fail.
// The program that calls it is harness.cuh, which includes this.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include "../harness/failure.cuh"

namespace harness {

// FP32 numbers that are to be multiplied in TF32: the matrices are FP32, the tensor cores leave out their 13 lowest bits.
struct tf32 {
    tf32() = default;
    __host__ __device__ explicit tf32(float of) : value(of) {}
    __host__ __device__ operator float() const { return value; }
    float value;
};

using e4m3 = __nv_fp8_e4m3;

// One multiplication: A is m x k, B is k x n, C is m x n. In FP8, B is stored by columns: the tensor cores, and so cuBLAS,
// take one-byte numbers only where k is adjacent.
template <class Element, class Result = float>
struct Gemm {
    static constexpr bool B_BY_COLUMNS = sizeof(Element) == 1;
    int m, n, k;
    const Element* a;
    const Element* b;
    Result* c;
    const Result* bias = nullptr;  // of each column of C; where there is one, C = GELU(A * B + bias) is computed instead of A * B
    __host__ __device__ size_t place_in_b(int row, int column) const {
        return B_BY_COLUMNS ? size_t(column) * k + row : size_t(row) * n + column;
    }
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
CUtensorMap tensor_map(const Element* matrix, int rows, int columns, int box_rows, int box_columns, CUtensorMapSwizzle swizzle,
                       CUtensorMapL2promotion promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B) {
    void* encode = nullptr;
    cudaDriverEntryPointQueryResult found;
    CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess) fail(CUDA_FAILED, "the driver has no cuTensorMapEncodeTiled");
    constexpr auto type = sizeof(Element) == 4   ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32
                          : sizeof(Element) == 2 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                 : CU_TENSOR_MAP_DATA_TYPE_UINT8;
    const cuuint64_t extent[] = {cuuint64_t(columns), cuuint64_t(rows)}, row_bytes[] = {columns * sizeof(Element)};
    const cuuint32_t box[] = {cuuint32_t(box_columns), cuuint32_t(box_rows)}, step[] = {1, 1};
    CUtensorMap map;
    const CUresult status = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
        &map, type, 2, const_cast<Element*>(matrix), extent, row_bytes, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
        promotion, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS) fail(CUDA_FAILED, "cuTensorMapEncodeTiled: CUresult %d", int(status));
    return map;
}

}  // namespace harness
