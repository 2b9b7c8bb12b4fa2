// The task of the ladders that normalise each row of a matrix by its own statistics: layer norm, RMSNorm, softmax.
// A ladder says what it computes:
//
//     struct RmsNorm : harness::OfMoments {                            // or statistics of its own, and a `spread` of the data
//         using Element = __half;
//         static constexpr const char* precision = "fp16";
//         static constexpr double threshold = 0x1p-11;                 // of the error, see compare_rows
//         static constexpr int vectors = 1;                            // none, gamma alone, or gamma and beta
//         static std::vector<Parameter> workload();                    // "rows", "hidden" and what else there is
//         static __device__ Term expected(double x, const Moments& of_row, double gamma, double beta);
//     };
//
// and a rung is a function that launches its kernel, or returns false when it refuses the shape or the alignment.
#pragma once

#include <cmath>
#include <memory>

#include "program.cuh"
#include "reduce.cuh"
#include "streams.cuh"

namespace harness {

// Row r starts at r * hidden, in `in` and in `out`. gamma and beta have one element a column, and are null where there is none.
template <class Element>
struct Rows {
    size_t rows;
    uint32_t hidden;
    const Element *in, *gamma, *beta;
    Element* out;
};

// Of a row, in FP64. `variance` is of the row as a whole population: divided by hidden.
struct Moments {
    double mean, variance;
    __device__ double mean_square() const { return variance + mean * mean; }
};

// Rows of eight scales, so that some are small enough for epsilon to count, and four distances of the mean from zero: up to
// four times `spread`.
template <class Element>
__global__ void fill_rows(Element* out, size_t rows, uint32_t hidden, uint64_t seed, float spread = 1) {
    const size_t count = rows * hidden;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        const unsigned kind = unsigned(i / hidden % 32);
        const float uniform = float(random_bits(seed, i) >> 40) * 0x1p-23f - 1.0f;
        out[i] = Element(spread * ldexpf(uniform + float(kind / 8), -int(kind % 8)));
    }
}

struct RowsDifference {
    unsigned long long worst;          // of all rows, as the bits of a double
    unsigned long long worst_element;  // in parts of what is allowed, likewise
    unsigned long long not_finite;
};

constexpr int COMPARE_THREADS = 256;

// By a block of COMPARE_THREADS.
template <class Element>
__device__ Moments moments_of(const Element* in, uint32_t hidden) {
    __shared__ double sums[2][COMPARE_THREADS / 32];
    double sum = 0, squares = 0;
    for (uint32_t i = threadIdx.x; i < hidden; i += COMPARE_THREADS) sum += double(float(in[i]));
    const double mean = block_sum<COMPARE_THREADS>(sum, sums[0]) / double(hidden);
    for (uint32_t i = threadIdx.x; i < hidden; i += COMPARE_THREADS) {
        const double distance = double(float(in[i])) - mean;
        squares += distance * distance;
    }
    return {mean, block_sum<COMPARE_THREADS>(squares, sums[1]) / double(hidden)};
}

struct OfMoments {
    static constexpr float spread = 1;
    template <class Element>
    static __device__ Moments statistics(const Element* in, uint32_t hidden) {
        return moments_of(in, hidden);
    }
};

// The error of a row: the norm of the differences by the norm of the magnitudes. The worst row is what counts, and each element has a bound.
template <class Operation, class Element>
__global__ void __launch_bounds__(COMPARE_THREADS) compare_rows(Rows<Element> all, RowsDifference* out) {
    __shared__ double sums[2][COMPARE_THREADS / 32];
    for (size_t row = blockIdx.x; row < all.rows; row += gridDim.x) {
        const Element* in = all.in + row * all.hidden;
        double difference_squared = 0, magnitude_squared = 0;
        unsigned long long worst = 0;
        const auto of_row = Operation::statistics(in, all.hidden);
        for (uint32_t i = threadIdx.x; i < all.hidden; i += COMPARE_THREADS) {
            const double gamma = all.gamma ? double(float(all.gamma[i])) : 1.0, beta = all.beta ? double(float(all.beta[i])) : 0.0;
            const Term expected = Operation::expected(double(float(in[i])), of_row, gamma, beta);
            const double value = double(float(all.out[row * all.hidden + i]));
            if (!isfinite(value)) atomicAdd(&out->not_finite, 1ull);
            worst = max(worst, bits_of(parts_of_allowed(value - expected.value, Operation::threshold, expected.magnitude)));
            difference_squared += (value - expected.value) * (value - expected.value);
            magnitude_squared += expected.magnitude * expected.magnitude;
        }
        difference_squared = block_sum<COMPARE_THREADS>(difference_squared, sums[0]);
        magnitude_squared = block_sum<COMPARE_THREADS>(magnitude_squared, sums[1]);
        const double error = magnitude_squared > 0 ? sqrt(difference_squared / magnitude_squared) : sqrt(difference_squared);
        if (threadIdx.x == 0) atomicMax(&out->worst, bits_of(error));
        atomicMax(&out->worst_element, worst);
    }
}

template <class Operation, class Element>
void judge_rows(Check& total, const Rows<Element>& rows, const std::string& where) {
    Tally<RowsDifference> sums;
    compare_rows<Operation><<<4096, COMPARE_THREADS>>>(rows, sums.data());
    const RowsDifference found = sums.read();
    const double error = from_bits(found.worst), worst_element = from_bits(found.worst_element);
    total.not_finite += found.not_finite;
    total.error = std::max(total.error, error);
    total.worst_element = std::max(total.worst_element, worst_element);
    if (found.not_finite || !(error <= total.threshold && worst_element <= 1)) total.wrong = "wrong result; " + where;
}

// One shape and alignment that a kernel is tried on; offsets in elements.
struct RowsCase {
    size_t rows;
    uint32_t hidden;
    size_t in_offset, vector_offset, out_offset;
    std::string text() const {
        return "rows = " + std::to_string(rows) + ", hidden = " + std::to_string(hidden) + ", input off by " +
               std::to_string(in_offset) + ", gamma and beta by " + std::to_string(vector_offset) + ", output by " +
               std::to_string(out_offset) + " elements";
    }
};

constexpr uint32_t WIDEST_CASE = 50000;

// The asked shape, aligned and at the asked offset, then rows narrower than a warp, rows that no vector divides, so that
// each starts at an alignment of its own, rows too wide for one block's registers or shared memory, and bases off their
// alignment.
inline std::vector<RowsCase> rows_cases_of(size_t rows, uint32_t hidden, size_t offset) {
    std::vector<RowsCase> cases = {{rows, hidden, 0, 0, 0}};
    if (offset) cases.push_back({rows, hidden, offset, offset, offset});
    for (const uint32_t width : {1u, 2u, 3u, 8u, 31u, 33u, 100u, 127u, 512u, 768u, 1000u, 1023u, 1024u, 2048u, 4096u, 4098u,
                                 4100u, 5120u, 8192u, 12288u, 16384u, 16392u, WIDEST_CASE - 1, WIDEST_CASE})
        for (const size_t count : {size_t(1), size_t(37)}) {
            if (count * width > rows * hidden) continue;
            for (const RowsCase offsets : {RowsCase{0, 0, 0, 0, 0}, RowsCase{0, 0, 1, 0, 0}, RowsCase{0, 0, 0, 1, 0},
                                           RowsCase{0, 0, 0, 0, 1}, RowsCase{0, 0, 3, 3, 3}, RowsCase{0, 0, 4, 4, 4}})
                cases.push_back({count, width, offsets.in_offset, offsets.vector_offset, offsets.out_offset});
        }
    return cases;
}

template <class Operation>
class Normalization {
  public:
    using Element = typename Operation::Element;
    struct Rung {
        const char* name;
        bool (*launch)(const Rows<Element>&);
    };

    // `offset` moves the first element of every array away from its alignment.
    static std::vector<Parameter> parameters() {
        std::vector<Parameter> all = Operation::workload();
        all.push_back({"offset", 0, 0, GuardedBuffer<Element>::LARGEST_OFFSET});
        return all;
    }

    static double bytes(const Options& options) {
        const double elements = (2.0 * double(options["rows"]) + Operation::vectors) * double(options["hidden"]);
        return elements * sizeof(Element);
    }

    Normalization(const Options& options, const Rung& rung)
        : rung_(rung), rows_(options["rows"]), hidden_(uint32_t(options["hidden"])), offset_(options["offset"]),
          bytes_(bytes(options)), in_(rows_ * hidden_), out_(rows_ * hidden_), gamma_(std::max(hidden_, WIDEST_CASE)),
          beta_(gamma_.capacity()) {
        in_.fill(options.seed);
        gamma_.fill(options.seed + 1);
        beta_.fill(options.seed + 2);
        fill_rows<<<1024, 256>>>(in_.at(offset_), rows_, hidden_, options.seed, Operation::spread);
        CUDA_CHECK(cudaGetLastError());
        out_.poison();
    }

    const char* precision() const { return Operation::precision; }
    bool launch() { return rung_.launch(arguments({rows_, hidden_, offset_, offset_, offset_})); }
    const char* reference() const { return CopyReference::name(); }
    bool prepare_reference() {
        reference_ = std::make_unique<CopyReference>(work().amount);
        return true;
    }
    void launch_reference() { reference_->launch(); }
    Work work() const { return {bytes_, "gbytes_per_s"}; }

    Check check() {
        Check total{0, Operation::threshold};
        total.cases = 0;
        for (const RowsCase& one : rows_cases_of(rows_, hidden_, offset_)) {
            add(total, one);
            if (!total.ok()) break;
        }
        return total;
    }
    void poison() { out_.poison(); }
    Check check_last() {
        Check found{0, Operation::threshold};
        judge(found, {rows_, hidden_, offset_, offset_, offset_});
        return found;
    }
    const GuardedBuffer<Element>& output() const { return out_; }

  private:
    Rows<Element> arguments(const RowsCase& one) const {
        return {one.rows, one.hidden, in_.at(one.in_offset),
                Operation::vectors > 0 ? gamma_.at(one.vector_offset) : nullptr,
                Operation::vectors > 1 ? beta_.at(one.vector_offset) : nullptr, out_.at(one.out_offset)};
    }

    void add(Check& total, const RowsCase& one) {
        poison();
        ++total.cases;
        const bool launched = rung_.launch(arguments(one));
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        if (!launched && ++total.refused && total.cases == 1) fail(UNSUPPORTED, "%s refuses %s", rung_.name, one.text().c_str());
        judge(total, one, launched);
    }

    void judge(Check& total, const RowsCase& one, bool launched = true) {
        if (const auto bytes = out_.changed_outside(one.out_offset, launched ? one.rows * one.hidden : 0))
            total.wrong = std::to_string(bytes) + " bytes written where nothing may be; " + one.text();
        if (launched) judge_rows<Operation>(total, arguments(one), one.text());
    }

    Rung rung_;
    size_t rows_;
    uint32_t hidden_;
    size_t offset_;
    double bytes_;
    GuardedBuffer<Element> in_, out_, gamma_, beta_;
    std::unique_ptr<CopyReference> reference_;
};

}  // namespace harness
