import { SHIM_MATH } from './shim-math.test-support.js';
import { SHIM_PTX } from './shim-ptx.test-support.js';

/** The words of CUDA C++, its vector types and its built-in variables; no header is read. */
const LANGUAGE = String.raw`
typedef unsigned long emu_size;
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __restrict__
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __syncthreads() ((void)emu_barrier(__LINE__, 0))
#define __syncthreads_count(x) emu_barrier(__LINE__, (x) != 0)
#define __syncthreads_or(x) (emu_barrier(__LINE__, (x) != 0) != 0)
#define __syncthreads_and(x) (emu_barrier(__LINE__, (x) == 0) == 0)
#define EMU_VECTORS(T, name, two, four) \
  struct __align__(two) name##2 { T x, y; }; \
  struct __align__(four) name##4 { T x, y, z, w; }; \
  struct name##3 { T x, y, z; }; \
  static inline name##2 make_##name##2(T x, T y) { return {x, y}; } \
  static inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; } \
  static inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
EMU_VECTORS(float, float, 8, 16)
EMU_VECTORS(double, double, 16, 16)
EMU_VECTORS(int, int, 8, 16)
EMU_VECTORS(unsigned, uint, 8, 16)
EMU_VECTORS(long long, longlong, 16, 16)
EMU_VECTORS(unsigned long long, ulonglong, 16, 16)
typedef uint3 dim3;
extern "C" {
  extern uint3 emu_thread_index, emu_block_index, emu_block_size, emu_grid_size;
  extern unsigned char* emu_dynamic_shared;
  int emu_barrier(int line, int vote);
  unsigned emu_exchange(int what, unsigned mask, const void* mine, unsigned bytes, void* all);
  unsigned emu_lane();
  unsigned emu_shared_address(const void* pointer);
  void emu_copy_async(unsigned to, const void* from, int size, int valid);
  void emu_commit();
  void emu_wait(int pending);
  void emu_fence();
  void emu_atomic(void* pointer, int size);
  void emu_trap(int line, const char* what);
}
// every shared array is listed, with a gap before it that nobody may touch
struct __align__(32) EmuArray { void* at; emu_size bytes; const char* name; };
extern "C" {
  extern const EmuArray emu_arrays_start[] __asm__("__start_emu_arrays") __attribute__((weak, visibility("hidden")));
  extern const EmuArray emu_arrays_stop[] __asm__("__stop_emu_arrays") __attribute__((weak, visibility("hidden")));
}
#define EMU_SHARED static __attribute__((section("emu_shared"), used))
#define EMU_LIST(number, name) \
  EMU_SHARED unsigned char emu_gap_##number[256]; \
  static const EmuArray emu_array_##number __attribute__((section("emu_arrays"), used)) = {(void*)&name, sizeof name, #name};
#define threadIdx emu_thread_index
#define blockIdx emu_block_index
#define blockDim emu_block_size
#define gridDim emu_grid_size
#define warpSize 32
#define __trap() emu_trap(__LINE__, "__trap")
#define assert(x) ((x) ? (void)0 : emu_trap(__LINE__, "assert(" #x ")"))
`;

/** What lanes of a warp and threads of a block do together. */
const TOGETHER = String.raw`
enum { EMU_SYNC, EMU_SHUFFLE, EMU_VOTE, EMU_MMA };
template <class T> struct EmuLanes { T of[32]; unsigned present; };
template <class T> static inline EmuLanes<T> emu_lanes(int what, unsigned mask, T mine) {
  EmuLanes<T> all;
  all.present = emu_exchange(what, mask, &mine, sizeof(T), all.of);
  return all;
}
static inline void __syncwarp(unsigned mask = 0xffffffffu) { emu_lanes(EMU_SYNC, mask, 0); }
template <class T> static inline T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const int lane = emu_lane(), base = lane & ~(width - 1);
  return emu_lanes(EMU_SHUFFLE, mask, value).of[base + (from & (width - 1))];
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int lane = emu_lane(), from = lane ^ bits;
  const EmuLanes<T> all = emu_lanes(EMU_SHUFFLE, mask, value);
  return from < (lane | (width - 1)) + 1 ? all.of[from] : value;
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = emu_lane();
  const EmuLanes<T> all = emu_lanes(EMU_SHUFFLE, mask, value);
  return (lane & (width - 1)) + by < (unsigned)width ? all.of[lane + by] : value;
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = emu_lane();
  const EmuLanes<T> all = emu_lanes(EMU_SHUFFLE, mask, value);
  return (lane & (width - 1)) >= by ? all.of[lane - by] : value;
}
static inline unsigned __ballot_sync(unsigned mask, int vote) {
  const EmuLanes<int> all = emu_lanes(EMU_VOTE, mask, vote);
  unsigned bits = 0;
  for (int i = 0; i < 32; ++i) if (all.present >> i & 1 && all.of[i]) bits |= 1u << i;
  return bits;
}
static inline int __any_sync(unsigned mask, int vote) { return __ballot_sync(mask, vote) != 0; }
static inline int __all_sync(unsigned mask, int vote) { return __ballot_sync(mask, !vote) == 0; }
template <class T, class F> static inline T emu_fold(unsigned mask, T value, F f) {
  const EmuLanes<T> all = emu_lanes(EMU_VOTE, mask, value);
  bool first = true;
  T total = value;
  for (int i = 0; i < 32; ++i) if (all.present >> i & 1) { total = first ? all.of[i] : f(total, all.of[i]); first = false; }
  return total;
}
#define EMU_FOLD(name, T, op) static inline T name(unsigned mask, T value) { return emu_fold(mask, value, [](T x, T y) { return op; }); }
EMU_FOLD(__reduce_add_sync, unsigned, x + y)
EMU_FOLD(__reduce_add_sync, int, x + y)
EMU_FOLD(__reduce_max_sync, unsigned, x > y ? x : y)
EMU_FOLD(__reduce_max_sync, int, x > y ? x : y)
EMU_FOLD(__reduce_min_sync, unsigned, x < y ? x : y)
EMU_FOLD(__reduce_min_sync, int, x < y ? x : y)
EMU_FOLD(__reduce_or_sync, unsigned, x | y)
EMU_FOLD(__reduce_and_sync, unsigned, x & y)
#define EMU_ATOMIC(name, T, op) \
  __attribute__((no_sanitize("thread"))) static T name(T* at, T y) { emu_atomic(at, sizeof(T)); const T x = *at; *at = op; return x; }
EMU_ATOMIC(atomicAdd, int, x + y)
EMU_ATOMIC(atomicAdd, unsigned, x + y)
EMU_ATOMIC(atomicAdd, unsigned long long, x + y)
EMU_ATOMIC(atomicAdd, float, x + y)
EMU_ATOMIC(atomicAdd, double, x + y)
EMU_ATOMIC(atomicMax, int, x > y ? x : y)
EMU_ATOMIC(atomicMax, unsigned, x > y ? x : y)
EMU_ATOMIC(atomicMax, unsigned long long, x > y ? x : y)
EMU_ATOMIC(atomicMin, int, x < y ? x : y)
EMU_ATOMIC(atomicMin, unsigned, x < y ? x : y)
EMU_ATOMIC(atomicExch, int, y)
EMU_ATOMIC(atomicExch, unsigned, y)
static inline void __threadfence() { emu_fence(); }
static inline void __threadfence_block() {}
static inline emu_size __cvta_generic_to_shared(const void* pointer) { return emu_shared_address(pointer); }
template <class T> static inline T __ldg(const T* at) { return *at; }
template <class T> static inline T __ldcs(const T* at) { return *at; }
template <class T> static inline T __ldcg(const T* at) { return *at; }
template <class T> static inline void __stcs(T* at, T value) { *at = value; }
template <class T> static inline void __stcg(T* at, T value) { *at = value; }
static inline long long clock64() { static long long ticks; return ticks += 8; }
`;

/** How the harness reads the entry's signature and calls it with addresses of its arguments. */
const CALL = String.raw`
template <class T> struct EmuKind { static constexpr char of = T(1) / T(2) != 0 ? 'f' : 'i'; };
template <class T> struct EmuKind<T*> { static constexpr char of = 'p'; };
template <class T> struct EmuKind<const T*> { static constexpr char of = 'c'; };
template <int... I> struct EmuSequence {};
template <int N, int... I> struct EmuRange : EmuRange<N - 1, N - 1, I...> {};
template <int... I> struct EmuRange<0, I...> { typedef EmuSequence<I...> type; };
struct EmuParam { char kind, size; };
// kinds and sizes of all parameters as one text
template <class... A> static const char* emu_describe(void (*)(A...)) {
  static const EmuParam all[] = {{EmuKind<A>::of, (char)('0' + sizeof(A))}..., {0, 0}};
  return &all[0].kind;
}
template <class... A, int... I> static void emu_pass(void (*f)(A...), void* const* args, EmuSequence<I...>) { f(*(A*)args[I]...); }
template <class... A> static void emu_call(void (*f)(A...), void* const* args) { emu_pass(f, args, typename EmuRange<sizeof...(A)>::type()); }
`;

/** The header that makes CUDA C++ of host C++. */
export const SHIM = [LANGUAGE, SHIM_MATH, TOGETHER, SHIM_PTX, CALL].join('');

/** A kernel as a file of host C++ behind the header; `text` is its translated source. */
export function hostSource(text: string, entry: string): string {
  return `namespace {
#line 1
${text}
}
extern "C" const char* emu_signature() { return emu_describe(${entry}); }
extern "C" void emu_run(void* const* args) { emu_call(${entry}, args); }
extern "C" const EmuArray* emu_list_arrays(emu_size* count) { *count = emu_arrays_stop - emu_arrays_start; return emu_arrays_start; }
`;
}
