// Blocks that stay and walk over the tiles of C, in clusters: the order of the tiles, and the launch.
#pragma once

#include <algorithm>

#include "hopper.cuh"
#include "rung.cuh"

// Which of the kernels this binary holds for the GPU at hand is known to the device compiler alone.
static __device__ int built_with_wgmma = TARGET_HAS_WGMMA;

inline bool target_has_wgmma() {
    static int built = -1;
    if (built < 0) CUDA_CHECK(cudaMemcpyFromSymbol(&built, built_with_wgmma, sizeof built));
    return built == 1;
}

// Row and column of a tile. Tiles come in bands of `band_rows` rows, so that those under way at one time share rows of A
// and columns of B.
__device__ inline int2 place_of_tile(int tile, int tiles_m, int tiles_n, int band_rows) {
    const int band = tile / (band_rows * tiles_n), first = band * band_rows;
    const int rows = min(band_rows, tiles_m - first), within = tile - band * band_rows * tiles_n;
    return make_int2(first + within % rows, within / rows);
}

struct PersistentLaunch {
    cudaLaunchAttribute cluster;
    cudaLaunchConfig_t config = {};
    int clusters_at_once = 0;  // that the GPU holds

    template <class... Parameters>
    PersistentLaunch(void (*kernel)(Parameters...), int cluster_blocks, int threads, int shared_bytes) {
        cluster.id = cudaLaunchAttributeClusterDimension;
        cluster.val.clusterDim = {unsigned(cluster_blocks), 1, 1};
        config.gridDim = dim3(cluster_blocks);
        config.blockDim = dim3(threads);
        config.dynamicSmemBytes = shared_bytes;
        config.attrs = &cluster;
        config.numAttrs = 1;
        CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
        CUDA_CHECK(cudaOccupancyMaxActiveClusters(&clusters_at_once, kernel, &config));
    }
    PersistentLaunch(const PersistentLaunch&) = delete;
    PersistentLaunch& operator=(const PersistentLaunch&) = delete;
};

// As many clusters as the GPU holds at once, but no more than there are tiles for.
template <class... Parameters, class... Arguments>
void launch_persistent(void (*kernel)(Parameters...), int cluster_blocks, int threads, int shared_bytes, int64_t cluster_tiles,
                       Arguments... arguments) {
    PersistentLaunch launch(kernel, cluster_blocks, threads, shared_bytes);
    launch.config.gridDim = dim3(cluster_blocks * unsigned(std::min<int64_t>(launch.clusters_at_once, cluster_tiles)));
    CUDA_CHECK(cudaLaunchKernelEx(&launch.config, kernel, arguments...));
}
