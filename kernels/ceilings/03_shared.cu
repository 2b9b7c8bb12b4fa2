// Rung 3: shared memory, 128 bits a thread and load.
//
// Each warp reads 512 bytes in a row per load, which meet every bank four times and none of them needlessly. Loads are 512
// bytes apart, so that their places are immediate operands, and 32 of them make a step of the loop.
// Expect: 128 bytes a cycle and SM, 33 TB/s on an H200 at 1.98 GHz; no bank conflicts; the LSU pipe is what binds.
#include "ceilings.cuh"

constexpr int THREADS = 256, ROWS = 32;                       // rows of 512 bytes, one a load
constexpr int VECTORS = THREADS + (ROWS - 1) * 32;            // warp w reads rows w to w + 31

__global__ void __launch_bounds__(THREADS) ceilings_03_shared(const uint4* words, int rounds, uint32_t* sums) {
    __shared__ uint4 shared[VECTORS];
    for (int i = threadIdx.x; i < VECTORS; i += THREADS) shared[i] = words[i];
    __syncthreads();
    const uint32_t from = uint32_t(__cvta_generic_to_shared(shared + threadIdx.x));
    uint32_t sum = 0;
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int row = 0; row < ROWS; ++row) {
            uint4 part;
            // Volatile: the same words every round, which the compiler would otherwise read once.
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(part.x), "=r"(part.y), "=r"(part.z), "=r"(part.w) : "r"(from + row * 512));
            sum += sum_of(part);
        }
    }
    sums[blockIdx.x * size_t(THREADS) + threadIdx.x] = sum;
}

class Shared : public Ceiling {
  public:
    struct Rung {
        const char* name;
    };

    Shared(const harness::Options& options, const Rung&)
        : blocks_(unsigned(options["blocks"])), rounds_(int(options["steps"] / ROWS)), words_(VECTORS * 4),
          sums_(size_t(blocks_) * THREADS) {
        if (options["steps"] % ROWS) harness::fail(harness::UNSUPPORTED, "steps must be a multiple of %d", ROWS);
        fill_words<<<8, 256>>>(words_.data(), words_.count(), options.seed);
        CUDA_CHECK(cudaGetLastError());
    }

    const char* precision() const { return "bytes"; }
    bool launch() {
        ceilings_03_shared<<<blocks_, THREADS>>>(reinterpret_cast<const uint4*>(words_.data()), rounds_, sums_.data());
        return true;
    }
    harness::Work work() const { return {double(sums_.count()) * rounds_ * ROWS * sizeof(uint4), "gbytes_per_s"}; }

    harness::Check check() {
        poison();
        launch();
        CUDA_CHECK(cudaGetLastError());
        return check_last();
    }
    void poison() { sums_.fill_bytes(0xFF); }
    // Every thread's sum: its column of 32 rows, as often as there are rounds.
    harness::Check check_last() {
        std::vector<uint32_t> words(words_.count()), sums(sums_.count());
        CUDA_CHECK(cudaMemcpy(words.data(), words_.data(), words_.bytes(), cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(sums.data(), sums_.data(), sums_.bytes(), cudaMemcpyDeviceToHost));
        size_t wrong = 0;
        for (int thread = 0; thread < THREADS; ++thread) {
            uint32_t expected = 0;
            for (int row = 0; row < ROWS; ++row)
                for (int word = 0; word < 4; ++word) expected += words[4 * (thread + 32 * row) + word];
            for (unsigned block = 0; block < blocks_; ++block) wrong += sums[size_t(block) * THREADS + thread] != expected * rounds_;
        }
        harness::Check check{double(wrong) / double(sums.size()), 0};
        if (wrong) check.wrong = std::to_string(wrong) + " threads whose words do not add up";
        return check;
    }
    const harness::DeviceBuffer<uint32_t>& output() const { return sums_; }

  private:
    unsigned blocks_;
    int rounds_;
    harness::DeviceBuffer<uint32_t> words_, sums_;
};

int main(int argc, char** argv) { return harness::run<Shared>(argc, argv, {"03_shared"}); }
