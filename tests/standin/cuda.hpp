// CUDA C++ for a host compiler: every thread of a block is a fiber, blocks run one after the other.
//
// A fiber runs until it reaches a barrier or a shuffle; those that a mask names are released together. Found
// and reported: barriers that some lanes never reach, lanes at different operations of one mask, writes
// behind the dynamic shared memory.  That memory starts as NaN.  The order of the fibers changes from
// barrier to barrier: what lacks one gives wrong results.
#include <csetjmp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ucontext.h>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static

using std::fabs;
using std::fma;
using std::hypot;
using std::isfinite;
using std::sqrt;
inline float rsqrt(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }

template <class T, class F> inline T reinterpreted(F x) {
    static_assert(sizeof(T) == sizeof(F), "as many bits");
    T y;
    std::memcpy(&y, &x, sizeof x);
    return y;
}
inline unsigned __float_as_uint(float x) { return reinterpreted<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return reinterpreted<float>(x); }
inline long long __double_as_longlong(double x) { return reinterpreted<long long>(x); }
inline double __longlong_as_double(long long x) { return reinterpreted<double>(x); }

namespace standin {

struct Index { unsigned x, y, z; };
enum Operation { NONE, WARP, SHUFFLE, BALLOT, BLOCK, ENDED };
constexpr int MAX_THREADS = 1024, STACK = 256 * 1024, SHARED = 232448, GUARD = 4096;

struct Fiber {
    ucontext_t start;
    jmp_buf state;
    char *stack;
    Index index;
    bool started;
    Operation operation;
    unsigned mask, from;
    std::uint64_t value, result;
};

static Fiber fibers[MAX_THREADS];
static Fiber *current;
static jmp_buf scheduler;
static void (*body)(void **);
static void **arguments;
static char *message;
alignas(128) static unsigned char memory[GUARD + SHARED + GUARD];
static unsigned char *const shared = memory + GUARD;

}  // namespace standin

static standin::Index threadIdx, blockIdx, blockDim, gridDim;

namespace standin {

inline int fail(const char *what, int thread) {
    std::snprintf(message, 256, "%s (block %u, thread %d)", what, blockIdx.x, thread);
    return 1;
}

inline void park(Operation operation, unsigned mask) {
    current->operation = operation;
    current->mask = mask;
    if (!_setjmp(current->state)) _longjmp(scheduler, 1);
    threadIdx = current->index;
}

inline void begin() {
    body(arguments);
    park(ENDED, 0);
}

inline void resume(Fiber &fiber) {
    current = &fiber;
    threadIdx = fiber.index;
    fiber.operation = NONE;
    if (_setjmp(scheduler)) return;
    if (fiber.started) _longjmp(fiber.state, 1);
    fiber.started = true;
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp = fiber.stack;
    fiber.start.uc_stack.ss_size = STACK;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, begin, 0);
    setcontext(&fiber.start);
}

// Lets the lanes go on that fiber `t` waits for, if all have arrived; nonzero for what can never go on.
inline int release_warp(int t, int threads) {
    Fiber *warp = fibers + t / 32 * 32;
    Fiber &first = fibers[t];
    std::uint64_t values[32];
    unsigned votes = 0;
    if (!(first.mask >> (t & 31) & 1)) return fail("a lane is not in the mask it gives", t);
    for (int lane = 0; lane < 32; ++lane) {
        if (!(first.mask >> lane & 1)) continue;
        if (t / 32 * 32 + lane >= threads) return fail("a mask names lanes that do not exist", t);
        Fiber &other = warp[lane];
        if (other.operation == ENDED) return fail("a mask names a lane that has left the kernel", t);
        if (other.operation == NONE || other.operation == BLOCK) return 0;
        if (other.operation != first.operation || other.mask != first.mask)
            return fail("lanes of one mask are at different operations", t);
        values[lane] = other.value;
        votes |= unsigned(other.value != 0) << lane;
    }
    for (int lane = 0; lane < 32; ++lane) {
        if (!(first.mask >> lane & 1)) continue;
        Fiber &other = warp[lane];
        if (first.operation == SHUFFLE) {
            if (!(first.mask >> other.from & 1)) return fail("a shuffle reads from outside of its mask", t);
            other.result = values[other.from];
        } else {
            other.result = votes;
        }
    }
    for (int lane = 0; lane < 32; ++lane)
        if (first.mask >> lane & 1) warp[lane].operation = NONE;
    return 0;
}

// Permutes the fibers' order (Fisher and Yates); always the same permutations, one after the other.
inline void shuffle_order(int *order, int threads, unsigned &state) {
    for (int t = threads - 1; t > 0; --t) {
        state = state * 1664525u + 1013904223u;
        int other = (state >> 8) % (t + 1), swapped = order[t];
        order[t] = order[other];
        order[other] = swapped;
    }
}

inline int run_block(int threads, std::size_t bytes, unsigned seed) {
    int order[MAX_THREADS];
    std::memset(memory, 0xA5, sizeof memory);
    std::memset(shared, 0xFF, bytes);
    for (int t = 0; t < threads; ++t) {
        Fiber &fiber = fibers[t];
        order[t] = t;
        if (!fiber.stack) fiber.stack = static_cast<char *>(std::malloc(STACK));
        fiber.started = false;
        fiber.operation = NONE;
        unsigned x = t % blockDim.x, y = t / blockDim.x % blockDim.y;
        fiber.index = {x, y, t / blockDim.x / blockDim.y};
    }
    for (;;) {
        int alive = 0, ran = 0, waiting = 0;
        shuffle_order(order, threads, seed);
        for (int step = 0; step < threads; ++step) {
            if (fibers[order[step]].operation == NONE) {
                resume(fibers[order[step]]);
                ++ran;
            }
        }
        bool any = false;
        for (int t = 0; t < threads; ++t) {
            alive += fibers[t].operation != ENDED;
            waiting += fibers[t].operation == BLOCK;
            any = any || (fibers[t].operation == BLOCK && fibers[t].value != 0);
        }
        if (!alive) break;
        if (waiting == alive) {
            for (int t = 0; t < threads; ++t) {
                if (fibers[t].operation != BLOCK) continue;
                fibers[t].operation = NONE;
                fibers[t].result = any;
            }
            continue;
        }
        int released = 0;
        for (int t = 0; t < threads; ++t) {
            Operation operation = fibers[t].operation;
            if (operation != WARP && operation != SHUFFLE && operation != BALLOT) continue;
            if (release_warp(t, threads)) return 1;
            released += fibers[t].operation == NONE;
        }
        if (!released && !ran) return fail("threads wait for each other for ever", 0);
    }
    for (std::size_t i = 0; i < GUARD; ++i)
        if (memory[i] != 0xA5 || shared[bytes + i] != 0xA5)
            return fail("a write outside of shared memory", 0);
    return 0;
}

inline int launch(const unsigned *grid, const unsigned *block, std::size_t bytes, void (*kernel)(void **),
                  void **given, char *text) {
    body = kernel;
    arguments = given;
    message = text;
    gridDim = {grid[0], grid[1], grid[2]};
    blockDim = {block[0], block[1], block[2]};
    for (unsigned z = 0; z < grid[2]; ++z)
        for (unsigned y = 0; y < grid[1]; ++y)
            for (unsigned x = 0; x < grid[0]; ++x) {
                blockIdx = {x, y, z};
                if (run_block(block[0] * block[1] * block[2], bytes, x + y + z)) return 1;
            }
    return 0;
}

template <class T> inline T shuffle(unsigned mask, T x, unsigned from) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "what a shuffle takes");
    current->value = 0;
    std::memcpy(&current->value, &x, sizeof(T));
    current->from = from;
    park(SHUFFLE, mask);
    std::memcpy(&x, &current->result, sizeof(T));
    return x;
}

inline unsigned lane() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}

inline unsigned vote(unsigned mask, bool x) {
    current->value = x;
    park(BALLOT, mask);
    return unsigned(current->result) & mask;
}

// The kind of a parameter: '*' for a pointer or ' ', then NumPy's letter; complex numbers are classes.
template <class T> struct Letter { static constexpr char value = sizeof(T) == 16 ? 'D' : 'F'; };
template <> struct Letter<bool> { static constexpr char value = '?'; };
template <> struct Letter<char> { static constexpr char value = 'b'; };
template <> struct Letter<unsigned char> { static constexpr char value = 'B'; };
template <> struct Letter<int> { static constexpr char value = 'i'; };
template <> struct Letter<unsigned> { static constexpr char value = 'I'; };
template <> struct Letter<long long> { static constexpr char value = 'q'; };
template <> struct Letter<unsigned long long> { static constexpr char value = 'Q'; };
template <> struct Letter<float> { static constexpr char value = 'f'; };
template <> struct Letter<double> { static constexpr char value = 'd'; };
template <class T> struct Kind { static constexpr char pointer = ' ', letter = Letter<T>::value; };
template <class T> struct Kind<T *> { static constexpr char pointer = '*', letter = Letter<T>::value; };
template <class T> struct Kind<const T *> : Kind<T *> {};

}  // namespace standin

inline void __syncwarp(unsigned mask = 0xffffffffu) { standin::park(standin::WARP, mask); }
inline int __syncthreads_or(int x) {
    standin::current->value = x != 0;
    standin::park(standin::BLOCK, 0);
    return int(standin::current->result);
}
inline void __syncthreads() { __syncthreads_or(0); }
template <class T> inline T __shfl_sync(unsigned mask, T x, int from, int width = 32) {
    return standin::shuffle(mask, x, standin::lane() / width * width + unsigned(from) % width);
}
template <class T> inline T __shfl_xor_sync(unsigned mask, T x, int other, int width = 32) {
    return standin::shuffle(mask, x, (standin::lane() ^ other) % 32);
}
template <class T> inline T __shfl_down_sync(unsigned mask, T x, unsigned delta, int width = 32) {
    unsigned own = standin::lane(), from = own + delta;
    return standin::shuffle(mask, x, from / width == own / width ? from : own);
}
template <class T> inline T __shfl_up_sync(unsigned mask, T x, unsigned delta, int width = 32) {
    unsigned own = standin::lane();
    return standin::shuffle(mask, x, own % width >= delta ? own - delta : own);
}
inline unsigned __ballot_sync(unsigned mask, int x) { return standin::vote(mask, x); }
inline int __any_sync(unsigned mask, int x) { return standin::vote(mask, x) != 0; }
inline int __all_sync(unsigned mask, int x) { return standin::vote(mask, x) == mask; }
template <class T> inline T atomicAdd(T *x, T y) { T old = *x; *x += y; return old; }
template <class T> inline T atomicMax(T *x, T y) { T old = *x; *x = old > y ? old : y; return old; }
template <class T> inline T atomicMin(T *x, T y) { T old = *x; *x = old < y ? old : y; return old; }
template <class T> inline T __ldg(const T *x) { return *x; }
