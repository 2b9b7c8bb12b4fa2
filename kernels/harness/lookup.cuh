// What the ladders share that look rows up in a table: the arguments of such a kernel, and how ids are drawn.
#pragma once

#include <climits>

#include "memcpy.cuh"

namespace harness {

// out[t] = table[ids[t]] for every token t. Row r of the table starts at r * hidden, and so does token t's in `out`.
// An id below 0 or from `vocab` on names no row: it reads nothing, and its token gets a row of zeros.
template <class Element>
struct Lookup {
    size_t tokens;
    uint32_t hidden, vocab;
    const int32_t* ids;
    const Element* table;
    Element* out;

    // Null for an id that names no row.
    __device__ const Element* row_of(size_t token) const {
        const uint32_t id = uint32_t(ids[token]);
        return id < vocab ? table + size_t(id) * hidden : nullptr;
    }
};

// Whether every row of `a` starts where a 128-bit access may.
template <class Element>
bool has_aligned_rows(const Element* a, uint32_t hidden) {
    return is_aligned(a, 16) && hidden * sizeof(Element) % 16 == 0;
}

// Uniform over the table's rows. With `strays`, every fifth is one of the ids that name no row.
__global__ static void draw_ids(int32_t* ids, size_t tokens, uint32_t vocab, uint64_t seed, bool strays) {
    const int32_t outside[] = {-1, INT_MIN, INT_MAX, int32_t(min(vocab, uint32_t(INT_MAX)))};
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < tokens; i += size_t(gridDim.x) * blockDim.x) {
        const uint64_t bits = random_bits(seed, i);
        ids[i] = strays && i % 5 == 3 ? outside[bits % 4] : int32_t((bits >> 32) * vocab >> 32);
    }
}

// One shape and alignment that a lookup is tried on; offsets in elements.
struct LookupCase {
    size_t tokens;
    uint32_t hidden;
    size_t table_offset, out_offset;
    // No rung may refuse whole vectors where they may be accessed as such.
    bool plain() const { return hidden % 8 == 0 && table_offset == 0 && out_offset == 0; }
    std::string text() const {
        return "tokens = " + std::to_string(tokens) + ", hidden = " + std::to_string(hidden) + ", table off by " +
               std::to_string(table_offset) + " and output by " + std::to_string(out_offset) + " elements";
    }
};

// The asked shape, aligned and at the asked offset, then rows that no vector divides, rows narrower than a warp's access and wider than a block's, and
// bases off their alignment: each with ids that name no row.
inline std::vector<LookupCase> lookup_cases_of(size_t tokens, uint32_t hidden, size_t offset) {
    std::vector<LookupCase> cases = {{tokens, hidden, 0, 0}};
    if (offset) cases.push_back({tokens, hidden, offset, offset});
    for (const uint32_t width : {1u, 2u, 3u, 4u, 8u, 12u, 31u, 100u, 127u, 128u, 512u, 516u, 1000u, 1023u, 1024u, 1028u, 2048u,
                                 2052u, 4096u, 5120u, 8192u, 16392u, 50000u})
        for (const size_t count : {size_t(1), size_t(37), size_t(1000)}) {
            if (count * width > tokens * hidden || count * width > 4000000) continue;
            for (const LookupCase offsets : {LookupCase{0, 0, 0, 0}, LookupCase{0, 0, 1, 0}, LookupCase{0, 0, 0, 1},
                                             LookupCase{0, 0, 1, 1}, LookupCase{0, 0, 2, 2}, LookupCase{0, 0, 4, 4},
                                             LookupCase{0, 0, 8, 8}})
                cases.push_back({count, width, offsets.table_offset, offsets.out_offset});
        }
    return cases;
}

}  // namespace harness
