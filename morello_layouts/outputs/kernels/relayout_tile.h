/* Copy 64 bytes of as many rows as they hold items to units: each the same 16 bytes of four rows. */
RELAYOUT_INLINE void relayout_tile_SIZE(unsigned char *t, const unsigned char *const *rows, size_t at)
{
    enum { across = 16 / SIZE };
    RELAYOUT_WHOLE
    for (size_t i = 0; i < across; i++)
        relayout_lanes(
            t + i * 64, across * 64, rows[i] + at, rows[i + across] + at,
            rows[i + 2 * across] + at, rows[i + 3 * across] + at);
}
