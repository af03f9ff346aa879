/* Transpose within the caches: a vector of items of as many rows becomes a line of a run of the target.
   Runs that are whole lines apart are written as lines: the first vector of a run ends at one. The last
   vector of a run and the last column start early. Rows are read by lines, tile by tile downwards; by
   16 bytes, so that the target is written in its order, if it is ragged and a line of each of the next
   rows stays in the first cache. If rows evict each other, a tile goes through a staging buffer.
   Lines that are written in parts are loaded ahead. */
RELAYOUT_INLINE void relayout_near_SIZE_WIDTH(
    unsigned char *t, const unsigned char *s,
    size_t rows, size_t row, size_t columns, size_t column)
{
    enum { unit = WIDTH / SIZE, across = 16 / SIZE, line = 64 / SIZE, most = 384 };
    const int even = column % 64 == 0;
    const int shifts = even && rows * SIZE > 128 && (uintptr_t)t % SIZE == 0;
    const int opens = rows * SIZE > 128 && !shifts;
    const size_t first = shifts ? (64 - (uintptr_t)t % 64) % 64 / SIZE : 0;
    const int lines = even || RELAYOUT_PLACES(row) < RELAYOUT_LEAST(rows, most);
    const size_t wide = lines ? line : across, blocks = lines ? 1 : (rows + most - 1) / most;
    const size_t block = (rows / blocks + unit) / unit * unit;
    for (size_t b = 0; b < rows; b += block) /* rows of which a line each stays in the cache */
        for (size_t x0 = 0; x0 < columns; x0 += wide) /* a line, or 16 bytes, of each row */
            for (size_t y0 = b, y1; y0 < RELAYOUT_LEAST(b + block, rows); y0 = y1) { /* vectors */
                const size_t y = RELAYOUT_LEAST(y0, rows - unit);
                y1 = y0 + (y0 == 0 && first > 0 ? first : unit);
                for (size_t x = x0; x < RELAYOUT_LEAST(x0 + wide, columns) && opens; x++)
                    RELAYOUT_OPEN(t + x * column + (y1 + unit) * SIZE);
#if WIDTH == 64
                if (RELAYOUT_PLACES(row) * 4 < unit * 3) {
                    const size_t x = RELAYOUT_LEAST(x0, columns - line);
                    const unsigned char *from[unit];
                    for (size_t i = 0; i < unit; i++) from[i] = s + (y + i) * row;
                    _Alignas(64) unsigned char stage[4 * across * 64];
                    relayout_tile_SIZE(stage, from, x * SIZE);
                    for (size_t k = 0; k < line; k += across)
                        relayout_transpose_SIZE_64(
                            t + (x + k) * column + y * SIZE, stage + k * 64, 64, 0, across, column, 1, 0, 0);
                    continue;
                }
#endif
                for (size_t x1 = x0; x1 < RELAYOUT_LEAST(x0 + wide, columns); x1 += across) {
                    const size_t x = RELAYOUT_LEAST(x1, columns - across);
                    relayout_across_SIZE_WIDTH(
                        t + x * column + y * SIZE, s + y * row + x * SIZE, row, across, column, 1, 0, 0);
                }
            }
}
