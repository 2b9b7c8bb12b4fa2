// The task of this ladder's programs: a random A and B, a poisoned C, and a comparison of each element of C with an FP64 sum.
// In: a shape m n k. Every rung computes C = A * B, all row-major; A and B are FP32 (multiplied as such or in TF32) or
// BF16, C is FP32 or BF16; or A and B are E4M3, B stored by columns, and C is BF16.
#pragma once

#include <memory>
#include <string>

#include "../harness/program.cuh"
#include "precision.cuh"
#include "references.cuh"
#include "rung.cuh"

namespace harness {

struct Comparison {
    double difference_squared, reference_squared;
    unsigned long long not_finite;
    unsigned long long wrong;  // elements further off than is allowed
    unsigned long long worst;  // how far off the worst is, in parts of what is allowed: the bits of a float, then its place
};

// Recomputes C with FP64 accumulation, 16 x 16 elements a block: what ||C - R|| and ||R|| need, and a bound for each element.
template <class Element, class Result>
__global__ void compare_with_fp64(Gemm<Element, Result> g, Comparison* out, bool rounds_product = false) {
    using Exact = Precision<Element, Result>;
    constexpr int T = 16;
    __shared__ double as[T][T + 1], bs[T][T + 1];
    const int x = threadIdx.x, y = threadIdx.y;
    const int col = blockIdx.x * T + x;
    double difference_squared = 0, reference_squared = 0;
    unsigned long long worst = 0;
    for (int row0 = blockIdx.y * T; row0 < g.m; row0 += gridDim.y * T) {
        const int row = row0 + y;
        double sum = 0, exact = 0, magnitude = 0;
        for (int k0 = 0; k0 < g.k; k0 += T) {
            as[y][x] = row < g.m && k0 + x < g.k ? double(float(g.a[size_t(row) * g.k + k0 + x])) : 0.0;
            bs[y][x] = col < g.n && k0 + y < g.k ? double(float(g.b[g.place_in_b(k0 + y, col)])) : 0.0;
            __syncthreads();
            for (int i = 0; i < T; ++i) {
                const double product = Exact::multiplied(as[y][i]) * Exact::multiplied(bs[i][x]);
                sum += as[y][i] * bs[i][x];
                exact += product;
                magnitude += fabs(product);
            }
            __syncthreads();
        }
        if (row < g.m && col < g.n) {
            const size_t place = size_t(row) * g.n + col;
            const double value = float(g.c[place]);
            double parts = parts_off<Element, Result>(g.k, exact, magnitude, value);
            if (g.bias) {
                const double bias = float(g.bias[col]), x = exact + bias;
                parts = fabs(value - gelu(x)) / allowed_of_gelu(Exact::allowed(g.k, magnitude + fabs(bias), rounds_product ? exact : 0), x);
                sum = gelu(sum + bias);
            }
            if (!isfinite(value)) atomicAdd(&out->not_finite, 1ull);
            if (!(parts <= 1)) atomicAdd(&out->wrong, 1ull);
            worst = max(worst, (unsigned long long)__float_as_uint(fabsf(float(parts))) << 32 | place);
            difference_squared += (value - sum) * (value - sum);
            reference_squared += sum * sum;
        }
    }
    atomicMax(&out->worst, worst);
    atomicAdd(&out->difference_squared, difference_squared);
    atomicAdd(&out->reference_squared, reference_squared);
}

template <class Element, class Result = float>
class Multiplication {
  public:
    using Exact = Precision<Element, Result>;
    struct Rung {
        const char* name;
        void (*launch)(const Gemm<Element, Result>&);
        bool is_layer = false;        // whether it computes GELU(A * B + bias)
        bool rounds_product = false;  // to Result, before it adds the bias
    };

    static std::vector<Parameter> parameters() { return {{"m", 4096}, {"n", 4096}, {"k", 4096}}; }

    Multiplication(const Options& options, const Rung& rung)
        : rung_(rung), seed_(options.seed), a_(elements(options, "m", "k")), b_(elements(options, "k", "n")),
          c_(elements(options, "m", "n")), bias_(options["n"]),
          gemm_{int(options["m"]), int(options["n"]), int(options["k"]), a_.data(), b_.data(), c_.data(),
                rung.is_layer ? bias_.data() : nullptr} {
        fill_uniform(a_.data(), a_.count(), seed_);
        fill_uniform(b_.data(), b_.count(), ~seed_);
        fill_uniform(bias_.data(), bias_.count(), seed_ + 1);
        poison();
    }

    const char* precision() const { return Exact::name; }
    std::string reference() const {
        return std::string("cuBLAS ") + Exact::name + (rung_.is_layer ? ", bias and GELU in its epilogue" : "");
    }
    std::string library() const { return "cuBLAS " + cublas_version(); }

    // What cuBLAS computes goes elsewhere: C stays as the rung left it.
    bool prepare_reference() {
        if (!Reference<Element, Result>::available) return false;
        reference_ = std::make_unique<Reference<Element, Result>>();
        reference_c_ = std::make_unique<DeviceBuffer<Result>>(c_.count());
        proposals_ = std::make_unique<Proposals<Element, Result>>(reference_gemm());
        return true;
    }
    void launch_reference() { reference_->launch(reference_gemm()); }
    int proposals() const { return proposals_->count(); }
    void launch_proposal(int proposal) { proposals_->launch(proposal); }
    std::string proposal_text(int proposal) const { return proposals_->text(proposal); }
    // Its norm alone: to multiply in TF32, cuBLAS rounds the factors, which the bounds of single elements expect to be cut off.
    Check check_reference() {
        Check found = compare(reference_gemm());
        found.wrong.clear();
        return found;
    }

    Work work() const { return {2.0 * gemm_.m * gemm_.n * gemm_.k, "gflops"}; }

    bool launch() {
        rung_.launch(gemm_);
        return true;
    }

    Check check() {
        launch();
        return check_last();
    }
    void poison() { c_.fill_bytes(0xFF); }
    Check check_last() { return compare(gemm_); }
    const DeviceBuffer<Result>& output() const { return c_; }

  private:
    static size_t elements(const Options& options, const char* rows, const char* columns) {
        const uint64_t count = options[rows] * options[columns], most = 2147483647;
        if (count > most)
            fail(UNSUPPORTED, "a matrix of %llu x %llu has more than %llu elements; offsets here are 32-bit",
                 (unsigned long long)options[rows], (unsigned long long)options[columns], (unsigned long long)most);
        return count;
    }

    Gemm<Element, Result> reference_gemm() const {
        Gemm<Element, Result> gemm = gemm_;
        gemm.c = reference_c_->data();
        return gemm;
    }

    Check compare(const Gemm<Element, Result>& gemm) const {
        Tally<Comparison> sums;
        const dim3 grid(tiles(gemm.n, 16), std::min(tiles(gemm.m, 16), 65535));
        compare_with_fp64<<<grid, dim3(16, 16)>>>(gemm, sums.data(), rung_.rounds_product);
        const Comparison found = sums.read();
        Check check{std::sqrt(found.difference_squared / std::max(found.reference_squared, 1e-300)), Exact::threshold(gemm.k) + (rung_.rounds_product ? 0x1p-9 : 0),
                    found.not_finite};
        const uint32_t bits = uint32_t(found.worst >> 32), place = uint32_t(found.worst);
        float worst;
        std::memcpy(&worst, &bits, sizeof worst);
        check.worst_element = worst;
        if (found.wrong && !found.not_finite) {
            char text[160];
            std::snprintf(text, sizeof text, "%llu elements further off than allowed; the worst, %.3g times, in row %d, column %d",
                          found.wrong, worst, int(place / gemm.n), int(place % gemm.n));
            check.wrong = text;
        }
        return check;
    }

    Rung rung_;
    uint64_t seed_;
    DeviceBuffer<Element> a_, b_;
    DeviceBuffer<Result> c_, bias_;
    Gemm<Element, Result> gemm_;
    std::unique_ptr<Reference<Element, Result>> reference_;
    std::unique_ptr<Proposals<Element, Result>> proposals_;
    std::unique_ptr<DeviceBuffer<Result>> reference_c_;
};

}  // namespace harness
