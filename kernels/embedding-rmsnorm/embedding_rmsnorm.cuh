// The task of this ladder: out[t] = RMSNorm(table[ids[t]]), FP16 with statistics in FP32: what a language model does first.
#pragma once

#include <memory>

#include "../harness/lookup.cuh"
#include "../rmsnorm/rmsnorm.cuh"

// `between` has room for every token's row, for a rung that looks up first and normalises then; another may use it as scratch.
struct Fused {
    harness::Lookup<__half> lookup;
    const __half* gamma;
    __half* between;
};

// As plainly as it can be told: what the result is compared with.
__global__ static void gather_plainly(harness::Lookup<__half> lookup) {
    for (size_t token = blockIdx.x; token < lookup.tokens; token += gridDim.x) {
        const __half* row = lookup.row_of(token);
        for (uint32_t i = threadIdx.x; i < lookup.hidden; i += blockDim.x)
            lookup.out[token * lookup.hidden + i] = row ? row[i] : __half(0.0f);
    }
}

class EmbeddingRmsNorm {
  public:
    using Element = __half;
    struct Rung {
        const char* name;
        bool (*launch)(const Fused&);
    };

    // `offset` moves the first element of every array away from its alignment.
    static std::vector<harness::Parameter> parameters() {
        return {{"tokens", 131072},
                {"hidden", 4096, 1, 1u << 20},
                {"vocab", 131072},
                {"offset", 0, 0, harness::GuardedBuffer<Element>::LARGEST_OFFSET}};
    }

    EmbeddingRmsNorm(const harness::Options& options, const Rung& rung)
        : rung_(rung), tokens_(options["tokens"]), hidden_(uint32_t(options["hidden"])), vocab_(uint32_t(options["vocab"])),
          offset_(options["offset"]), seed_(options.seed), bytes_(bytes(options)), ids_(std::max<size_t>(tokens_, 1000)),
          table_(size_t(vocab_) * hidden_), gamma_(std::max<size_t>(hidden_, harness::WIDEST_CASE)),
          between_(tokens_ * hidden_), out_(tokens_ * hidden_) {
        table_.fill(seed_);
        harness::fill_rows<<<1024, 256>>>(table_.at(offset_), vocab_, hidden_, seed_);
        gamma_.fill(seed_ + 2);
        draw(tokens_, vocab_, false);
        out_.poison();
    }

    const char* precision() const { return "fp16"; }
    bool launch() { return rung_.launch(arguments({tokens_, hidden_, offset_, offset_}, vocab_)); }
    const char* reference() const { return harness::CopyReference::name(); }
    bool prepare_reference() {
        reference_ = std::make_unique<harness::CopyReference>(bytes_);
        return true;
    }
    void launch_reference() { reference_->launch(); }
    // What one pass must move: each token's id, its row read and its result written, and gamma.
    static double bytes(const harness::Options& options) {
        const double hidden = double(options["hidden"]);
        return double(options["tokens"]) * (2 * sizeof(Element) * hidden + sizeof(int32_t)) + sizeof(Element) * hidden;
    }
    harness::Work work() const { return {bytes_, "gbytes_per_s"}; }

    harness::Check check() {
        harness::Check total{0, RmsNorm<Element>::threshold};
        total.cases = 0;
        for (const harness::LookupCase& one : harness::lookup_cases_of(tokens_, hidden_, offset_)) {
            add(total, one);
            if (!total.ok()) break;
        }
        return total;
    }
    void poison() {
        out_.poison();
        between_.poison();
    }
    harness::Check check_last() {
        harness::Check found{0, RmsNorm<Element>::threshold};
        judge(found, {tokens_, hidden_, offset_, offset_}, vocab_);
        return found;
    }
    const harness::GuardedBuffer<Element>& output() const { return out_; }

  private:
    Fused arguments(const harness::LookupCase& one, uint32_t vocab) const {
        return {{one.tokens, one.hidden, vocab, ids_.data(), table_.at(one.table_offset), out_.at(one.out_offset)},
                gamma_.at(one.table_offset), between_.at(one.out_offset)};
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
        const size_t written = launched ? one.tokens * one.hidden : 0;
        if (const auto bytes = out_.changed_outside(one.out_offset, written))
            total.wrong = std::to_string(bytes) + " bytes written where nothing may be; " + one.text();
        if (const auto bytes = between_.changed_outside(one.out_offset, written))
            total.wrong = std::to_string(bytes) + " bytes written beside the rows in between; " + one.text();
        if (!launched) return;
        const Fused fused = arguments(one, vocab);
        const harness::DeviceBuffer<Element> gathered(one.tokens * one.hidden);
        harness::Lookup<Element> lookup = fused.lookup;
        lookup.out = gathered.data();
        gather_plainly<<<4096, 256>>>(lookup);
        const harness::Rows<Element> rows = {one.tokens, one.hidden, lookup.out, fused.gamma, nullptr, fused.lookup.out};
        harness::judge_rows<RmsNorm<Element>>(total, rows, one.text());
    }

    Rung rung_;
    size_t tokens_;
    uint32_t hidden_, vocab_;
    size_t offset_;
    uint64_t seed_;
    double bytes_;
    harness::DeviceBuffer<int32_t> ids_;
    harness::GuardedBuffer<Element> table_, gamma_, between_, out_;
    std::unique_ptr<harness::CopyReference> reference_;
};
