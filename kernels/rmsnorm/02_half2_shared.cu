// Rung 2: two elements an access, and the row is kept in shared memory.
//
// Change from rung 1: half2 (or bfloat162) loads and stores; what the sum of squares has read waits in shared memory for
// the second pass.
// Expect: half of the memory instructions for twice the bytes under way; requests to the L1 fall by the second reading.
//
//      block r, 256 threads, hidden 4096
//      row r  --LDG.E-->  | 2048 pairs, 8 KB of shared memory |  --LDS-->  times scale and gamma  --STG.E-->  row r
//
// Traffic per row: read once, written once. A thread reads back only what it staged: one barrier, that of the sum.
// Refuses an odd width, arrays not aligned to 4 bytes, and rows larger than a block's shared memory.
#include "rmsnorm.cuh"

constexpr int THREADS = 256;

template <class Element>
__global__ void __launch_bounds__(THREADS) rmsnorm_02_half2_shared(harness::Rows<Element> rows) {
    extern __shared__ uint32_t memory[];
    __shared__ float sums[32];
    auto* staged = reinterpret_cast<Pair<Element>*>(memory);
    const size_t row = blockIdx.x * size_t(rows.hidden);
    const auto* in = reinterpret_cast<const Pair<Element>*>(rows.in + row);
    const auto* gamma = reinterpret_cast<const Pair<Element>*>(rows.gamma);
    auto* out = reinterpret_cast<Pair<Element>*>(rows.out + row);
    float squares = 0;
    for (uint32_t i = threadIdx.x; i < rows.hidden / 2; i += THREADS) {
        const Pair<Element> x = in[i];
        staged[i] = x;
        const float2 both = to_floats(x);
        squares += both.x * both.x + both.y * both.y;
    }
    const float scale = scale_of_row(squares, rows.hidden, sums);
    for (uint32_t i = threadIdx.x; i < rows.hidden / 2; i += THREADS) out[i] = scaled<Element>(staged[i], scale, gamma[i]);
}

struct Launch {
    template <class Element>
    static bool of(const harness::Rows<Element>& rows) {
        const size_t bytes = rows.hidden * sizeof(Element);
        const bool pairs = rows.hidden % 2 == 0 && harness::is_aligned(rows.in, 4) && harness::is_aligned(rows.out, 4) &&
                           harness::is_aligned(rows.gamma, 4);
        if (!pairs || !allow_shared(rmsnorm_02_half2_shared<Element>, bytes)) return false;
        rmsnorm_02_half2_shared<<<harness::blocks_for(rows.rows, 1), THREADS, bytes>>>(rows);
        return true;
    }
};

int main(int argc, char** argv) { return run_rung<Launch>(argc, argv, "02_half2_shared"); }
