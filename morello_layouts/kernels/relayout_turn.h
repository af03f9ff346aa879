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

/* Transpose a source to a target beyond the caches: columns from first to end become runs of as many
   items as there are rows. Blocks are transposed to an image in the second cache, and from there
   each run is written line by line. Blocks begin at lines of the target, whatever its address: if
   its runs are whole lines apart, by their first row, else each run by itself, and a block then
   reads the rows of a line before its own. Runs that are short and dense are written as one. */
RELAYOUT_INLINE void relayout_turn_SIZE(
    unsigned char *t, const unsigned char *s,
    size_t rows, size_t rn0, size_t rs0, size_t rn1, size_t rs1, size_t rs2,
    size_t columns, size_t cn0, size_t cs0, size_t cn1, size_t cs1, size_t cs2,
    size_t first, size_t end)
{
    enum { unit = 64 / SIZE, widest = SIZE == 1 ? 128 : 512 / SIZE };
    enum { most = 8 * 64 + 3 * 64 }; /* bytes of a run in the image */
    _Alignas(64) unsigned char image[(widest + unit) * most], part[unit * 64];
    if (rows == 0 || columns == 0) return; /* and their levels may be 0 too */
    const int dense = rows >= unit && rows * SIZE <= 1024 && cn0 == 0 && cs0 == rows * SIZE;
    const int even = !dense && (cs0 | cs1 | cs2) % 64 == 0 && (uintptr_t)t % SIZE == 0;
    const size_t height = dense ? rows : (even && columns >= unit ? 2 : 8) * unit, before = dense || even ? 0 : unit;
    const size_t shift = even ? (64 - (uintptr_t)t % 64) % 64 / SIZE : 0;
    const size_t step = dense ? rows * SIZE : height * SIZE + 3 * 64;
    const size_t width = RELAYOUT_LEAST(widest * most / step / unit * unit, widest);
    const size_t last = RELAYOUT_PLACE(rows - 1, rn0, rs0, rn1, rs1, rs2) + columns * SIZE;
    for (size_t y0 = 0, y1; y0 < rows; y0 = y1) {
        y1 = y0 + height + (y0 == 0 ? shift : 0);
        if (y1 + unit > rows) y1 = rows;
        const size_t top = y0 < before ? 0 : y0 - before;
        for (size_t x0 = first, x1; x0 < end; x0 = x1) {
            x1 = RELAYOUT_LEAST(x0 + width, end);
            const size_t pieces = columns < unit ? (columns * SIZE + 15) / 16 : 4;
            const size_t left = columns < unit ? 0 : RELAYOUT_LEAST(x0, columns - unit);
            if (dense) relayout_open(t + x0 * step, (x1 - x0) * step);
            for (size_t x = x0; x < x1 && !dense && (y0 == 0 || y1 == rows); x++) {
                const unsigned char *run = t + RELAYOUT_PLACE(x, cn0, cs0, cn1, cs1, cs2);
                if (y0 == 0 && (uintptr_t)run % 64 > 0) RELAYOUT_OPEN(run);
                if (y1 == rows && (uintptr_t)(run + rows * SIZE) % 64 > 0)
                    RELAYOUT_OPEN(run + rows * SIZE);
            }
            for (size_t j = top; j < y1; j += unit) {
                const size_t y = rows < unit ? 0 : RELAYOUT_LEAST(j, rows - unit);
                const unsigned char *row[unit];
                for (size_t i = 0; i < unit; i++) {
                    const size_t k = RELAYOUT_LEAST(y + i, rows - 1);
                    row[i] = s + RELAYOUT_PLACE(k, rn0, rs0, rn1, rs1, rs2);
                    if (columns >= unit) continue;
                    RELAYOUT_SOON(row[i] + 128);
                    if (row[i] + 64 <= s + last) continue;
                    memcpy(part + i * 64, row[i], columns * SIZE);
                    row[i] = part + i * 64;
                }
                for (size_t c = x0; c < x1; c += unit) {
                    const size_t x = columns < unit ? 0 : RELAYOUT_LEAST(c, columns - unit);
                    for (size_t i = 0; i < unit; i++) RELAYOUT_SOON(row[i] + x * SIZE + 128);
                    unsigned char *tile = image + (x - left) * step + (y - top) * SIZE;
                    relayout_tile_SIZE(tile, step, row, x * SIZE, pieces);
                }
            }
            if (dense) {
                relayout_put(t + x0 * step, image + (x0 - left) * step, (x1 - x0) * step);
                continue;
            }
            for (size_t x = x0; x < x1; x++) {
                unsigned char *run = t + RELAYOUT_PLACE(x, cn0, cs0, cn1, cs1, cs2);
                unsigned char *from = run + y0 * SIZE, *to = run + y1 * SIZE;
                if (y0 > 0) from -= (uintptr_t)from % 64;
                if (y1 < rows) to -= (uintptr_t)to % 64;
                const size_t at = (size_t)(from - (run + top * SIZE));
                relayout_put(from, image + (x - left) * step + at, (size_t)(to - from));
            }
        }
    }
}
