// Rung 22: rows of tiles of 256 columns and rows that mix 256 and 240, so that all clusters have equally many tiles of nearly equal size.
#pragma once

#include <vector>

#include "slabs.cuh"

constexpr int NARROW = 240;

// Where a tile of a cluster begins, in rows of tiles and columns of C, and whether it is narrow. The GPU looks it up, which takes one access: working it out
// took so many divisions that the tensor cores waited.
struct alignas(16) PlaceOfWidth {
    int row, col, narrow;
};

// Tiles in bands of 8 rows, as in the rungs before. A mixed row has one tile more, and its narrow tiles lie evenly among the others.
struct TwoWidths {
    int tiles_m, wide;   // rows, and tiles of a row that is not mixed
    int narrow;          // tiles of a mixed row
    uint32_t mixed[2];   // one bit a row: of bands of even and of odd numbers
    int stagger;         // how far, in eighths of a row, each row of a band begins its narrow tiles before the next

    static int bits(uint32_t of) {
        int count = 0;
        for (int row = 0; row < BAND_ROWS; ++row) count += of >> row & 1;
        return count;
    }
    int tiles_of_band(int band) const { return BAND_ROWS * wide + bits(mixed[band % 2]); }
    int tiles() const {
        const int bands = tiles_m / BAND_ROWS, left = tiles_m % BAND_ROWS;
        return (bands + 1) / 2 * tiles_of_band(0) + bands / 2 * tiles_of_band(1) + left * wide + bits(mixed[bands % 2] & ((1u << left) - 1));
    }
    // The narrow ones among the first `tile` of a mixed row.
    int narrow_before(int tile, int row) const {
        const int start = row * stagger % 8 * (wide + 1) / 8;
        return (tile * narrow + start) / (wide + 1);
    }

    PlaceOfWidth place(int tile) const {
        const int two_bands = tiles_of_band(0) + tiles_of_band(1);
        int band = tile / two_bands * 2, within = tile % two_bands;
        if (within >= tiles_of_band(0)) within -= tiles_of_band(0), ++band;
        const int first = band * BAND_ROWS, rows = tiles_m - first < BAND_ROWS ? tiles_m - first : BAND_ROWS;
        int row = within % rows, column = within / rows;
        if (column >= wide) {  // the last tiles of mixed rows
            row = -1;
            for (int skip = within - rows * wide; skip >= 0; --skip)
                do ++row;
                while (!(mixed[band % 2] >> row & 1));
            column = wide;
        }
        if (!(mixed[band % 2] >> row & 1)) return {first + row, column * BN, 0};
        const int before = narrow_before(column, row);
        return {first + row, column * BN - before * (BN - NARROW), narrow_before(column + 1, row) > before};
    }

    // The columns of the cluster that has most, if each takes the next tile in turn. A narrow tile fetches as much as a wide one, for which a few more are counted.
    int most_columns(int clusters) const {
        std::vector<int> columns(clusters);
        for (int tile = 0, all = tiles(); tile < all; ++tile) columns[tile % clusters] += place(tile).narrow ? NARROW + 4 : BN;
        return *std::max_element(columns.begin(), columns.end());
    }
};

// The mixture with which the busiest cluster has fewest columns. Mixed rows lie evenly in a band, in every second band some rows further down.
inline TwoWidths best_mixture(int tiles_m, int n, int clusters) {
    const int wide = harness::tiles(n, BN);
    TwoWidths best{tiles_m, wide, 0, {0, 0}, 0};
    if (wide * NARROW >= n) return best;  // one tile more would be empty
    const int narrow = std::min(wide + 1, ((wide + 1) * BN - n) / (BN - NARROW));
    int least = best.most_columns(clusters);
    for (int rows = 1; rows <= BAND_ROWS; ++rows)
        for (int down = 0; down < (rows < BAND_ROWS ? BAND_ROWS : 1); ++down)
            for (int stagger = 0; stagger < 8; ++stagger) {
                TwoWidths mixture{tiles_m, wide, narrow, {0, 0}, stagger};
                for (int row = 0; row < BAND_ROWS; ++row) {
                    const uint32_t mixed = (row + 1) * rows / BAND_ROWS - row * rows / BAND_ROWS;
                    mixture.mixed[0] |= mixed << row;
                    mixture.mixed[1] |= mixed << (row + down) % BAND_ROWS;
                }
                const int most = mixture.most_columns(clusters);
                if (most < least) least = most, best = mixture;
            }
    return best;
}
