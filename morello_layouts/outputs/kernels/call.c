/* A kernel as a function of two NumPy arrays, for calls shorter than Python's own checks.

   It needs no headers of Python and is linked to nothing: the functions of Python's stable ABI come
   by their addresses. Whatever is unusual is left to the caller, which knows what to say. */
#include <stddef.h>
#include <stdint.h>

typedef struct object object;

/* Py_buffer of the stable ABI, from Python 3.11 on. */
typedef struct {
    char *data;
    object *owner;
    ptrdiff_t size, itemsize;
    int is_readonly, axes;
    char *format;
    ptrdiff_t *shape, *strides, *suboffsets;
    void *internal;
} view;

enum { EQUAL = 2, IS_WRITABLE = 0x1, IS_CONTIGUOUS_WITH_SHAPE = 0x8, LEAST_UNLOCKED = 1 << 15 };

static struct {
    char *(*bytes)(object *);
    object *(*type)(object *);
    object *(*attribute)(object *, object *);
    int (*compare)(object *, object *, int);
    void (*keep)(object *);
    void (*forget)(object *);
    int (*open)(object *, view *, int);
    void (*close)(view *);
    void (*clear_error)(void);
    void *(*unlock)(void);
    void (*lock)(void *);
    object *yes, *no, *array, *dtype_name;
} python;

/* What a call of one kernel needs; sizes and fill follow it. */
typedef struct {
    union {
        void (*plain)(void *, const void *);
        void (*sized)(const void *, void *, const void *);
        void (*shared)(const void *, void *, const void *, size_t, size_t, size_t);
    } kernel;
    object *dtype;
    ptrdiff_t source, target; /* items */
    size_t is_sized, phases;  /* phases is 0 if the kernel is not shared among threads */
} call;

/* Whether an object is an array of the type, and not of a subclass, which may mean more by it. */
static int holds(object *given, object *dtype)
{
    object *kind = python.type(given), *items;
    int same;
    python.forget(kind);
    if (kind != python.array) return 0;
    items = python.attribute(given, python.dtype_name);
    same = items == dtype || (items && python.compare(items, dtype, EQUAL) == 1);
    if (!same) python.clear_error();
    if (items) python.forget(items);
    return same;
}

static int opens(object *given, view *as, int flags, ptrdiff_t items)
{
    if (python.open(given, as, IS_CONTIGUOUS_WITH_SHAPE | flags)) {
        python.clear_error();
        return 0;
    }
    if (as->axes == 1 && as->shape[0] == items) return 1;
    python.close(as);
    return 0;
}

static void run(const call *on, void *target, const void *source)
{
    if (on->phases)
        for (size_t phase = 0; phase < on->phases; phase++)
            on->kernel.shared(on + 1, target, source, 0, 1, phase);
    else if (on->is_sized)
        on->kernel.sized(on + 1, target, source);
    else
        on->kernel.plain(target, source);
}

/* Move the first array to the second, and return whether that was done. */
static int moves(const call *on, object *from, object *to)
{
    view source, target;
    int done = 0;
    if (!holds(from, on->dtype) || !holds(to, on->dtype)) return 0;
    if (!opens(from, &source, 0, on->source)) return 0;
    if (opens(to, &target, IS_WRITABLE, on->target)) {
        if (source.data + source.size <= target.data || target.data + target.size <= source.data) {
            void *state = target.size >= LEAST_UNLOCKED ? python.unlock() : NULL;
            run(on, target.data, source.data);
            if (state) python.lock(state);
            done = 1;
        }
        python.close(&target);
    }
    python.close(&source);
    return done;
}

static object *move(object *self, object *const *given, ptrdiff_t count)
{
    const call *on = (const call *)(const void *)python.bytes(self);
    object *done = count == 2 && moves(on, given[0], given[1]) ? python.yes : python.no;
    python.keep(done);
    return done;
}

/* Take the addresses of Python's functions and objects, and return that of the function. */
void *relayout_call(const void *functions);
void *relayout_call(const void *functions)
{
    union { object *(*function)(object *, object *const *, ptrdiff_t); void *address; } found;
    __builtin_memcpy(&python, functions, sizeof python);
    found.function = move;
    return found.address;
}
