// Updates whose order with all other accesses is kept, as cuda::atomic_ref keeps it unless it is told otherwise; each beside one that keeps no order.
#include <cuda/atomic>

#include "program.cuh"

using Order = cuda::memory_order;

// ---- how often each of many values occurs, so that hardly any two updates meet at one place

constexpr int MANY = 1 << 22, VALUES = 1 << 24;

template <Order ORDER>
__device__ __forceinline__ void tally(const int* __restrict__ values, int* counts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cuda::atomic_ref<int, cuda::thread_scope_device> count(counts[values[i]]);  // <- tally_in_order
  count.fetch_add(1, ORDER);  // <- tally_in_order
}

__global__ void tally_in_order(const int* values, int* counts) { tally<cuda::memory_order_seq_cst>(values, counts); }
__global__ void tally_in_any_order(const int* values, int* counts) { tally<cuda::memory_order_relaxed>(values, counts); }

int main(int argc, char** argv) {
  Program p(argc, argv);
  int *values = p.in<int>(), *out = p.out<int>();
  auto hashes = [=] { fill(values, VALUES, [] __device__(size_t i) { return static_cast<int>(hashed(i, 3) % MANY); }); };

  p.set();
  p.kernel<int>("tally_in_order", MANY, hashes, [=] { tally_in_order<<<VALUES / 256, 256>>>(values, out); });
  p.kernel<int>("tally_in_any_order", MANY, hashes, [=] { tally_in_any_order<<<VALUES / 256, 256>>>(values, out); });
  return p.end();
}
