import { HARNESS_CHECK, HARNESS_MEMORY } from './harness-memory.test-support.js';
import { HARNESS_THREADS, HARNESS_TOGETHER } from './harness-threads.test-support.js';

const HEAD = String.raw`
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <algorithm>
#include <deque>
#include <string>
#include <vector>
static std::string text_of(const char* s) { return s; }
static std::string text_of(char* s) { return s; }
static std::string text_of(const std::string& s) { return s; }
template <class T> static std::string text_of(T number) { return std::to_string(number); }
static std::string situation();
static size_t library_start;
#define HERE __builtin_return_address(0)
// a failure in the kernel's text: the line, or the address in the library for the caller to look up
template <class... T> [[noreturn]] static void fail(T... parts) {
  std::string all = situation();
  (void)std::initializer_list<int>{(all += text_of(parts), 0)...};
  fprintf(stderr, "%s", all.c_str());
  fflush(stderr);
  _exit(3);
}
template <class... T> [[noreturn]] static void fail_line(int line, T... parts) { fail(parts..., "@line ", line); }
template <class... T> [[noreturn]] static void fail_at(void* pc, T... parts) { fail(parts..., "@code ", (size_t)pc - 1 - library_start); }
`;

const MAIN = String.raw`
static std::string situation() {
  if (!current) return "";
  const uint3 b = emu_block_index;
  return "block (" + std::to_string(b.x) + "," + std::to_string(b.y) + "," + std::to_string(b.z) + ") " + where(*current) + ": ";
}
static void crashed(int, siginfo_t* info, void* context) {
  (void)context;
  u8* const at = (u8*)info->si_addr;
#if defined(__x86_64__)
  void* const pc = (void*)(((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP] + 1);
#elif defined(__aarch64__)
  void* const pc = (void*)(((ucontext_t*)context)->uc_mcontext.pc + 1);
#endif
  Region* const r = region_of(at);
  if (r) fail_at(pc, "touches offset ", (long long)(at - r->start), " of ", r->name, ", which has ", r->bytes, " bytes");
  fail_at(pc, "touches address ", (size_t)at);
}
static void read_all(void* to, size_t bytes) {
  if (bytes > 0 && fread(to, 1, bytes, stdin) != bytes) fail("the input ends early");
}
static int64_t read_number() {
  int64_t n;
  read_all(&n, 8);
  return n;
}
static unsigned long long seed = 88172645463325252ull;
static unsigned random_below(unsigned n) {
  seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17;
  return seed % n;
}
static void shuffle(std::vector<u32>& order) {
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_below(i)]);
}
static void run_block(u32 number, const std::vector<u32>& order) {
  const uint3 g = emu_grid_size;
  block_number = number;
  emu_block_index = {number % g.x, number / g.x % g.y, number / g.x / g.y};
  memset(regions[0].start, 0xff, regions[0].bytes);
  for (const Region& r : fixed) memset(r.start, 0xff, r.bytes);
  ++now;
  at_barrier = votes = 0;
  for (auto& warp : warps) warp.clear();
  for (unsigned& lanes : alive) lanes = 0;
  for (Thread& t : threads) {
    t.state = READY;
    alive[t.number / 32] |= 1u << t.number % 32;
    t.open.clear();
    t.groups.clear();
  }
  for (bool moved = true; moved;) {
    moved = false;
    for (u32 i : order)
      if (threads[i].state == READY) {
        resume(threads[i]);
        moved = true;
      }
  }
  for (Thread& t : threads) {
    if (t.state == DONE) continue;
    const Thread* other = &t;
    for (Thread& u : threads) if (u.state != t.state) other = &u;
    current = &t;
    const char* const waits = t.state == AT_BARRIER ? "waits at a barrier" : "waits for lanes of its warp";
    const char* const does = other->state == DONE ? " has ended" : other->state == AT_BARRIER ? " waits at a barrier" : " waits for lanes of its warp";
    fail_at(t.place, waits, " for ever: ", where(*other), does);
  }
  current = 0;
}
static void check_signature(const char* wanted) {
  const char* const kinds = ((const char* (*)())dlsym(RTLD_DEFAULT, "emu_signature"))();
  if (strcmp(kinds, wanted) != 0) fail("the parameters are declared as ", wanted, ", but the entry takes ", kinds);
}
struct alignas(32) Array { u8* at; size_t bytes; const char* name; };
static void list_arrays(void* library) {
  size_t count = 0;
  const Array* const arrays = ((const Array* (*)(size_t*))dlsym(library, "emu_list_arrays"))(&count);
  size_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    const Array& a = arrays[i];
    fixed.push_back({a.at, a.bytes, std::string("the shared array ") + a.name, true, true, checked ? make_shadow(a.bytes) : 0, false});
    if (i == 0 || a.at < fixed_start) fixed_start = a.at;
    fixed_stop = std::max(fixed_stop, a.at + a.bytes);
    bytes += a.bytes;
  }
  if (count > 0) {
    fixed_start -= 256;
    fixed_stop += 256;
  }
  if (bytes > 48 << 10) fail("static shared arrays of ", bytes, " bytes, more than 49152");
}
// argv: library, signature, names of the pointers; the rest from the standard input
int main(int, char** argv) {
  alarm(120);
  make_arena();
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (!library) fail(dlerror());
  library_start = ((link_map*)library)->l_addr;
  run_kernel = (void (*)(void* const*))dlsym(library, "emu_run");
  check_signature(argv[2]);
  emu_grid_size = {(u32)read_number(), (u32)read_number(), (u32)read_number()};
  emu_block_size = {(u32)read_number(), (u32)read_number(), (u32)read_number()};
  const size_t shared = read_number();
  checked = read_number();
  const bool shuffled = read_number();
  const int count = read_number();
  emu_dynamic_shared = regions[make_region("the dynamic shared memory", shared, 0, 16, true, true)].start;
  list_arrays(library);
  std::vector<int64_t> values(count);
  std::vector<void*> args(count);
  std::vector<int> results;
  for (int i = 0, pointers = 0; i < count; ++i) {
    args[i] = &values[i];
    // 0: a scalar, 1: address 0, 2: a new buffer, from 3 on: the buffer of parameter n - 3
    const int64_t kind = read_number();
    if (kind == 0) values[i] = read_number();
    if (kind >= 3) values[i] = values[kind - 3];
    if (kind == 2) {
      const int64_t bytes = read_number(), remainder = read_number(), writable = read_number();
      const int made = make_region(argv[3 + pointers], bytes, remainder, 256, writable, false);
      read_all(regions[made].start, bytes);
      values[i] = (int64_t)regions[made].start;
      if (writable) results.push_back(made);
    }
    if (kind > 0) ++pointers;
  }
  static u8 signal_stack[1 << 16];
  stack_t alternative = {};
  alternative.ss_sp = signal_stack;
  alternative.ss_size = sizeof signal_stack;
  sigaltstack(&alternative, 0);
  struct sigaction action = {};
  action.sa_sigaction = crashed;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, 0);
  sigaction(SIGBUS, &action, 0);
  kernel_args = args.data();
  const uint3 s = emu_block_size, g = emu_grid_size;
  make_threads(s.x * s.y * s.z);
  std::vector<u32> blocks((size_t)g.x * g.y * g.z), order(threads.size());
  for (size_t i = 0; i < blocks.size(); ++i) blocks[i] = i;
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (shuffled) shuffle(blocks);
  for (u32 block : blocks) {
    if (shuffled) shuffle(order);
    run_block(block, order);
  }
  for (int made : results) {
    const Region& r = regions[made];
    const u8* const end = r.start + r.bytes;
    for (const u8* p = end; (size_t)p % PAGE != 0; ++p)
      if (*p != 0xff) fail("the kernel wrote behind the end of ", r.name);
    for (const u8* p = r.start - 1; (size_t)(p + 1) % PAGE != 0; --p)
      if (*p != 0xff) fail("the kernel wrote before the start of ", r.name);
    fwrite(r.start, 1, r.bytes, stdout);
  }
  return 0;
}
`;

/** The program that loads a compiled kernel and runs one launch of it. */
export const HARNESS = [
  HEAD,
  HARNESS_MEMORY,
  HARNESS_THREADS,
  HARNESS_CHECK,
  HARNESS_TOGETHER,
  MAIN,
].join('\n');
