// The GEMM ladder's bounds of single elements, on a CPU: products as FMAs and as tensor cores make them, and the same with a
// planted error. Prints a JSON line for each precision, k and error: how many elements are further off than allowed,
// and the worst, in parts of what is allowed. The argument is the largest k. No GPU is needed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "../../kernels/gemm/precision.cuh"
#include "../../kernels/harness/device.cuh"

using harness::e4m3;
using harness::tf32;
using bf16 = __nv_bfloat16;

constexpr int M = 64, N = 72, ROW = 31, COL = 17, TILE = 16;

struct Products {
    const double* a;
    const double* b;  // of one column, one after the other
    int k;
};

// Towards zero, to a multiple of `unit`.
double cut(double x, double unit) { return unit == 0 ? x : std::trunc(x / unit) * unit; }

double by_fmas(const Products& p) {
    float sum = 0;
    for (int i = 0; i < p.k; ++i) sum = std::fma(float(p.a[i]), float(p.b[i]), sum);
    return sum;
}

// `together` products and the sum so far are aligned to the largest of them, cut to so many bits after its first, added, and cut again.
double by_tensor_cores(const Products& p, int together, int bits = 23) {
    const auto unit_of = [bits](double x) { return x == 0 ? 0.0 : std::ldexp(1.0, std::ilogb(x) - bits); };
    double sum = 0;
    for (int first = 0; first < p.k; first += together) {
        const int end = std::min(p.k, first + together);
        double largest = std::fabs(sum);
        for (int i = first; i < end; ++i) largest = std::max(largest, std::fabs(p.a[i] * p.b[i]));
        double next = cut(sum, unit_of(largest));
        for (int i = first; i < end; ++i) next += cut(p.a[i] * p.b[i], unit_of(largest));
        sum = cut(next, unit_of(next));
    }
    return sum;
}

template <class Element, class Result>
void examine(int k, const std::function<double(const Products&)>& multiply) {
    using Exact = harness::Precision<Element, Result>;
    std::vector<double> a(size_t(M) * k), b(size_t(N) * k), right(M * N), exact(M * N), magnitude(M * N);
    const auto fill = [](std::vector<double>& to, uint64_t seed) {
        for (size_t i = 0; i < to.size(); ++i) {
            const Element drawn = Element(float(harness::random_bits(seed, i) >> 40) * 0x1p-23f - 1.0f);
            to[i] = Exact::multiplied(float(drawn));
        }
    };
    fill(a, 1);
    fill(b, 2);
    for (int row = 0; row < M; ++row)
        for (int col = 0; col < N; ++col) {
            const int at = row * N + col;
            const Products products = {&a[size_t(row) * k], &b[size_t(col) * k], k};
            right[at] = float(Result(float(multiply(products))));
            for (int i = 0; i < k; ++i) {
                exact[at] += products.a[i] * products.b[i];
                magnitude[at] += std::fabs(products.a[i] * products.b[i]);
            }
        }
    const auto report = [&](const char* error, const std::function<void(std::vector<double>&)>& plant) {
        std::vector<double> c = right;
        plant(c);
        int wrong = 0;
        double worst = 0;
        for (int at = 0; at < M * N; ++at) {
            const double parts = harness::parts_off<Element, Result>(k, exact[at], magnitude[at], c[at]);
            wrong += !(parts <= 1);
            worst = std::max(worst, parts);
        }
        std::printf("{\"precision\":\"%s\",\"k\":%d,\"error\":\"%s\",\"wrong\":%d,\"worst_element\":%.4e}\n", Exact::name, k, error, wrong, worst);
    };
    const int at = ROW * N + COL;
    report("none", [](auto&) {});
    report("element", [&](auto& c) { c[at] = c[at + 1]; });
    report("product", [&](auto& c) {
        double lost = 0;
        for (int i = 0; i < std::min(k, 32); ++i) {
            const double product = a[size_t(ROW) * k + i] * b[size_t(COL) * k + i];
            if (std::fabs(product) > std::fabs(lost)) lost = product;
        }
        c[at] = float(Result(float(c[at] - lost)));
    });
    report("row", [&](auto& c) { std::copy_n(&c[(ROW + 1) * N], N, &c[ROW * N]); });
    report("tile", [&](auto& c) {
        for (int y = 0; y < TILE; ++y) std::fill_n(&c[(ROW + y) * N + COL], TILE, 0.0);
    });
}

int main(int, char** arguments) {
    for (int k : {1, 16, 333, 4096, 16384}) {
        if (k > std::atoi(arguments[1])) break;
        examine<float, float>(k, by_fmas);
        examine<bf16, float>(k, [](const Products& p) { return by_tensor_cores(p, 16); });
        examine<tf32, float>(k, [](const Products& p) { return by_tensor_cores(p, 8); });
        examine<bf16, bf16>(k, [](const Products& p) { return by_tensor_cores(p, 16); });
        examine<e4m3, bf16>(k, [](const Products& p) { return by_tensor_cores(p, 32, 13); });
    }
}
