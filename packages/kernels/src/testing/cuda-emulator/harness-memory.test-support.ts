/**
 * The emulator's memory: every buffer in a place of its own, far from all others, with pages around it
 * that may not be touched; and the check of every access that the instrumented kernel makes.
 */
export const HARNESS_MEMORY = String.raw`
typedef unsigned char u8;
typedef uint32_t u32;
// who touched a byte last, and when: a clock of barriers and, within a warp, of __syncwarp
struct Touch { u32 who, when, clock; };
struct Byte { Touch write, read, other; u32 copying; bool atomic; };
// one Byte for every four as long as only whole words are touched
struct Region { u8* start; size_t bytes; std::string name; bool writable, shared; Byte* shadow; bool fine; };

static const size_t PAGE = 4096, SPACING = (size_t)1 << 30, MOST_REGIONS = 300;
static u8* arena;
static std::vector<Region> regions;
// static shared arrays, and all that lies between them
static std::vector<Region> fixed;
static u8 *fixed_start, *fixed_stop;
static bool checked;

static Byte* make_shadow(size_t bytes) {
  void* at = mmap(0, bytes * sizeof(Byte) + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) fail("no memory for the check of ", bytes, " bytes");
  return (Byte*)at;
}
static void make_arena() {
  arena = (u8*)mmap(0, SPACING * MOST_REGIONS, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (arena == MAP_FAILED) fail("no address space for buffers");
}
// as close to the page that ends it as an address of the given remainder modulo 256 allows
static int make_region(const std::string& name, size_t bytes, size_t remainder, size_t step, bool writable, bool shared) {
  if (regions.size() == MOST_REGIONS || bytes > SPACING - 4 * PAGE) fail("too many or too large buffers");
  u8* const place = arena + SPACING * regions.size() + 2 * PAGE;
  const size_t room = (bytes + 256 + PAGE - 1) / PAGE * PAGE;
  mprotect(place, room, PROT_READ | PROT_WRITE);
  size_t start = room - bytes;
  while (start % step != remainder % step) --start;
  memset(place, 0xff, room);
  regions.push_back({place + start, bytes, name, writable, shared, checked ? make_shadow(bytes) : 0, false});
  return regions.size() - 1;
}
static Region* region_of(const u8* at) {
  const size_t distance = at - arena;
  if (at >= arena && distance / SPACING < regions.size()) return &regions[distance / SPACING];
  if (at < fixed_start || at >= fixed_stop) return 0;
  Region* nearest = &fixed[0];
  for (Region& r : fixed)
    if (at >= r.start && (at < r.start + r.bytes || r.start > nearest->start)) nearest = &r;
  return nearest;
}
`;

/** The check of one access: bounds, alignment of what is written, and other threads. */
export const HARNESS_CHECK = String.raw`
static u32 now, fence_seen;
static u32 me() { return block_number * threads.size() + current->number + 1; }
static bool ordered(const Region& r, const Touch& t, u32 mine) {
  if (t.who == 0 || t.who == mine || (r.shared && t.when < now)) return true;
  const u32 block = (t.who - 1) / threads.size(), number = (t.who - 1) % threads.size();
  if (block != block_number) return fence_seen;
  if (t.when < now) return true;
  return number / 32 == (u32)current->number / 32 && current->known[number % 32] > t.clock;
}
[[noreturn]] static void race(const Region& r, size_t offset, const char* mine, const char* theirs, const Touch& t, void* pc) {
  const u32 block = (t.who - 1) / threads.size(), number = (t.who - 1) % threads.size();
  fail_at(pc, mine, " byte ", offset, " of ", r.name, ", which thread ", number,
      block == block_number ? " of the same block " : " of block " + std::to_string(block) + " ", theirs,
      block == block_number && t.when == now ? " with no barrier between them" : "");
}
static void refine(Region& r) {
  for (size_t i = 0; i < r.bytes; ++i) r.shadow[i] = r.shadow[i & ~(size_t)3];
  r.fine = true;
}
static bool is_copying(const Byte& b) { return b.copying != 0 && (b.copying - 1) / threads.size() == block_number; }
enum Kind { READ, WRITE, ATOMIC, COPY };
static void touch(const u8* at, size_t size, Kind kind, void* pc) {
  if ((size_t)at < PAGE) fail_at(pc, kind == READ ? "reads" : "writes", " at address ", (size_t)at);
  Region* const r = region_of(at);
  if (!r) return;
  const size_t offset = at - r->start;
  if (at < r->start || offset + size > r->bytes)
    fail_at(pc, kind == READ ? "reads " : "writes ", size, " bytes at offset ", (long long)(at - r->start), " of ", r->name, ", which has ", r->bytes, " bytes");
  if (kind != READ && !r->writable) fail_at(pc, "writes to ", r->name, ", which is declared as read");
  if (!r->shadow || !r->writable) return;
  const Touch mine = {me(), now, current->clock};
  if (!r->fine && (offset % 4 != 0 || size % 4 != 0)) refine(*r);
  const size_t step = r->fine ? 1 : 4;
  for (size_t i = offset; i < offset + size; i += step) {
    Byte& b = r->shadow[i];
    if (b.copying != 0 && is_copying(b)) {
      const char* const what = kind == READ ? "reads" : "writes";
      if (b.copying == mine.who) fail_at(pc, what, " byte ", i, " of ", r->name, ", which it is copying to by cp.async itself, before the wait");
      race(*r, i, what, "is copying to by cp.async", {b.copying, 0, 0}, pc);
    }
    if (kind == READ) {
      if (!ordered(*r, b.write, mine.who)) race(*r, i, "reads", "wrote", b.write, pc);
      if (b.read.who != mine.who) b.other = b.read;
      b.read = mine;
      continue;
    }
    const char* const what = kind == ATOMIC ? "changes" : "writes";
    if (!ordered(*r, b.write, mine.who) && !(kind == ATOMIC && b.atomic)) race(*r, i, what, "wrote", b.write, pc);
    if (!ordered(*r, b.read, mine.who)) race(*r, i, what, "read", b.read, pc);
    if (!ordered(*r, b.other, mine.who)) race(*r, i, what, "read", b.other, pc);
    b.write = mine;
    b.atomic = kind == ATOMIC;
    if (kind == COPY) b.copying = mine.who;
  }
}
static void arrived(u8* at, size_t size) {
  Region* const r = region_of(at);
  if (!r || !r->shadow) return;
  const size_t offset = at - r->start;
  for (size_t i = offset; i < offset + size; i += r->fine ? 1 : 4) {
    r->shadow[i].copying = 0;
    r->shadow[i].write = {me(), now, current->clock};
  }
}
// what the compiler calls before every access of the kernel
#define HOOK(n) \
  extern "C" void __tsan_read##n(void* at) { touch((u8*)at, n, READ, HERE); } \
  extern "C" void __tsan_write##n(void* at) { touch((u8*)at, n, WRITE, HERE); } \
  extern "C" void __tsan_unaligned_read##n(void* at) { touch((u8*)at, n, READ, HERE); } \
  extern "C" void __tsan_unaligned_write##n(void* at) { touch((u8*)at, n, WRITE, HERE); } \
  extern "C" void __tsan_volatile_read##n(void* at) { touch((u8*)at, n, READ, HERE); } \
  extern "C" void __tsan_volatile_write##n(void* at) { touch((u8*)at, n, WRITE, HERE); }
HOOK(1) HOOK(2) HOOK(4) HOOK(8) HOOK(16)
extern "C" void __tsan_read_range(void* at, size_t size) { touch((u8*)at, size, READ, HERE); }
extern "C" void __tsan_write_range(void* at, size_t size) { touch((u8*)at, size, WRITE, HERE); }
extern "C" void __tsan_func_entry(void*) {}
extern "C" void __tsan_func_exit() {}
extern "C" void __tsan_init() {}
struct UbsanPlace { const char* file; u32 line, column; };
extern "C" void __ubsan_handle_type_mismatch_v1_abort(UbsanPlace* place, void* at) {
  fail_line(place->line, "misaligned access at address ", (size_t)at % 256, " modulo 256");
}
extern "C" void __ubsan_handle_out_of_bounds_abort(UbsanPlace* place, void* index) {
  fail_line(place->line, "index ", (long long)index, " is outside its array");
}
`;
