// Rung 21: tiles by the shape, and shared along k where they are too few for the last wave.
//
// Change from rung 19: four more kinds of tiles, and clusters that share one. If the last wave has tiles for half of the clusters or fewer, as many
// clusters as there is room for multiply a part of k each; their sums go through the L2, and each adds up an equal part of the tile (cluster_shares.cuh).
// C leaves as in rung 16, except from the broadest tile, whose sums fill the registers (tile_kinds.cuh).
// Expect: where rung 19's last wave is poor, as much faster as it fills; at 5000 five waves of 256 x 320 for seven of 256 x 256.
//
//       waves of tiles, of ten clusters           the same, shared
//       | 0  1  2  3  4  5  6  7  8  9 |          | 0  1  2  3  4  5  6  7  8  9 |
//       |10 11 12  -  -  -  -  -  -  - |          |10 10 10 11 11 11 12 12 12  - |   a third of the slabs each
//
//       a cluster's tile:   Broad 256 x 320   Large 256 x 256   Medium 256 x 192   Middle 256 x 128
//                           Low 128 x 256   Small 128 x 128   Lone 64 x 128, a block by itself
//
// Parts of shared tiles are multiplied before whole tiles and added up after them, so that no sharer waits long for another. The order of every sum is
// fixed: the same bits in every launch. For sm_90a, and rows of multiples of 16 bytes, which TMA asks for; refuses everything else.
#include "harness.cuh"
#include "tile_kinds.cuh"

void launch(const Product& g) {
    const Choice best = best_kind(g);
    best.launch(g, best.sharers);
}

int main(int argc, char** argv) { return harness::run<harness::Multiplication<bf16, bf16>>(argc, argv, {"21_bf16_by_shape", launch}); }
