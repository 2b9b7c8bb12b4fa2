// The task of this ladder: position += velocity * dt for n particles, FP32, in place. The rungs differ in how the particles lie
// in memory: one array of structures, or an array for each of the six fields.
#pragma once

#include <memory>

#include "../harness/memcpy.cuh"
#include "../harness/program.cuh"
#include "../harness/streams.cuh"

constexpr int FIELDS = 6;  // x y z, then their velocities
constexpr float DT = 0.01f;

enum class Layout {
    PACKED,  // structures of 24 bytes: x y z vx vy vz
    PADDED,  // of 32 bytes: x y z and 4 bytes that nobody may change, vx vy vz and 4 more
    ARRAYS,
};

// Field f of particle i is field[f][i * stride].
struct Particles {
    size_t n;
    float* field[FIELDS];
    size_t stride;
};

__device__ inline float drawn(uint64_t seed, size_t i, int f) {
    return float(harness::random_bits(seed, i * FIELDS + f) >> 40) * 0x1p-23f - 1.0f;
}

__global__ static void fill_particles(Particles particles, uint64_t seed) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < particles.n; i += size_t(gridDim.x) * blockDim.x)
        for (int f = 0; f < FIELDS; ++f) particles.field[f][i * particles.stride] = drawn(seed, i, f);
}

struct Found {
    unsigned long long worst;  // error of a coordinate, as the bits of a double
    unsigned long long not_finite, velocities_changed;
};

// Compares with FP64, then poisons what it has read: whatever is not poison afterwards was written where nothing may be.
__global__ static void compare_and_poison(Particles particles, uint64_t seed, double dt, Found* found) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < particles.n; i += size_t(gridDim.x) * blockDim.x)
        for (int f = 0; f < FIELDS; ++f) {
            float& field = particles.field[f][i * particles.stride];
            const double start = drawn(seed, i, f), moved = f < 3 ? drawn(seed, i, f + 3) * dt : 0.0;
            if (!isfinite(field)) atomicAdd(&found->not_finite, 1ull);
            if (f >= 3 && double(field) != start) atomicAdd(&found->velocities_changed, 1ull);
            const double magnitude = fabs(start) + fabs(moved), difference = fabs(double(field) - (start + moved));
            if (f < 3 && difference > 0)
                atomicMax(&found->worst, harness::bits_of(difference / magnitude));
            field = __uint_as_float(0xFFFFFFFFu);
        }
}

class Motion {
  public:
    using Element = float;
    struct Rung {
        const char* name;
        Layout layout;
        bool (*launch)(const Particles&);
    };

    // Of |x| + |v dt|: the product and the sum are each rounded once, by half an ulp.
    static constexpr double THRESHOLD = 0x1p-23;

    // `offset` moves the first float away from its alignment.
    static std::vector<harness::Parameter> parameters() {
        return {{"n", size_t(1) << 26, 1, size_t(1) << 31}, {"offset", 0, 0, harness::GuardedBuffer<float>::LARGEST_OFFSET}};
    }
    static double bytes(const harness::Options& options) { return 9.0 * sizeof(float) * double(options["n"]); }

    Motion(const harness::Options& options, const Rung& rung)
        : rung_(rung), n_(options["n"]), offset_(options["offset"]), seed_(options.seed), bytes_(bytes(options)),
          memory_(floats_of(n_)) {
        poison();
    }

    const char* precision() const { return "fp32"; }
    bool launch() { return rung_.launch(particles({n_, offset_, 0})); }
    const char* reference() const { return harness::CopyReference::name(); }
    bool prepare_reference() {
        reference_ = std::make_unique<harness::CopyReference>(bytes_);
        return true;
    }
    void launch_reference() { reference_->launch(); }
    harness::Work work() const { return {bytes_, "gbytes_per_s"}; }

    harness::Check check() {
        harness::Check total{0, THRESHOLD};
        total.cases = 0;
        for (const harness::Case& one : harness::cases_of(n_, offset_)) {
            add(total, one);
            if (!total.ok()) break;
        }
        return total;
    }
    // In place: what is overwritten is drawn anew.
    void poison() { draw({n_, offset_, 0}); }
    harness::Check check_last() {
        harness::Check found{0, THRESHOLD};
        judge(found, {n_, offset_, 0});
        return found;
    }
    const harness::GuardedBuffer<float>& output() const { return memory_; }

  private:
    static constexpr size_t SLACK = 32;  // floats between two of the six arrays, at least

    static size_t pitch_of(size_t n) { return (n + 31) / 32 * 32 + SLACK; }
    size_t floats_of(size_t n) const {
        if (rung_.layout == Layout::ARRAYS) return FIELDS * pitch_of(n);
        return n * (rung_.layout == Layout::PADDED ? 8 : 6);
    }

    // A case's first offset is the first particle's; its second puts each array out of step with the one before.
    Particles particles(const harness::Case& one) const {
        float* first = memory_.at(one.in_offset);
        const size_t pitch = pitch_of(one.n) - SLACK + one.out_offset;
        Particles result = {one.n, {}, rung_.layout == Layout::PACKED ? 6u : rung_.layout == Layout::PADDED ? 8u : 1u};
        for (int f = 0; f < FIELDS; ++f) {
            if (rung_.layout == Layout::ARRAYS) result.field[f] = first + f * pitch;
            else result.field[f] = first + (rung_.layout == Layout::PADDED ? f + f / 3 : f);
        }
        return result;
    }

    static std::string text_of(const harness::Case& one) {
        return "n = " + std::to_string(one.n) + ", first particle off by " + std::to_string(one.in_offset) +
               " floats, arrays out of step by " + std::to_string(one.out_offset);
    }

    // Poison between and around the particles.
    void draw(const harness::Case& one) {
        memory_.poison();
        fill_particles<<<1024, 256>>>(particles(one), seed_);
        CUDA_CHECK(cudaGetLastError());
    }

    void add(harness::Check& total, const harness::Case& one) {
        draw(one);
        ++total.cases;
        const bool launched = rung_.launch(particles(one));
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        if (!launched && ++total.refused && total.cases == 1) total.wrong = "refuses aligned particles";
        judge(total, one, launched);
    }

    void judge(harness::Check& total, const harness::Case& one, bool launched = true) {
        harness::Tally<Found> tally;
        compare_and_poison<<<1024, 256>>>(particles(one), seed_, launched ? double(DT) : 0.0, tally.data());
        const Found found = tally.read();
        const double error = harness::from_bits(found.worst);
        total.not_finite += found.not_finite;
        total.error = std::max(total.error, error);
        if (!(error <= (launched ? THRESHOLD : 0))) total.wrong = "wrong positions; " + text_of(one);
        if (found.velocities_changed) total.wrong = "velocities have changed; " + text_of(one);
        if (const auto bytes = memory_.changed_outside(0, 0))
            total.wrong = std::to_string(bytes) + " bytes written where nothing may be; " + text_of(one);
    }

    Rung rung_;
    size_t n_, offset_;
    uint64_t seed_;
    double bytes_;
    harness::GuardedBuffer<float> memory_;
    std::unique_ptr<harness::CopyReference> reference_;
};
