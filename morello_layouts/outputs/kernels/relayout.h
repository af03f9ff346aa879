#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(RELAYOUT_INLINE) && defined(__GNUC__)
#define RELAYOUT_INLINE static inline __attribute__((always_inline, unused))
#elif !defined(RELAYOUT_INLINE)
#define RELAYOUT_INLINE static inline
#endif

/* Functions that are long and often called: to inline them doubles the compiler's time. */
#if defined(__GNUC__)
#define RELAYOUT_CALLED static __attribute__((noinline, unused))
#else
#define RELAYOUT_CALLED static
#endif

/* Bytes of the processor's vectors; 0 without the extensions of gcc 12 or clang. */
#if !defined(__has_builtin)
#define __has_builtin(name) 0
#endif
#if !defined(RELAYOUT_VECTOR)
#if !__has_builtin(__builtin_shufflevector)
#define RELAYOUT_VECTOR 0
#elif defined(__AVX512BW__)
#define RELAYOUT_VECTOR 64
#elif defined(__AVX2__)
#define RELAYOUT_VECTOR 32
#else
#define RELAYOUT_VECTOR 16
#endif
#endif

/* A non-temporal store, which bypasses the caches. These are builtins, since a compiler takes a
   quarter of a second to read immintrin.h. */
#if RELAYOUT_VECTOR > 0 && defined(__SSE2__)
typedef long long relayout_s64 __attribute__((vector_size(RELAYOUT_VECTOR)));
#if defined(__clang__)
#define RELAYOUT_STREAM(t, v) \
    __builtin_nontemporal_store((relayout_s64)(v), (relayout_s64 *)(void *)(t))
#elif RELAYOUT_VECTOR == 64
#define RELAYOUT_STREAM(t, v) __builtin_ia32_movntdq512((void *)(t), (relayout_s64)(v))
#elif RELAYOUT_VECTOR == 32
#define RELAYOUT_STREAM(t, v) __builtin_ia32_movntdq256((void *)(t), (relayout_s64)(v))
#else
#define RELAYOUT_STREAM(t, v) __builtin_ia32_movntdq((void *)(t), (relayout_s64)(v))
#endif
#else
#define RELAYOUT_STREAM(t, v) memcpy((t), &(v), RELAYOUT_VECTOR)
#endif

/* A store of a vector, past the caches or into them. */
#define RELAYOUT_WRITE(t, v, past) \
    do { if (past) RELAYOUT_STREAM(t, v); else memcpy((t), &(v), RELAYOUT_WIDTH); } while (0)

/* Non-temporal stores end before the function does. */
#if RELAYOUT_VECTOR > 0 && defined(__SSE2__)
#define RELAYOUT_FENCE() __builtin_ia32_sfence()
#else
#define RELAYOUT_FENCE() ((void)0)
#endif

/* Load a line of the source into the second cache, or one that is written. */
#if defined(__GNUC__)
#define RELAYOUT_PREFETCH(s) __builtin_prefetch((s), 0, 2)
#define RELAYOUT_OPEN(t) __builtin_prefetch((t), 1, 3)
#else
#define RELAYOUT_PREFETCH(s) ((void)0)
#define RELAYOUT_OPEN(t) ((void)0)
#endif

/* Keep a loop from being unrolled. */
#if defined(__GNUC__)
#define RELAYOUT_LOOP _Pragma("GCC unroll 1")
#else
#define RELAYOUT_LOOP
#endif

/* Unroll a loop completely. */
#if defined(__GNUC__)
#define RELAYOUT_WHOLE _Pragma("GCC unroll 8")
#else
#define RELAYOUT_WHOLE
#endif

/* Keep the order of loads and stores. */
#if defined(__GNUC__)
#define RELAYOUT_COMPILER_BARRIER() __asm__ volatile("" ::: "memory")
#else
#define RELAYOUT_COMPILER_BARRIER() ((void)0)
#endif

#define RELAYOUT_LEAST(a, b) ((a) < (size_t)(b) ? (a) : (size_t)(b))

/* How far to unroll a loop of few vectors whose number is known only at run time. */
#if defined(__clang__)
#define RELAYOUT_UNROLL _Pragma("clang loop unroll_count(4)")
#elif defined(__GNUC__)
#define RELAYOUT_UNROLL _Pragma("GCC unroll 4")
#else
#define RELAYOUT_UNROLL
#endif

/* How many rows of a stride fit the first cache: half of the 12 lines of each set. */
#define RELAYOUT_STEP(stride) ((stride) & (0 - (size_t)(stride)))
#define RELAYOUT_PLACES(stride) \
    (RELAYOUT_STEP(stride) <= 64 ? (size_t)384 \
     : RELAYOUT_STEP(stride) >= 4096 ? (size_t)6 : 6 * (4096 / RELAYOUT_STEP(stride)))

/* The first step of a part of n steps. */
#define RELAYOUT_SPLIT(n, part, parts) ((size_t)(n) * (part) / (parts))

/* The offset of item i of a chain of at most three axes; n0 is 0 for a chain of one. */
#define RELAYOUT_PLACE(i, n0, s0, n1, s1, s2) \
    ((n0) == 0 ? (i) * (s0) : RELAYOUT_AT(i, (n0) + ((n0) == 0), s0, n1, s1, s2))
#define RELAYOUT_AT(i, n0, s0, n1, s1, s2) \
    ((size_t)(i) % (n0) * (s0) + (size_t)(i) / (n0) % (n1) * (s1) \
     + (size_t)(i) / (n0) / (n1) * (s2))

#if RELAYOUT_VECTOR > 0
typedef uint64_t relayout_vector __attribute__((vector_size(RELAYOUT_VECTOR)));
#endif

/* 16 bytes of each of one, two or four rows, a step from row to row. */
#if RELAYOUT_VECTOR >= 16
typedef uint64_t relayout_u64_16 __attribute__((vector_size(16)));
RELAYOUT_INLINE relayout_u64_16 relayout_rows_16(const unsigned char *s, size_t step)
{
    relayout_u64_16 a;
    (void)step;
    memcpy(&a, s, 16);
    return a;
}
#endif
#if RELAYOUT_VECTOR >= 32
typedef uint64_t relayout_u64_32 __attribute__((vector_size(32)));
RELAYOUT_INLINE relayout_u64_32 relayout_rows_32(const unsigned char *s, size_t step)
{
    const relayout_u64_16 a = relayout_rows_16(s, 0), b = relayout_rows_16(s + step, 0);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3);
}
#endif
#if RELAYOUT_VECTOR >= 64
typedef uint64_t relayout_u64_64 __attribute__((vector_size(64)));
RELAYOUT_INLINE relayout_u64_64 relayout_rows_64(const unsigned char *s, size_t step)
{
#if defined(__AVX512DQ__) && __has_builtin(__builtin_ia32_inserti64x2_512_mask)
    typedef long long quads __attribute__((vector_size(64))); /* loads into lanes, not shuffles */
    typedef long long pair __attribute__((vector_size(16)));
    quads a = {0};
#define RELAYOUT_LANE(k) \
    a = __builtin_ia32_inserti64x2_512_mask( \
        a, (pair)relayout_rows_16(s + k * step, 0), k, a, (unsigned char)-1)
    RELAYOUT_LANE(0);
    RELAYOUT_LANE(1);
    RELAYOUT_LANE(2);
    RELAYOUT_LANE(3);
#undef RELAYOUT_LANE
    return (relayout_u64_64)a;
#else
    const relayout_u64_32 a = relayout_rows_32(s, step), b = relayout_rows_32(s + 2 * step, step);
    return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
#endif
}
#endif

/* Whether vectors of 16 bytes have a shuffle by a table. */
#if defined(__SSSE3__) || !defined(__SSE2__)
#define RELAYOUT_SHUFFLES 1
#else
#define RELAYOUT_SHUFFLES 0
#endif

/* Store a value of a type at any address. */
#define RELAYOUT_PUT(type, t, v) \
    do { const type put = (v); memcpy((t), &put, sizeof put); } while (0)

#if RELAYOUT_VECTOR >= 16
typedef uint8_t relayout_bytes_16 __attribute__((vector_size(16)));
RELAYOUT_INLINE relayout_bytes_16 relayout_load_16(const unsigned char *s)
{
    relayout_bytes_16 a;
    memcpy(&a, s, 16);
    return a;
}
#endif

#if RELAYOUT_VECTOR >= 32
typedef uint8_t relayout_bytes_32 __attribute__((vector_size(32)));
RELAYOUT_INLINE relayout_bytes_32 relayout_load_32(const unsigned char *s)
{
    relayout_bytes_32 a;
    memcpy(&a, s, 32);
    return a;
}
#endif

#if RELAYOUT_VECTOR >= 64
typedef uint8_t relayout_bytes_64 __attribute__((vector_size(64)));
RELAYOUT_INLINE relayout_bytes_64 relayout_load_64(const unsigned char *s)
{
    relayout_bytes_64 a;
    memcpy(&a, s, 64);
    return a;
}
#endif

#if RELAYOUT_VECTOR >= 32
RELAYOUT_INLINE relayout_bytes_32 relayout_join_32(relayout_bytes_16 a, relayout_bytes_16 b)
{
    return (relayout_bytes_32)__builtin_shufflevector(
        (relayout_u64_16)a, (relayout_u64_16)b, 0, 1, 2, 3);
}
#endif

#if RELAYOUT_VECTOR >= 64
RELAYOUT_INLINE relayout_bytes_64 relayout_join_64(relayout_bytes_32 a, relayout_bytes_32 b)
{
    return (relayout_bytes_64)__builtin_shufflevector(
        (relayout_u64_32)a, (relayout_u64_32)b, 0, 1, 2, 3, 4, 5, 6, 7);
}
#endif

#if RELAYOUT_VECTOR >= 16
RELAYOUT_INLINE relayout_bytes_16 relayout_words_8(
    const unsigned char *a, const unsigned char *b)
{
    typedef uint64_t words __attribute__((vector_size(16)));
    uint64_t x[2];
    memcpy(x + 0, a, 8), memcpy(x + 1, b, 8);
    const words v = {x[0], x[1]};
    return (relayout_bytes_16)v;
}
#endif

#if RELAYOUT_VECTOR >= 16
RELAYOUT_INLINE relayout_bytes_16 relayout_words_4(
    const unsigned char *a, const unsigned char *b, const unsigned char *c, const unsigned char
    *d)
{
    typedef uint32_t words __attribute__((vector_size(16)));
    uint32_t x[4];
    memcpy(x + 0, a, 4), memcpy(x + 1, b, 4), memcpy(x + 2, c, 4), memcpy(x + 3, d, 4);
    const words v = {x[0], x[1], x[2], x[3]};
    return (relayout_bytes_16)v;
}
#endif

#if RELAYOUT_VECTOR >= 16
RELAYOUT_INLINE relayout_bytes_16 relayout_words_2(
    const unsigned char *a, const unsigned char *b, const unsigned char *c, const unsigned char
    *d, const unsigned char *e, const unsigned char *f, const unsigned char *g, const unsigned
    char *h)
{
    typedef uint16_t words __attribute__((vector_size(16)));
    uint16_t x[8];
    memcpy(x + 0, a, 2), memcpy(x + 1, b, 2), memcpy(x + 2, c, 2), memcpy(x + 3, d, 2), memcpy(x
    + 4, e, 2), memcpy(x + 5, f, 2), memcpy(x + 6, g, 2), memcpy(x + 7, h, 2);
    const words v = {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
    return (relayout_bytes_16)v;
}
#endif

#if RELAYOUT_VECTOR >= 16
RELAYOUT_INLINE relayout_bytes_16 relayout_words_1(
    const unsigned char *a, const unsigned char *b, const unsigned char *c, const unsigned char
    *d, const unsigned char *e, const unsigned char *f, const unsigned char *g, const unsigned
    char *h, const unsigned char *i, const unsigned char *j, const unsigned char *k, const
    unsigned char *l, const unsigned char *m, const unsigned char *n, const unsigned char *o,
    const unsigned char *p)
{
    typedef uint8_t words __attribute__((vector_size(16)));
    uint8_t x[16];
    memcpy(x + 0, a, 1), memcpy(x + 1, b, 1), memcpy(x + 2, c, 1), memcpy(x + 3, d, 1), memcpy(x
    + 4, e, 1), memcpy(x + 5, f, 1), memcpy(x + 6, g, 1), memcpy(x + 7, h, 1), memcpy(x + 8, i,
    1), memcpy(x + 9, j, 1), memcpy(x + 10, k, 1), memcpy(x + 11, l, 1), memcpy(x + 12, m, 1),
    memcpy(x + 13, n, 1), memcpy(x + 14, o, 1), memcpy(x + 15, p, 1);
    const words v = {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11], x[12], x[13],
        x[14], x[15]};
    return (relayout_bytes_16)v;
}
#endif

/* Copy with one load instruction: the processor prefetches for a load that walks through memory. */
RELAYOUT_INLINE void relayout_strip(unsigned char *t, const unsigned char *s, size_t n)
{
#if RELAYOUT_VECTOR > 0
    if (n % RELAYOUT_VECTOR == 0) {
        RELAYOUT_LOOP
        for (size_t i = 0; i < n; i += RELAYOUT_VECTOR) {
            relayout_vector v;
            memcpy(&v, s + i, RELAYOUT_VECTOR);
            memcpy(t + i, &v, RELAYOUT_VECTOR);
            RELAYOUT_COMPILER_BARRIER();
        }
        return;
    }
#endif
    memcpy(t, s, n);
}

/* Copy a long run by lines of the target: libc's memcpy takes twice as long for one within lines. */
RELAYOUT_CALLED void relayout_copy_lines(unsigned char *t, const unsigned char *s, size_t n)
{
#if RELAYOUT_VECTOR > 0
    if ((uintptr_t)t % 64 > 0) {
        const size_t head = 64 - (uintptr_t)t % 64;
        memcpy(t, s, 64);
        RELAYOUT_LOOP
        for (size_t i = head; i + RELAYOUT_VECTOR <= n; i += RELAYOUT_VECTOR) {
            relayout_vector v;
            memcpy(&v, s + i, RELAYOUT_VECTOR);
            memcpy(t + i, &v, RELAYOUT_VECTOR);
            RELAYOUT_COMPILER_BARRIER();
        }
        memcpy(t + n - 64, s + n - 64, 64);
        return;
    }
#endif
    memcpy(t, s, n);
}

RELAYOUT_INLINE void relayout_copy(unsigned char *t, const unsigned char *s, size_t n)
{
    if (n <= 2048) relayout_strip(t, s, n);
    else relayout_copy_lines(t, s, n);
}

/* Copy n runs of 3 to 7 bytes, which lie a word apart or more, one after the other: as words, of which
   the next run writes the end again. */
RELAYOUT_INLINE void relayout_pack(
    unsigned char *t, const unsigned char *s, size_t n, size_t step, size_t run)
{
    for (size_t i = 1; i < n; i++, t += run, s += step) memcpy(t, s, run < 4 ? 4 : 8);
    if (n > 0) memcpy(t, s, run);
}

/* Copy at most a cache line, as two copies that may overlap. */
RELAYOUT_INLINE void relayout_part(unsigned char *t, const unsigned char *s, size_t n)
{
    if (n >= 32) memcpy(t, s, 32), memcpy(t + n - 32, s + n - 32, 32);
    else if (n >= 16) memcpy(t, s, 16), memcpy(t + n - 16, s + n - 16, 16);
    else if (n >= 8) memcpy(t, s, 8), memcpy(t + n - 8, s + n - 8, 8);
    else if (n >= 4) memcpy(t, s, 4), memcpy(t + n - 4, s + n - 4, 4);
    else if (n > 0) t[0] = s[0], t[n / 2] = s[n / 2], t[n - 1] = s[n - 1];
}

/* Load the lines of which a run covers a part, before they are written. */
RELAYOUT_INLINE void relayout_load_edges(const unsigned char *t, size_t n)
{
    if ((uintptr_t)t % 64 > 0) RELAYOUT_OPEN(t);
    if ((uintptr_t)(t + n) % 64 > 0) RELAYOUT_OPEN(t + n);
}

/* Copy a line to a line of the target, past the caches. */
RELAYOUT_INLINE void relayout_line(unsigned char *t, const unsigned char *s)
{
#if RELAYOUT_VECTOR > 0
    for (size_t i = 0; i < 64; i += RELAYOUT_VECTOR) {
        relayout_vector v;
        memcpy(&v, s + i, RELAYOUT_VECTOR);
        RELAYOUT_STREAM(t + i, v);
    }
#else
    memcpy(t, s, 64);
#endif
}

/* Copy a run to a target beyond the caches: whole cache lines by non-temporal stores, and the parts
   of lines at either end by others. */
RELAYOUT_CALLED void relayout_stream_store(unsigned char *t, const unsigned char *s, size_t n)
{
    const size_t head = RELAYOUT_LEAST(n, (64 - (uintptr_t)t % 64) % 64), end = n - (n - head) % 64;
    relayout_part(t, s, head);
    for (size_t i = head; i < end; i += 64) relayout_line(t + i, s + i);
    relayout_part(t + end, s + end, n - end);
}

/* Write the bytes of a part of a line that relayout_join_run left, of the run of an image at s. */
RELAYOUT_INLINE void relayout_close_run(const unsigned char *s, unsigned char *end)
{
    const size_t n = (uintptr_t)end % 64;
    if (n > 0) relayout_part(end - n, s - n, n);
}

/* Copy a run of an image to a target beyond the caches. What does not fill a line of the target is
   left to the next run, if that begins at the end of this one: it is kept before s. */
RELAYOUT_CALLED void relayout_join_run(
    unsigned char *t, unsigned char *s, size_t n, unsigned char **end)
{
    const size_t past = (uintptr_t)t % 64;
    const size_t first = past > 0 && *end != t ? 64 : 0;
    if (*end != t) relayout_close_run(s, *end);
    if (first > 0) relayout_part(t, s, RELAYOUT_LEAST(n, 64 - past));
    for (size_t i = first; i + 64 <= past + n; i += 64)
        relayout_line(t - past + i, s - past + i);
    *end = past + n < first ? 0 : t + n;
    if ((past + n) % 64 > 0) memmove(s - 64, s + n - 64, 64);
}

/* Continue a run of a target beyond the caches by n bytes of a line, which lies after the line before
   it. What does not fill a line of the target is left to the next call, unless this is the last. */
RELAYOUT_INLINE void relayout_join(
    unsigned char *t, const unsigned char *s, size_t n, int first, int last)
{
    const size_t past = (uintptr_t)t % 64, from = first ? past : 0, end = past + n;
    t -= past, s -= past;
    if (from == 0 && end >= 64) relayout_line(t, s);
    else relayout_part(t + from, s + from, RELAYOUT_LEAST(end, 64) - from);
    if (last && end > 64) relayout_part(t + 64, s + 64, end - 64);
}

/* Fill with items of n bytes, one after the other; vectors begin at lines where items do. */
RELAYOUT_CALLED void relayout_fill_all(
    unsigned char *t, size_t size, const unsigned char *item, size_t n)
{
#if RELAYOUT_VECTOR > 0
    if (size >= RELAYOUT_VECTOR && 8 % n == 0) {
        uint64_t word;
        for (size_t k = 0; k < 8; k += n) memcpy((unsigned char *)&word + k, item, n);
        const relayout_vector v = (relayout_vector){0} + word;
        size_t i = RELAYOUT_VECTOR - ((uintptr_t)t % n == 0 ? (uintptr_t)t % RELAYOUT_VECTOR : 0);
        memcpy(t, &v, RELAYOUT_VECTOR);
        for (; i + RELAYOUT_VECTOR <= size; i += RELAYOUT_VECTOR)
            memcpy(t + i, &v, RELAYOUT_VECTOR);
        memcpy(t + size - RELAYOUT_VECTOR, &v, RELAYOUT_VECTOR);
        return;
    }
#endif
    for (size_t i = 0; i < size; i += n) memcpy(t + i, item, n);
}

/* The same; of a few bytes without a call. */
RELAYOUT_INLINE void relayout_fill(
    unsigned char *t, size_t size, const unsigned char *item, size_t n)
{
    if (size == n) memcpy(t, item, n);
    else if (n == 1 && size <= 16) memset(t, item[0], size);
    else relayout_fill_all(t, size, item, n);
}

/* Copy a row whose length is known only at run time. */
RELAYOUT_INLINE void relayout_copy_row(unsigned char *t, const unsigned char *s, size_t n)
{
#if RELAYOUT_VECTOR > 0
    if (n >= RELAYOUT_VECTOR && n <= 1024) {
        relayout_vector v;
        for (size_t i = 0; i < n - RELAYOUT_VECTOR; i += RELAYOUT_VECTOR) {
            memcpy(&v, s + i, RELAYOUT_VECTOR);
            memcpy(t + i, &v, RELAYOUT_VECTOR);
        }
        memcpy(&v, s + n - RELAYOUT_VECTOR, RELAYOUT_VECTOR);
        memcpy(t + n - RELAYOUT_VECTOR, &v, RELAYOUT_VECTOR);
        return;
    }
#endif
    relayout_copy(t, s, n);
}

/* Copy 64 bytes of four rows to units of the staging buffer: 16 bytes of each row, a step from unit
   to unit. */
RELAYOUT_INLINE void relayout_lanes(
    unsigned char *t, size_t step, const unsigned char *s0, const unsigned char *s1,
    const unsigned char *s2, const unsigned char *s3)
{
#if RELAYOUT_VECTOR >= 64
    relayout_vector a0, a1, a2, a3;
    memcpy(&a0, s0, 64), memcpy(&a1, s1, 64), memcpy(&a2, s2, 64), memcpy(&a3, s3, 64);
    const relayout_vector
        b0 = __builtin_shufflevector(a0, a1, 0, 1, 2, 3, 8, 9, 10, 11),
        b1 = __builtin_shufflevector(a0, a1, 4, 5, 6, 7, 12, 13, 14, 15),
        b2 = __builtin_shufflevector(a2, a3, 0, 1, 2, 3, 8, 9, 10, 11),
        b3 = __builtin_shufflevector(a2, a3, 4, 5, 6, 7, 12, 13, 14, 15),
        c0 = __builtin_shufflevector(b0, b2, 0, 1, 4, 5, 8, 9, 12, 13),
        c1 = __builtin_shufflevector(b0, b2, 2, 3, 6, 7, 10, 11, 14, 15),
        c2 = __builtin_shufflevector(b1, b3, 0, 1, 4, 5, 8, 9, 12, 13),
        c3 = __builtin_shufflevector(b1, b3, 2, 3, 6, 7, 10, 11, 14, 15);
    memcpy(t, &c0, 64), memcpy(t + step, &c1, 64);
    memcpy(t + 2 * step, &c2, 64), memcpy(t + 3 * step, &c3, 64);
#else
    for (size_t k = 0; k < 4; k++) {
        memcpy(t + k * step, s0 + k * 16, 16);
        memcpy(t + k * step + 16, s1 + k * 16, 16);
        memcpy(t + k * step + 32, s2 + k * 16, 16);
        memcpy(t + k * step + 48, s3 + k * 16, 16);
    }
#endif
}
