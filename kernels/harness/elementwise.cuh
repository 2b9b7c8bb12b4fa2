// The task of the ladders that turn an array into another of as many elements: copy, relu, relu-fp16, gelu, scale, tile.
// A ladder says what it computes:
//
//     struct Relu {
//         using Element = float;
//         static constexpr const char* precision = "fp32";
//         static constexpr double threshold = 0;                       // of the error, see compare_elements
//         static constexpr float largest = 1;                          // inputs are uniform in [-largest, largest)
//         static __device__ double expected(double x) { return x > 0 ? x : 0; }
//     };
//
// where `expected` may be of (map, i) when a result depends on more than one element, and returns a Term when it is a sum whose
// terms may cancel. A rung is a function that launches its kernel, or returns false when it refuses the alignment.
#pragma once

#include <cmath>
#include <memory>
#include <type_traits>

#include "memcpy.cuh"
#include "program.cuh"
#include "streams.cuh"

namespace harness {

template <class Element>
struct Map {
    size_t n;
    const Element* in;
    Element* out;
};

// A map cut for vector accesses: elements up to the first address that is aligned for a Vector, whole vectors, and what is
// left over. At most two vectors' worth of elements, the edges, are in no vector.
template <class Vector, class Element>
struct Cut {
    static constexpr size_t PER_VECTOR = sizeof(Vector) / sizeof(Element);
    Map<Element> map;
    size_t head, vectors;

    __host__ __device__ const Vector* in() const { return reinterpret_cast<const Vector*>(map.in + head); }
    __host__ __device__ Vector* out() const { return reinterpret_cast<Vector*>(map.out + head); }
    __host__ __device__ size_t edges() const { return map.n - vectors * PER_VECTOR; }
    // Where the i-th of the edges lies in the arrays.
    __host__ __device__ size_t edge(size_t i) const { return i < head ? i : i + vectors * PER_VECTOR; }
};

// False when input and output are off their alignment by different amounts: no head is right for both.
template <class Vector, class Element>
bool cut(const Map<Element>& map, Cut<Vector, Element>& into) {
    const size_t off = reinterpret_cast<uintptr_t>(map.in) % sizeof(Vector);
    if (reinterpret_cast<uintptr_t>(map.out) % sizeof(Vector) != off) return false;
    const size_t head = std::min(map.n, (sizeof(Vector) - off) % sizeof(Vector) / sizeof(Element));
    into = {map, head, (map.n - head) / into.PER_VECTOR};
    return true;
}

struct Difference {
    double difference_squared, magnitude_squared;
    unsigned long long not_finite;
    unsigned long long worst;  // element, in parts of what is allowed, as bits
    double relative() const {
        return magnitude_squared > 0 ? std::sqrt(difference_squared / magnitude_squared) : std::sqrt(difference_squared);
    }
};

__device__ inline Term as_term(Term exact) { return exact; }
__device__ inline Term as_term(double exact) { return {exact, fabs(exact)}; }

template <class Operation, class Element>
__device__ Term exact(const Map<Element>& map, size_t i) {
    if constexpr (std::is_invocable_v<decltype(Operation::expected), double>)
        return as_term(Operation::expected(double(float(map.in[i]))));
    else
        return as_term(Operation::expected(map, i));
}

// The error is the norm of the differences by the norm of the magnitudes; and each element has a bound.
template <class Operation, class Element>
__global__ void compare_elements(Map<Element> map, Difference* out) {
    double difference_squared = 0, magnitude_squared = 0;
    unsigned long long worst = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < map.n; i += size_t(gridDim.x) * blockDim.x) {
        const Term expected = exact<Operation>(map, i);
        // What the element type can hold of the exact result is all that may be asked for.
        const double difference = double(float(map.out[i])) - double(float(Element(float(expected.value))));
        if (!isfinite(difference)) atomicAdd(&out->not_finite, 1ull);
        worst = max(worst, bits_of(parts_of_allowed(difference, Operation::threshold, expected.magnitude)));
        difference_squared += difference * difference;
        magnitude_squared += expected.magnitude * expected.magnitude;
    }
    atomicMax(&out->worst, worst);
    atomicAdd(&out->difference_squared, difference_squared);
    atomicAdd(&out->magnitude_squared, magnitude_squared);
}

template <class Operation>
class Elementwise {
  public:
    using Element = typename Operation::Element;
    struct Rung {
        const char* name;
        bool (*launch)(const Map<Element>&);
    };

    // `offset` moves the first element of both arrays away from their alignment.
    static std::vector<Parameter> parameters() {
        return {{"n", size_t(1) << 28, 1, size_t(1) << 34}, {"offset", 0, 0, GuardedBuffer<Element>::LARGEST_OFFSET}};
    }

    Elementwise(const Options& options, const Rung& rung)
        : rung_(rung), n_(options["n"]), offset_(options["offset"]), in_(n_), out_(n_) {
        in_.fill(options.seed, Operation::largest);
        out_.poison();
    }

    const char* precision() const { return Operation::precision; }
    bool launch() { return rung_.launch(map_of({n_, offset_, offset_})); }
    const char* reference() const { return CopyReference::name(); }
    bool prepare_reference() {
        reference_ = std::make_unique<CopyReference>(work().amount);
        return true;
    }
    void launch_reference() { reference_->launch(); }
    static double bytes(const Options& options) { return 2.0 * sizeof(Element) * double(options["n"]); }
    Work work() const { return {2.0 * sizeof(Element) * double(n_), "gbytes_per_s"}; }

    Check check() {
        Check total{0, Operation::threshold};
        total.cases = 0;
        for (const Case& one : cases_of(n_, offset_)) {
            add(total, one);
            if (!total.ok()) break;
        }
        return total;
    }
    void poison() { out_.poison(); }
    Check check_last() {
        Check found{0, Operation::threshold};
        judge(found, {n_, offset_, offset_});
        return found;
    }
    const GuardedBuffer<Element>& output() const { return out_; }

  private:
    Map<Element> map_of(const Case& one) const { return {one.n, in_.at(one.in_offset), out_.at(one.out_offset)}; }

    void add(Check& total, const Case& one) {
        poison();
        ++total.cases;
        const bool launched = rung_.launch(map_of(one));
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        if (!launched && ++total.refused && one.in_offset == 0 && one.out_offset == 0) total.wrong = "refuses an aligned array";
        judge(total, one, launched);
    }

    void judge(Check& total, const Case& one, bool launched = true) {
        if (const auto bytes = out_.changed_outside(one.out_offset, launched ? one.n : 0))
            total.wrong = std::to_string(bytes) + " bytes written where nothing may be; " + one.text();
        if (!launched) return;
        Tally<Difference> sums;
        compare_elements<Operation><<<1024, 256>>>(map_of(one), sums.data());
        const Difference found = sums.read();
        total.not_finite += found.not_finite;
        total.error = std::max(total.error, found.relative());
        total.worst_element = std::max(total.worst_element, from_bits(found.worst));
        if (found.not_finite || !(found.relative() <= total.threshold && from_bits(found.worst) <= 1)) total.wrong = "wrong result; " + one.text();
    }

    Rung rung_;
    size_t n_, offset_;
    GuardedBuffer<Element> in_, out_;
    std::unique_ptr<CopyReference> reference_;
};

}  // namespace harness
