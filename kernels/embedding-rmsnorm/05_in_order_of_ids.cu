// Rung 5: tokens are taken in the order of their ids.
//
// Change from rung 2: tokens are first put into 1024 buckets of neighbouring ids, and block b takes the b-th of that order. The
// rows of a bucket are 1 MB: a token whose row another has asked for finds it in the L2.
// Expect: of ids drawn evenly from as many rows as there are tokens, 37 % ask for a row once more: so many of the reads stay in
// the L2, 18 % of all bytes. Up to 1.22 times as fast, less what the ordering takes: three small steps, a few microseconds.
//
//      ids as they come    | 900 7 2 7 3 ... |    --count-->    tokens of a bucket, and of each token its place in there
//      ids in order        | 2 7 7 3 | ... | 900 ... |          --place-->    beside each id, the token that it is of
//      block b             takes the b-th of these              --bulk copy, sum, store-->    as rung 2
//
// Traffic: a row that several tokens ask for is read once; the order costs 32 bytes a token, most of them in the L2.
// Any width and alignment, as rung 2. The order is kept where the unfused rung has its rows in between; where that is too small
// for it, a few narrow rows, or off the alignment of a word, tokens are taken as they come.
#include "one_pass.cuh"

constexpr uint32_t BUCKETS = 1024;

// `counts` has an element a bucket, each of the others one a token.
struct Order {
    uint32_t *counts, *places, *tokens;
    int32_t* ids;

    Order(void* scratch, size_t of_tokens)
        : counts(static_cast<uint32_t*>(scratch)), places(counts + BUCKETS), tokens(places + of_tokens),
          ids(reinterpret_cast<int32_t*>(tokens + of_tokens)) {}
    static size_t bytes(size_t of_tokens) { return (BUCKETS + 3 * of_tokens) * sizeof(uint32_t); }
};

// Those that name no row are in the last one, among others.
__device__ uint32_t bucket_of(int32_t id, uint32_t shift) { return min(uint32_t(id) >> shift, BUCKETS - 1); }

__global__ void __launch_bounds__(BUCKETS) count_tokens(harness::Lookup<__half> lookup, Order order, uint32_t shift) {
    const size_t token = blockIdx.x * size_t(BUCKETS) + threadIdx.x;
    if (token < lookup.tokens) order.places[token] = atomicAdd(&order.counts[bucket_of(lookup.ids[token], shift)], 1u);
}

// Each block adds up the buckets for itself, a thread a bucket.
__global__ void __launch_bounds__(BUCKETS) place_tokens(harness::Lookup<__half> lookup, Order order, uint32_t shift) {
    __shared__ uint32_t ends[BUCKETS];
    uint32_t end = ends[threadIdx.x] = order.counts[threadIdx.x];
    for (uint32_t distance = 1; distance < BUCKETS; distance *= 2) {
        __syncthreads();
        if (threadIdx.x >= distance) end += ends[threadIdx.x - distance];
        __syncthreads();
        ends[threadIdx.x] = end;
    }
    __syncthreads();
    const size_t token = blockIdx.x * size_t(BUCKETS) + threadIdx.x;
    if (token >= lookup.tokens) return;
    const uint32_t bucket = bucket_of(lookup.ids[token], shift);
    const uint32_t at = (bucket ? ends[bucket - 1] : 0) + order.places[token];
    order.tokens[at] = uint32_t(token);
    order.ids[at] = lookup.ids[token];
}

void put_in_order(const harness::Lookup<__half>& lookup, const Order& order) {
    const unsigned blocks = harness::blocks_for(lookup.tokens, BUCKETS);
    uint32_t shift = 0;
    while ((lookup.vocab - 1) >> shift >= BUCKETS) ++shift;
    CUDA_CHECK(cudaMemsetAsync(order.counts, 0, BUCKETS * sizeof(uint32_t)));
    count_tokens<<<blocks, BUCKETS>>>(lookup, order, shift);
    place_tokens<<<blocks, BUCKETS>>>(lookup, order, shift);
}

// The block's id is of token `tokens[blockIdx.x]`; without `tokens`, of its own.
__device__ __half* result_of(const harness::Lookup<__half>& lookup, const uint32_t* tokens) {
    return lookup.out + size_t(tokens ? tokens[blockIdx.x] : blockIdx.x) * lookup.hidden;
}

__global__ void __launch_bounds__(MOST_THREADS)
    embedding_rmsnorm_05_in_order_of_ids(harness::Lookup<__half> lookup, const uint32_t* tokens, const __half* gamma) {
    __half* out = result_of(lookup, tokens);
    if (const __half* row = lookup.row_of(blockIdx.x)) normalise_at_once<VECTORS>(row, gamma, out, lookup.hidden);
    else write_zeros(out, lookup.hidden);
}

__global__ void __launch_bounds__(256)
    embedding_rmsnorm_05_two_passes(harness::Lookup<__half> lookup, const uint32_t* tokens, const __half* gamma) {
    __half* out = result_of(lookup, tokens);
    if (const __half* row = lookup.row_of(blockIdx.x)) normalise_in_two_passes(row, gamma, out, lookup.hidden);
    else write_zeros(out, lookup.hidden);
}

bool launch(const Fused& fused) {
    harness::Lookup<__half> lookup = fused.lookup;
    const uint32_t* tokens = nullptr;
    const unsigned blocks = harness::blocks_for(lookup.tokens, 1), threads = threads_of_row(lookup.hidden, VECTORS);
    const size_t row_bytes = lookup.hidden * sizeof(__half);
    if (Order::bytes(lookup.tokens) <= lookup.tokens * row_bytes && harness::is_aligned(fused.between, sizeof(uint32_t))) {
        const Order order(fused.between, lookup.tokens);
        put_in_order(lookup, order);
        lookup.ids = order.ids;
        tokens = order.tokens;
    }
    const bool vectors = harness::has_aligned_rows(lookup.table, lookup.hidden) &&
                         harness::has_aligned_rows(lookup.out, lookup.hidden) && harness::is_aligned(fused.gamma, 16);
    if (vectors && threads <= MOST_THREADS && allow_shared(embedding_rmsnorm_05_in_order_of_ids, row_bytes))
        embedding_rmsnorm_05_in_order_of_ids<<<blocks, threads, row_bytes>>>(lookup, tokens, fused.gamma);
    else
        embedding_rmsnorm_05_two_passes<<<blocks, 256>>>(lookup, tokens, fused.gamma);
    return true;
}

int main(int argc, char** argv) { return harness::run<EmbeddingRmsNorm>(argc, argv, {"05_in_order_of_ids", launch}); }
