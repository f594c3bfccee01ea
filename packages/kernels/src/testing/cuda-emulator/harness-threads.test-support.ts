/** Threads of a block as fibers that give way to each other at barriers and warp operations. */
export const HARNESS_THREADS = String.raw`
struct uint3 { unsigned x, y, z; };
extern "C" { uint3 emu_thread_index, emu_block_index, emu_block_size, emu_grid_size; u8* emu_dynamic_shared; }
enum State { READY, AT_BARRIER, IN_WARP, DONE };
struct Pending { u8* to; u8 data[16]; int size; };
struct Thread {
  int number;
  State state;
  int line;
  void* place;
  bool started;
  ucontext_t first;
  jmp_buf context;
  u32 clock, known[32];
  std::vector<Pending> open;
  std::deque<std::vector<Pending>> groups;
};
static const unsigned MOST_BYTES = 64;
// lanes of a warp that meet under one mask; two sets of slots, since a lane may be one meeting ahead
struct Meeting {
  unsigned mask, here, present[2], generation;
  int what;
  unsigned bytes;
  u8 slots[2][32 * MOST_BYTES];
};
static std::vector<Thread> threads;
static std::vector<std::vector<Meeting>> warps;
// lanes of each warp that have not ended
static std::vector<unsigned> alive;
static Thread* current;
static u32 block_number;
static jmp_buf scheduler;
static void (*run_kernel)(void* const*);
static void* const* kernel_args;

static std::string where(const Thread& t) {
  const uint3 s = emu_block_size;
  const unsigned n = t.number;
  return "thread (" + std::to_string(n % s.x) + "," + std::to_string(n / s.x % s.y) + "," + std::to_string(n / s.x / s.y) + ")";
}
static void leave() {
  if (!_setjmp(current->context)) _longjmp(scheduler, 1);
}
static void meeting_complete(unsigned warp, Meeting& m);
static void fiber() {
  for (;;) {
    run_kernel(kernel_args);
    current->state = DONE;
    const unsigned warp = current->number / 32, left = alive[warp] &= ~(1u << current->number % 32);
    for (Meeting& m : warps[warp])
      if (m.here != 0 && m.here == (m.mask & left)) meeting_complete(warp, m);
    leave();
  }
}
static void resume(Thread& t) {
  current = &t;
  const uint3 s = emu_block_size;
  const unsigned n = t.number;
  emu_thread_index = {n % s.x, n / s.x % s.y, n / s.x / s.y};
  if (_setjmp(scheduler)) return;
  if (t.started) _longjmp(t.context, 1);
  t.started = true;
  setcontext(&t.first);
}
static void make_threads(unsigned count) {
  const size_t stack = 256 << 10, room = stack + PAGE;
  u8* const all = (u8*)mmap(0, count * room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) fail("no memory for the stacks of ", count, " threads");
  threads.resize(count);
  warps.resize((count + 31) / 32);
  alive.resize(warps.size());
  for (unsigned i = 0; i < count; ++i) {
    u8* const at = all + i * room;
    mprotect(at, PAGE, PROT_NONE);
    Thread& t = threads[i];
    t.number = i;
    t.started = false;
    getcontext(&t.first);
    t.first.uc_stack.ss_sp = at + PAGE;
    t.first.uc_stack.ss_size = stack;
    t.first.uc_link = 0;
    makecontext(&t.first, fiber, 0);
  }
}
`;

/** Barriers, meetings of lanes, and copies that arrive only when they are waited for. */
export const HARNESS_TOGETHER = String.raw`
static unsigned at_barrier;
static int votes, result;
static void release_barrier() {
  for (Thread& t : threads)
    if (t.line != threads[0].line)
      fail("threads of a block wait at different barriers: ", where(threads[0]), " at line ", threads[0].line, ", ", where(t), " at line ", t.line);
  for (Thread& t : threads) t.state = READY;
  result = votes;
  votes = at_barrier = 0;
  ++now;
}
extern "C" int emu_barrier(int line, int vote) {
  current->state = AT_BARRIER;
  current->line = line;
  current->place = HERE;
  votes += vote != 0;
  if (++at_barrier == threads.size()) release_barrier();
  leave();
  return result;
}
extern "C" unsigned emu_lane() { return current->number % 32; }
static void meeting_complete(unsigned warp, Meeting& m) {
  u32 joined[32] = {};
  for (unsigned i = 0; i < 32; ++i)
    if (m.here >> i & 1) {
      Thread& t = threads[warp * 32 + i];
      t.state = READY;
      if (m.what != 0) continue;
      t.known[i] = ++t.clock;
      for (unsigned j = 0; j < 32; ++j) joined[j] = std::max(joined[j], t.known[j]);
    }
  if (m.what == 0)
    for (unsigned i = 0; i < 32; ++i)
      if (m.here >> i & 1) memcpy(threads[warp * 32 + i].known, joined, sizeof joined);
  m.present[m.generation++ & 1] = m.here;
  m.here = 0;
}
extern "C" unsigned emu_exchange(int what, unsigned mask, const void* mine, unsigned bytes, void* all) {
  void* const pc = HERE;
  const unsigned lane = current->number % 32, warp = current->number / 32;
  if (!(mask >> lane & 1)) fail_at(pc, "a warp operation with mask ", mask, ", in which its own lane is missing");
  if (bytes > MOST_BYTES) fail("a warp operation on ", bytes, " bytes");
  std::vector<Meeting>& all_meetings = warps[warp];
  size_t at = 0;
  while (at < all_meetings.size() && all_meetings[at].mask != mask) ++at;
  if (at == all_meetings.size()) {
    all_meetings.push_back(Meeting());
    all_meetings[at].mask = mask;
  }
  Meeting* m = &all_meetings[at];
  const unsigned set = m->generation & 1;
  if (m->here == 0) {
    m->what = what;
    m->bytes = bytes;
    memset(m->slots[set], 0xff, 32 * bytes);
  } else if (m->what != what || m->bytes != bytes) {
    fail_at(pc, "lanes of a warp meet in different operations");
  }
  memcpy(m->slots[set] + lane * bytes, mine, bytes);
  m->here |= 1u << lane;
  current->state = IN_WARP;
  current->place = pc;
  if (m->here == (mask & alive[warp])) meeting_complete(warp, *m);
  if (current->state != READY) leave();
  m = &warps[warp][at];
  memcpy(all, m->slots[set], 32 * bytes);
  return m->present[set];
}
// addresses in the window of shared memory: dynamic, then static from half of the range on
static const unsigned DYNAMIC_WINDOW = 0x400, FIXED_WINDOW = 0x40000000;
extern "C" unsigned emu_shared_address(const void* pointer) {
  const u8* const p = (const u8*)pointer;
  if (p >= fixed_start && p < fixed_stop) return FIXED_WINDOW + (p - fixed_start);
  return DYNAMIC_WINDOW + (p - emu_dynamic_shared);
}
extern "C" void emu_copy_async(unsigned window, const void* from, int size, int valid) {
  void* const pc = HERE;
  u8* const to = window >= FIXED_WINDOW ? fixed_start + (window - FIXED_WINDOW) : emu_dynamic_shared + (window - DYNAMIC_WINDOW);
  if (size != 4 && size != 8 && size != 16) fail_at(pc, "cp.async of ", size, " bytes");
  if (valid < 0 || valid > size) fail_at(pc, "cp.async of ", size, " bytes, of which ", valid, " are valid");
  if ((size_t)to % size != 0 || (size_t)from % size != 0)
    fail_at(pc, "misaligned cp.async of ", size, " bytes: target ", (size_t)to % 256, ", source ", (size_t)from % 256, " modulo 256");
  if (!region_of(to) || !region_of(to)->shared) fail_at(pc, "cp.async to what is no shared memory");
  if (checked) touch(to, size, COPY, pc);
  if (checked && valid > 0) touch((const u8*)from, valid, READ, pc);
  Pending copy = {to, {}, size};
  memcpy(copy.data, from, valid);
  memset(to, 0xff, size);
  current->open.push_back(copy);
}
extern "C" void emu_commit() {
  current->groups.push_back(current->open);
  current->open.clear();
}
extern "C" void emu_wait(int pending) {
  while ((int)current->groups.size() > pending) {
    for (Pending& copy : current->groups.front()) {
      memcpy(copy.to, copy.data, copy.size);
      if (checked) arrived(copy.to, copy.size);
    }
    current->groups.pop_front();
  }
}
extern "C" void emu_fence() { fence_seen = 1; }
extern "C" void emu_atomic(void* at, int size) {
  if (checked) touch((u8*)at, size, ATOMIC, HERE);
}
extern "C" void emu_trap(int line, const char* what) { fail_line(line, what); }
`;
