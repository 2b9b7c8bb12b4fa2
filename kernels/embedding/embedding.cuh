// The task of this ladder: out[t] = table[ids[t]], rows of FP32, bit for bit.
#pragma once

#include <memory>

#include "../harness/lookup.cuh"

struct Wrong {
    unsigned long long elements;
};

__global__ static void compare_lookup(harness::Lookup<float> lookup, Wrong* out) {
    for (size_t token = blockIdx.x; token < lookup.tokens; token += gridDim.x) {
        const float* row = lookup.row_of(token);
        for (uint32_t i = threadIdx.x; i < lookup.hidden; i += blockDim.x) {
            const float expected = row ? row[i] : 0.0f;
            if (__float_as_uint(lookup.out[token * lookup.hidden + i]) != __float_as_uint(expected)) atomicAdd(&out->elements, 1ull);
        }
    }
}

class Embedding {
  public:
    using Element = float;
    struct Rung {
        const char* name;
        bool (*launch)(const harness::Lookup<float>&);
    };

    // `offset` moves the first element of the table and of the output away from their alignment.
    static std::vector<harness::Parameter> parameters() {
        return {{"tokens", 262144},
                {"hidden", 1024, 1, 1u << 20},
                {"vocab", 262144},
                {"offset", 0, 0, harness::GuardedBuffer<float>::LARGEST_OFFSET}};
    }

    Embedding(const harness::Options& options, const Rung& rung)
        : rung_(rung), tokens_(options["tokens"]), hidden_(uint32_t(options["hidden"])), vocab_(uint32_t(options["vocab"])),
          offset_(options["offset"]), seed_(options.seed), bytes_(bytes(options)), ids_(std::max<size_t>(tokens_, 1000)),
          table_(size_t(vocab_) * hidden_), out_(tokens_ * hidden_) {
        table_.fill(seed_);
        draw(tokens_, vocab_, false);
        out_.poison();
    }

    const char* precision() const { return "fp32"; }
    bool launch() { return rung_.launch(arguments({tokens_, hidden_, offset_, offset_}, vocab_)); }
    const char* reference() const { return harness::CopyReference::name(); }
    bool prepare_reference() {
        reference_ = std::make_unique<harness::CopyReference>(work().amount);
        return true;
    }
    void launch_reference() { reference_->launch(); }
    // Each token's id, and its row read and written: also where tokens share a row, since the L2 is too small to keep it.
    static double bytes(const harness::Options& options) {
        return double(options["tokens"]) * (2.0 * sizeof(float) * double(options["hidden"]) + sizeof(int32_t));
    }
    harness::Work work() const { return {bytes_, "gbytes_per_s"}; }

    harness::Check check() {
        harness::Check total{0, 0};
        total.cases = 0;
        for (const harness::LookupCase& one : harness::lookup_cases_of(tokens_, hidden_, offset_)) {
            add(total, one);
            if (!total.ok()) break;
        }
        draw(tokens_, vocab_, false);
        return total;
    }
    void poison() { out_.poison(); }
    harness::Check check_last() {
        harness::Check found{0, 0};
        judge(found, {tokens_, hidden_, offset_, offset_}, vocab_);
        return found;
    }
    const harness::GuardedBuffer<float>& output() const { return out_; }

  private:
    harness::Lookup<float> arguments(const harness::LookupCase& one, uint32_t vocab) const {
        return {one.tokens, one.hidden, vocab, ids_.data(), table_.at(one.table_offset), out_.at(one.out_offset)};
    }

    void draw(size_t tokens, uint32_t vocab, bool strays) {
        harness::draw_ids<<<1024, 256>>>(ids_.data(), tokens, vocab, seed_ + 1, strays);
        CUDA_CHECK(cudaGetLastError());
    }

    void add(harness::Check& total, const harness::LookupCase& one) {
        // As many rows as the table's memory has of this width.
        const uint32_t vocab = uint32_t(std::min<size_t>(vocab_, table_.capacity() / one.hidden));
        if (vocab == 0) return;
        draw(one.tokens, vocab, total.cases > 0);
        poison();
        ++total.cases;
        const bool launched = rung_.launch(arguments(one, vocab));
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaDeviceSynchronize());
        if (!launched && ++total.refused && one.plain()) total.wrong = "refuses aligned arrays";
        judge(total, one, vocab, launched);
    }

    void judge(harness::Check& total, const harness::LookupCase& one, uint32_t vocab, bool launched = true) {
        if (const auto bytes = out_.changed_outside(one.out_offset, launched ? one.tokens * one.hidden : 0))
            total.wrong = std::to_string(bytes) + " bytes written where nothing may be; " + one.text();
        if (!launched) return;
        harness::Tally<Wrong> wrong;
        compare_lookup<<<4096, 256>>>(arguments(one, vocab), wrong.data());
        if (const auto elements = wrong.read().elements) {
            total.error = double(elements) / (double(one.tokens) * one.hidden);
            total.wrong = std::to_string(elements) + " wrong elements; " + one.text();
        }
    }

    Rung rung_;
    size_t tokens_;
    uint32_t hidden_, vocab_;
    size_t offset_;
    uint64_t seed_;
    double bytes_;
    harness::DeviceBuffer<int32_t> ids_;
    harness::GuardedBuffer<float> table_, out_;
    std::unique_ptr<harness::CopyReference> reference_;
};
