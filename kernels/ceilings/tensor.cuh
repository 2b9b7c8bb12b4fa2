// The task of the rungs on tensor cores: C = rounds * A B^T, A and B one slab each, as wide as a row of shared memory that wgmma
// reads: 64 of BF16 or 32 of TF32. A stays in registers and B in shared memory, so that nothing but the tensor cores is busy.
//
//                    +---256---+         block: two warp groups, one block an SM
//                    | B, 32 KB|         warp group: 64 x 256 of C in 128 registers a thread,
//          +-128 B-+ +---------+             four wgmma of 64 x 256 x 32 bytes a round, 128 cycles each
//       64 | A, 1  | | group 1 |
//       64 | A, 2  | | group 2 |         every block does the same; only the number of its rounds may differ
//          +-------+ +---------+
#pragma once

#include "ceilings.cuh"

constexpr int GROUPS = 2, THREADS = 128 * GROUPS, ROWS = 64 * GROUPS, COLUMNS = 256;
constexpr int ROW_BYTES = 128, STEP_BYTES = 32, STEPS = ROW_BYTES / STEP_BYTES;

struct Product {
    const uint32_t *a, *b;  // rows of 128 bytes: 128 of A, 256 of B
    float* c;               // ROWS x COLUMNS for each block
    uint32_t blocks;        // of work; block b of the grid does those from b on, a grid apart
    uint32_t rounds;        // each
    __host__ __device__ uint32_t rounds_of(uint32_t block, uint32_t grid) const { return (blocks - block + grid - 1) / grid * rounds; }
};

// Matrix instructions of a whole warp group: sm_90a alone.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define HAS_WGMMA 1

#define F4(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define F32(i) F4(i), F4(i + 4), F4(i + 8), F4(i + 12), F4(i + 16), F4(i + 20), F4(i + 24), F4(i + 28)
// sum (64 x 256, FP32, spread over a warp group) += a (64 x 32 bytes, from registers) * b (32 bytes x 256, k adjacent).
#define WGMMA_64X256(name, instruction, modifiers)                                                                                \
    __device__ __forceinline__ void name(float (&sum)[128], const uint32_t (&a)[4], uint64_t b) {                                 \
        asm volatile("wgmma.mma_async.sync.aligned." instruction " {"                                                            \
                     "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, "      \
                     "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, "      \
                     "%42, %43, %44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, "      \
                     "%62, %63, %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, "      \
                     "%82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, "    \
                     "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, "    \
                     "%119, %120, %121, %122, %123, %124, %125, %126, %127}, {%128, %129, %130, %131}, %132, 1, " modifiers ";"  \
                     : F32(0), F32(32), F32(64), F32(96)                                                                         \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));                                                      \
    }
WGMMA_64X256(multiply_bf16, "m64n256k16.f32.bf16.bf16", "1, 1, 0")
WGMMA_64X256(multiply_tf32, "m64n256k8.f32.tf32.tf32", "1, 1")
#undef WGMMA_64X256
#undef F32
#undef F4

// How wgmma finds rows of 128 bytes, k adjacent, with the 128-byte swizzle: eight of them are 1024 bytes.
__device__ __forceinline__ uint64_t rows_descriptor(uint32_t address) {
    constexpr uint64_t SWIZZLE_128B = 1ull << 62, EIGHT_ROWS = uint64_t(1024 >> 4) << 32, IGNORED = 1ull << 16;
    return SWIZZLE_128B | EIGHT_ROWS | IGNORED | (address & 0x3FFFF) >> 4;
}

template <class Multiply>
__device__ void multiply_slabs(const Product& product, Multiply multiply) {
    __shared__ __align__(1024) uint4 b[COLUMNS * ROW_BYTES / sizeof(uint4)];
    constexpr int PIECES = ROW_BYTES / sizeof(uint4);
    // The swizzle: piece p of row r lies where piece p ^ (r % 8) would.
    for (int i = threadIdx.x; i < COLUMNS * PIECES; i += THREADS) {
        const int row = i / PIECES, piece = i % PIECES;
        b[row * PIECES + (piece ^ row % 8)] = reinterpret_cast<const uint4*>(product.b)[i];
    }
    const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;  // and row + 8, as wgmma deals A and C
    uint32_t a[STEPS][4];
    for (int step = 0; step < STEPS; ++step)
        for (int i = 0; i < 4; ++i)
            a[step][i] = product.a[(row + i % 2 * 8) * (ROW_BYTES / 4) + step * (STEP_BYTES / 4) + lane % 4 + i / 2 * 4];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const uint64_t slab = rows_descriptor(uint32_t(__cvta_generic_to_shared(b)));
    float sum[128] = {};
    const uint32_t rounds = product.rounds_of(blockIdx.x, gridDim.x);
    for (uint32_t round = 0; round < rounds; ++round) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int step = 0; step < STEPS; ++step) multiply(sum, a[step], slab + step * (STEP_BYTES >> 4));
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    // Sums of finished wgmma, from here on: without this the compiler may move what reads them to before the wait.
#pragma unroll
    for (int i = 0; i < 128; ++i) asm volatile("" : "+f"(sum[i])::"memory");
    float* c = product.c + blockIdx.x * size_t(ROWS) * COLUMNS;
#pragma unroll
    for (int i = 0; i < 128; ++i) c[(row + i / 2 % 2 * 8) * COLUMNS + i / 4 * 8 + lane % 4 * 2 + i % 2] = sum[i];
}
#else
#define HAS_WGMMA 0
#endif

// Whether the code that this GPU runs was compiled for sm_90a is known to the device compiler alone.
__device__ int built_with_wgmma = HAS_WGMMA;

// Two elements of BF16 a word, or one of TF32, which is an FP32 without its 13 lowest bits.
struct Bf16 {
    static constexpr const char* precision = "bf16";
    static constexpr int elements = 2;
    static __device__ uint32_t word(float first, float second) {
        return __bfloat16_as_ushort(__float2bfloat16(first)) | uint32_t(__bfloat16_as_ushort(__float2bfloat16(second))) << 16;
    }
    static __device__ double dot(uint32_t x, uint32_t y) {
        const auto low = [](uint32_t word) { return double(__uint_as_float(word << 16)); };
        const auto high = [](uint32_t word) { return double(__uint_as_float(word & 0xFFFF0000u)); };
        return low(x) * low(y) + high(x) * high(y);
    }
};

struct Tf32 {
    static constexpr const char* precision = "tf32";
    static constexpr int elements = 1;
    static __device__ uint32_t word(float first, float) { return __float_as_uint(first) & 0xFFFFE000u; }
    static __device__ double dot(uint32_t x, uint32_t y) { return double(__uint_as_float(x)) * double(__uint_as_float(y)); }
};

// Uniform in [-1, 1), or whole numbers from -1 to 1, whose sums are exact.
template <class Type>
__global__ void fill_slab(uint32_t* words, int count, uint64_t seed, bool whole) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const auto draw = [&](uint64_t place) {
        const uint64_t bits = harness::random_bits(seed, place);
        return whole ? float(int((bits >> 32) % 3) - 1) : float(bits >> 40) * 0x1p-23f - 1.0f;
    };
    words[i] = Type::word(draw(2 * i), draw(2 * i + 1));
}

struct SlabDifference {
    double difference_squared, expected_squared;
    unsigned long long not_finite;
};

template <class Type>
__global__ void compare_product(Product product, uint32_t grid, SlabDifference* out) {
    const uint32_t block = blockIdx.x, column = threadIdx.x;
    double difference_squared = 0, expected_squared = 0;
    for (int row = 0; row < ROWS; ++row) {
        double expected = 0;
        for (int i = 0; i < ROW_BYTES / 4; ++i)
            expected += Type::dot(product.a[row * (ROW_BYTES / 4) + i], product.b[column * (ROW_BYTES / 4) + i]);
        expected *= product.rounds_of(block, grid);
        const double value = product.c[(block * size_t(ROWS) + row) * COLUMNS + column];
        if (!isfinite(value)) atomicAdd(&out->not_finite, 1ull);
        difference_squared += (value - expected) * (value - expected);
        expected_squared += expected * expected;
    }
    atomicAdd(&out->difference_squared, difference_squared);
    atomicAdd(&out->expected_squared, expected_squared);
}

template <class Type>
class Tensor : public Ceiling {
  public:
    struct Rung {
        const char* name;
        void (*launch)(const Product&, unsigned grid);
    };
    static constexpr int DEPTH = ROW_BYTES / 4 * Type::elements;  // of a slab, in elements

    Tensor(const harness::Options& options, const Rung& rung)
        : rung_(rung), blocks_(uint32_t(options["blocks"])), rounds_(uint32_t(options["steps"] / DEPTH)), seed_(options.seed),
          grid_(std::min<unsigned>(blocks_, unsigned(harness::find_device().multiProcessorCount))), a_(ROWS * ROW_BYTES / 4),
          b_(COLUMNS * ROW_BYTES / 4), c_(size_t(grid_) * ROWS * COLUMNS) {
        if (options["steps"] % DEPTH) harness::fail(harness::UNSUPPORTED, "steps must be a multiple of %d", DEPTH);
        int built = 0;
        CUDA_CHECK(cudaMemcpyFromSymbol(&built, built_with_wgmma, sizeof built));
        if (!built) harness::fail(harness::UNSUPPORTED, "%s needs wgmma, which only Hopper has, compiled for sm_90a", rung.name);
        fill(false);
    }

    const char* precision() const { return Type::precision; }
    bool launch() {
        rung_.launch(product(), grid_);
        return true;
    }
    harness::Work work() const { return {2.0 * ROWS * COLUMNS * DEPTH * rounds_ * double(blocks_), "gflops"}; }

    // Whole numbers exactly, where one product too few or too many shows; then random numbers, as they are timed, whose sums
    // the tensor cores cut off instead of rounding: up to 2^-23 of each a step.
    harness::Check check() {
        harness::Check total{0, 1e-3};
        const double largest = double(DEPTH) * product().rounds_of(0, grid_);
        if (largest < 0x1p24) {
            fill(true);
            add(total, 0);
            fill(false);
        }
        add(total, total.threshold);
        total.cases = 2;
        return total;
    }
    void poison() { c_.fill_bytes(0xFF); }
    harness::Check check_last() {
        harness::Check found{0, 1e-3};
        judge(found, found.threshold);
        return found;
    }
    const harness::DeviceBuffer<float>& output() const { return c_; }

  private:
    Product product() const { return {a_.data(), b_.data(), c_.data(), blocks_, rounds_}; }

    void fill(bool whole) {
        fill_slab<Type><<<(ROWS * ROW_BYTES / 4 + 255) / 256, 256>>>(a_.data(), ROWS * ROW_BYTES / 4, seed_, whole);
        fill_slab<Type><<<(COLUMNS * ROW_BYTES / 4 + 255) / 256, 256>>>(b_.data(), COLUMNS * ROW_BYTES / 4, seed_ + 1, whole);
        CUDA_CHECK(cudaGetLastError());
    }

    void add(harness::Check& total, double threshold) {
        poison();
        launch();
        CUDA_CHECK(cudaGetLastError());
        judge(total, threshold);
    }

    void judge(harness::Check& total, double threshold) {
        harness::Tally<SlabDifference> sums;
        compare_product<Type><<<grid_, COLUMNS>>>(product(), grid_, sums.data());
        const SlabDifference found = sums.read();
        const double error = std::sqrt(found.difference_squared / found.expected_squared);
        total.not_finite += found.not_finite;
        total.error = std::max(total.error, error);
        if (!(error <= threshold)) total.wrong = threshold > 0 ? "a wrong product" : "a wrong product of whole numbers";
    }

    Rung rung_;
    uint32_t blocks_, rounds_;
    uint64_t seed_;
    unsigned grid_;
    harness::DeviceBuffer<uint32_t> a_, b_;
    harness::DeviceBuffer<float> c_;
};
