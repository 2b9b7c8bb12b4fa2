// The task of this ladder: out = the transpose of a matrix of FP32 numbers, moved and not changed.
#pragma once

#include "../harness/memcpy.cuh"

// in[r][c] goes to out[c][r]; both are stored row by row without gaps.
struct Matrix {
    uint32_t rows, columns;
    const float* in;
    float* out;
};

__global__ static void count_misplaced(Matrix matrix, unsigned long long* found) {
    const size_t count = size_t(matrix.rows) * matrix.columns;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        const size_t row = i / matrix.columns, column = i % matrix.columns;
        if (__float_as_uint(matrix.out[column * matrix.rows + row]) != __float_as_uint(matrix.in[i])) atomicAdd(found, 1ull);
    }
}

// One shape and alignment that a kernel is tried on; offsets in elements.
struct MatrixCase {
    uint32_t rows, columns;
    size_t in_offset, out_offset;
    std::string text() const {
        return std::to_string(rows) + " x " + std::to_string(columns) + ", input off by " + std::to_string(in_offset) +
               " and output by " + std::to_string(out_offset) + " elements";
    }
};

// The asked shape, then rows and columns that no tile and no vector divides, one of each, and first elements off their alignment.
inline std::vector<MatrixCase> matrix_cases_of(uint32_t rows, uint32_t columns, size_t offset) {
    std::vector<MatrixCase> cases = {{rows, columns, 0, 0}};
    if (offset) cases.push_back({rows, columns, offset, offset});
    constexpr uint32_t shapes[][2] = {{1, 1},     {1, 37},     {37, 1},     {3, 5},         {4, 4},         {31, 33},
                                      {32, 32},   {64, 64},    {36, 100},   {100, 36},      {68, 60},       {1000, 1024},
                                      {1021, 1023}, {4096, 4100}, {2, 300000}, {300000, 2}, {4, 2100000}, {2100000, 4}};
    for (const auto& [tall, wide] : shapes)
        for (const MatrixCase at : {MatrixCase{0, 0, 0, 0}, MatrixCase{0, 0, 1, 0}, MatrixCase{0, 0, 0, 1}, MatrixCase{0, 0, 4, 4}})
            if (size_t(tall) * wide <= size_t(rows) * columns) cases.push_back({tall, wide, at.in_offset, at.out_offset});
    return cases;
}

class Transposition {
  public:
    using Element = float;
    struct Rung {
        const char* name;
        bool (*launch)(const Matrix&);
    };

    // `offset` moves the first element of both arrays away from their alignment.
    static std::vector<harness::Parameter> parameters() {
        return {{"rows", 16384}, {"columns", 16384}, {"offset", 0, 0, harness::GuardedBuffer<Element>::LARGEST_OFFSET}};
    }
    static double bytes(const harness::Options& options) {
        return 2.0 * sizeof(Element) * double(options["rows"]) * double(options["columns"]);
    }

    Transposition(const harness::Options& options, const Rung& rung)
        : rung_(rung), rows_(uint32_t(options["rows"])), columns_(uint32_t(options["columns"])), offset_(options["offset"]),
          bytes_(bytes(options)), in_(size_t(rows_) * columns_), out_(in_.capacity()) {
        in_.fill(options.seed);
        out_.poison();
    }

    const char* precision() const { return "fp32"; }
    bool launch() { return rung_.launch(arguments({rows_, columns_, offset_, offset_})); }
    const char* reference() const { return harness::CopyReference::name(); }
    bool prepare_reference() {
        reference_ = std::make_unique<harness::CopyReference>(bytes_);
        return true;
    }
    void launch_reference() { reference_->launch(); }
    harness::Work work() const { return {bytes_, "gbytes_per_s"}; }

    harness::Check check() {
        harness::Check total{0, 0};
        total.cases = 0;
        for (const MatrixCase& one : matrix_cases_of(rows_, columns_, offset_)) {
            add(total, one);
            if (!total.ok()) break;
        }
        return total;
    }
    void poison() { out_.poison(); }
    harness::Check check_last() {
        harness::Check found{0, 0};
        judge(found, {rows_, columns_, offset_, offset_});
        return found;
    }
    const harness::GuardedBuffer<Element>& output() const { return out_; }

  private:
    Matrix arguments(const MatrixCase& one) const {
        return {one.rows, one.columns, in_.at(one.in_offset), out_.at(one.out_offset)};
    }

    void add(harness::Check& total, const MatrixCase& one) {
        poison();
        ++total.cases;
        const bool launched = rung_.launch(arguments(one));
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        if (!launched) total.wrong = "refuses " + one.text();
        judge(total, one, launched);
    }

    void judge(harness::Check& total, const MatrixCase& one, bool launched = true) {
        if (const auto bytes = out_.changed_outside(one.out_offset, launched ? size_t(one.rows) * one.columns : 0))
            total.wrong = std::to_string(bytes) + " bytes written where nothing may be; " + one.text();
        if (!launched) return;
        harness::Tally<unsigned long long> misplaced;
        count_misplaced<<<1024, 256>>>(arguments(one), misplaced.data());
        const double found = double(misplaced.read());
        total.error = std::max(total.error, found);
        if (found > 0) total.wrong = std::to_string(found) + " elements are not where they belong; " + one.text();
    }

    Rung rung_;
    uint32_t rows_, columns_;
    size_t offset_;
    double bytes_;
    harness::GuardedBuffer<Element> in_, out_;
    std::unique_ptr<harness::CopyReference> reference_;
};

// Rungs 2 to 6 and 10: a block moves a square tile, in the order in which the input's tiles lie.
struct Tile {
    uint32_t row, column;  // of its first element in the input
};

template <int SIZE>
__device__ __forceinline__ Tile tile_of_block(const Matrix& matrix) {
    const uint32_t across = (matrix.columns + SIZE - 1) / SIZE;
    return {blockIdx.x / across * SIZE, blockIdx.x % across * SIZE};
}

template <int SIZE>
unsigned blocks_of_tiles(const Matrix& matrix) {
    const size_t across = (matrix.columns + SIZE - 1) / SIZE, down = (matrix.rows + SIZE - 1) / SIZE;
    return harness::blocks_for(across * down, 1);
}

// True if every row of both matrices can be accessed by 128 bits.
inline bool suits_float4(const Matrix& matrix) {
    return matrix.rows % 4 == 0 && matrix.columns % 4 == 0 && harness::is_aligned(matrix.in, 16) &&
           harness::is_aligned(matrix.out, 16);
}
