/* Transpose a source to a target beyond the caches: columns from first to end become runs of as many
   items as there are rows. Of each row 64 lines, a page, are read at a time, tile by tile downwards,
   while the next rows are loaded one after the other. A row of a tile becomes a line of a run. If
   runs are whole lines apart, tiles begin at the first line of the target. Runs that are short and
   dense are collected in an image and written as one. If one side has rows with an exclusive or, its
   offsets are o ^ (o >> down & mask), in chunks; its rows are dense and at most 512 bytes, and the
   bits of the mask come from their numbers. */
RELAYOUT_INLINE void relayout_turn_SIZE(
    unsigned char *t, const unsigned char *s,
    size_t rows, size_t rn0, size_t rs0, size_t rn1, size_t rs1, size_t rs2,
    size_t columns, size_t cn0, size_t cs0, size_t cn1, size_t cs1, size_t cs2,
    size_t first, size_t end, size_t chunk, size_t down, size_t mask, int of_source)
{
    enum { unit = 64 / SIZE, across = 16 / SIZE, most = SIZE == 1 ? 1 << 18 : 1 << 17 };
    _Alignas(64) unsigned char stage[unit * 64], tile[unit * 128], part[unit * 64], kept[most];
    unsigned char plain[unit * 512];
    if (rows == 0 || columns == 0) return; /* and their levels may be 0 too */
    const int dense = rows >= unit && rows * SIZE <= 512 && cn0 == 0 && cs0 == rows * SIZE;
    const int even = !dense && (cs0 | cs1 | cs2) % 64 == 0 && (uintptr_t)t % SIZE == 0;
    const size_t shift = even ? (64 - (uintptr_t)t % 64) % 64 / SIZE : 0;
    const size_t width = dense ? RELAYOUT_LEAST(most / cs0 / unit, 16) * unit : 64 * unit;
    const size_t last = RELAYOUT_PLACE(rows - 1, rn0, rs0, rn1, rs1, rs2) + columns * SIZE;
    const size_t pieces = columns < unit ? (columns * SIZE + 15) / 16 : 4;
    const unsigned char *row[unit], *soon[unit];
    for (size_t x0 = first, x1; x0 < end; x0 = x1) {
        x1 = RELAYOUT_LEAST(x0 + width, end);
        const size_t left = columns < unit ? 0 : RELAYOUT_LEAST(x0, columns - unit);
        if (dense) relayout_load_edges(t + x0 * cs0, (x1 - x0) * cs0);
        for (size_t y0 = 0, y1; y0 < rows; y0 = y1) {
            y1 = RELAYOUT_LEAST(y0 + (y0 == 0 && shift > 0 ? shift : unit), rows);
            for (size_t x = x0; x < x1 && !dense && (y0 == 0 || y1 == rows); x++) {
                const unsigned char *run = t + RELAYOUT_PLACE(x, cn0, cs0, cn1, cs1, cs2);
                if (y0 == 0 && (uintptr_t)run % 64 > 0) RELAYOUT_OPEN(run);
                if (y1 == rows && (uintptr_t)(run + rows * SIZE) % 64 > 0)
                    RELAYOUT_OPEN(run + rows * SIZE);
            }
            const size_t y = dense ? RELAYOUT_LEAST(y0, rows - unit) : y0;
            const size_t below = y1 < rows ? y1 : 0, of = (y1 < rows ? x0 : x1) * SIZE;
            for (size_t i = 0; i < unit; i++) {
                const size_t k = RELAYOUT_LEAST(y + i, rows - 1);
                const size_t next = RELAYOUT_LEAST(below + i, rows - 1);
                row[i] = s + RELAYOUT_PLACE(k, rn0, rs0, rn1, rs1, rs2);
                soon[i] = s + RELAYOUT_PLACE(next, rn0, rs0, rn1, rs1, rs2) + of;
                if (chunk > 0 && of_source) {
                    const size_t turn = (size_t)(row[i] - s) >> down & mask;
                    for (size_t o = 0; o < columns * SIZE; o += chunk)
                        memcpy(plain + i * 512 + o, row[i] + (o ^ turn), chunk);
                    row[i] = plain + i * 512;
                }
                if (columns >= unit) continue;
                RELAYOUT_PREFETCH(row[i] + 128);
                if (row[i] + 64 <= s + last) continue;
                memcpy(part + i * 64, row[i], columns * SIZE);
                row[i] = part + i * 64;
            }
            size_t line = 0, lines = columns < unit ? 0 : (x1 - x0 + unit - 1) / unit;
            const unsigned char *const *ahead = soon;
            for (size_t c = x0; c < x1; c += unit) {
                const size_t x = columns < unit ? 0 : RELAYOUT_LEAST(c, columns - unit);
                /* A tile of lines of the target goes there at once, others by way of a buffer. */
                const int whole = RELAYOUT_VECTOR == 64 && even && cn0 == 0 && y1 - y0 == unit
                                  && x == c && c + unit <= x1;
                unsigned char *to = dense ? kept + (x - left) * cs0 + y * SIZE : tile + 64;
                const size_t step = dense || whole ? cs0 : 128;
                if (whole) to = t + x * cs0 + y * SIZE;
                for (size_t i = 0; i < unit && !dense && !even && y0 > 0; i++)
                    if (x + i >= c) memcpy(tile + i * 128, kept + (x + i - x0) * 64, 64);
                relayout_tile_SIZE(stage, row, x * SIZE);
                for (size_t k = 0; k < pieces * across; k += across) {
                    for (size_t i = 0; i < across && whole && line < lines; i++) {
                        RELAYOUT_PREFETCH(*ahead + line++ * 64);
                        if (line == lines) line = 0, ahead++;
                    }
                    relayout_transpose_SIZE_64(
                        to + k * step, stage + k * 64, 64, whole, across, step, 1, 0, 0);
                }
                for (size_t i = 0; i < unit && !whole; i++) {
                    if (line < lines) RELAYOUT_PREFETCH(*ahead + line++ * 64);
                    if (line == lines) line = 0, ahead += lines > 0;
                    if (dense || x + i < c || x + i >= x1) continue;
                    unsigned char *run = t + RELAYOUT_PLACE(x + i, cn0, cs0, cn1, cs1, cs2);
                    const unsigned char *full = tile + i * 128 + 64;
                    if (!even) memcpy(kept + (x + i - x0) * 64, full, 64);
                    relayout_join(run + y0 * SIZE, full, (y1 - y0) * SIZE, y0 == 0, y1 == rows);
                }
            }
        }
        for (size_t x = x0; x < x1 && chunk > 0 && !of_source; x++) {
            unsigned char *run = kept + (x - left) * cs0;
            const size_t turn = x * cs0 >> down & mask;
            memcpy(plain, run, rows * SIZE);
            for (size_t o = 0; o < rows * SIZE; o += chunk)
                memcpy(run + (o ^ turn), plain + o, chunk);
        }
        if (dense) relayout_stream_store(t + x0 * cs0, kept + (x0 - left) * cs0, (x1 - x0) * cs0);
    }
}
