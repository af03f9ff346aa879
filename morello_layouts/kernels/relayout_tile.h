/* Transpose a tile: 64 bytes of as many rows as they hold items become as many rows, a step apart. */
RELAYOUT_INLINE void relayout_tile_SIZE(
    unsigned char *t, size_t step, const unsigned char *const *rows, size_t at, size_t pieces)
{
    enum { across = 16 / SIZE };
    _Alignas(64) unsigned char stage[4 * across * 64];
    RELAYOUT_WHOLE
    for (size_t i = 0; i < across; i++)
        relayout_lanes(
            stage + i * 64, across * 64, rows[i] + at, rows[i + across] + at,
            rows[i + 2 * across] + at, rows[i + 3 * across] + at);
    for (size_t k = 0; k < pieces; k++)
        relayout_transpose_SIZE_64(
            t + k * across * step, stage + k * across * 64, 64, across, step, 1, 0, 0);
}
