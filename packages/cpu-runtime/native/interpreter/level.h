// The interpreter for one instruction set: included once by each file under levels/, which defines MERCER_LEVEL (a name of C)
// and the three headers of vector types and mathematics. Compiled with other flags than the rest of the addon, so nothing here may
// come from the standard library but types: an inline function of it could be the copy that the linker keeps for everybody.
#include <stddef.h>
#include <stdint.h>

#include "../kernels/kernels.h"
#include "../share.h"
#include "program.h"

#define INLINE_METHOD inline __attribute__((always_inline))
#define INLINE_LAMBDA __attribute__((always_inline))
// Of what runs once for many rows: small where the module is fetched by pages.
#if defined(__wasm__)
#define SELDOM __attribute__((noinline, minsize))
#else
#define SELDOM
#endif

#define MERCER_CONCAT2(a, b) a##b
#define MERCER_CONCAT(a, b) MERCER_CONCAT2(a, b)

namespace mercer::cpu::kernels {
extern const Level MERCER_CONCAT(kKernels_, MERCER_LEVEL);
}

namespace mercer::cpu::interpreter {
namespace {

// Conversions are those of copies.
inline kernels::RowFn rowFn(int32_t from, int32_t to) {
  return kernels::MERCER_CONCAT(kKernels_, MERCER_LEVEL).rows[from][to];
}

// Functions by name, in double precision for both data types.
#define INLINE static inline __attribute__((always_inline, unused))
namespace wide {
#include MERCER_WIDE_TEXT
#include "generated/functions.h"
#include "table-functions.h"
}  // namespace wide
#undef INLINE

namespace float32 {
#include MERCER_FLOAT32_TEXT
typedef int L;
#include "steps.h"
#include "machine.h"
#include "family-map.h"
#include "reducer.h"
#include "several-rows.h"
#include "family-map-reduce.h"
#include "family-pairwise.h"
#include "family-cdist-grad.h"
}  // namespace float32

#undef INLINE
#undef UNUSED

namespace float64 {
#include MERCER_FLOAT64_TEXT
typedef long long L;
#include "steps.h"
#include "machine.h"
#include "family-map.h"
#include "reducer.h"
#include "several-rows.h"
#include "family-map-reduce.h"
#include "family-pairwise.h"
#include "family-cdist-grad.h"
}  // namespace float64

// Values of a tile: as many as a block of the map-reduce family has.
template <class Family, class Arena>
int64_t tile_of(int64_t block) {
  return Family::kTilesOfBlock ? block : Arena{nullptr}.tile;
}

template <class Family, class Arena>
Cut cutOf(const View& view, const void* args, int64_t threads) {
  Cut cut = Family::cut(view, args, threads);
  Arena counting{nullptr, tile_of<Family, Arena>(cut.block)};
  Family family;
  family.reserve(view, counting);
  cut.scratchBytes += counting.used + 64;
  return cut;
}

template <class Family, class Arena>
void runOf(const View& view, const void* args, int64_t block, int64_t begin, int64_t end, void* scratch) {
  Arena arena{(uint8_t*)scratch, tile_of<Family, Arena>(block)};
  Family family;
  family.reserve(view, arena);
  family.run(view, args, block, begin, end);
}

#define MERCER_FAMILIES(RUN)              \
  switch (view.family) {                  \
    case Family::kMap:                    \
      RUN(MapFamily)                      \
    case Family::kMapReduce:              \
      RUN(MapReduceFamily)                \
    case Family::kPairwise:               \
      RUN(PairwiseFamily)                 \
    case Family::kCdistGrad:              \
    default:                              \
      RUN(CdistGradFamily)                \
  }

Cut cut(const View& view, const void* args, int64_t threads) {
#define MERCER_RUN(F)                                                              \
  return view.float64 ? cutOf<float64::F, float64::Arena>(view, args, threads)     \
                      : cutOf<float32::F, float32::Arena>(view, args, threads);
  MERCER_FAMILIES(MERCER_RUN)
#undef MERCER_RUN
}

void run(const View& view, const void* args, int64_t block, int64_t begin, int64_t end, void* scratch) {
#define MERCER_RUN(F)                                                                              \
  return view.float64 ? runOf<float64::F, float64::Arena>(view, args, block, begin, end, scratch)  \
                      : runOf<float32::F, float32::Arena>(view, args, block, begin, end, scratch);
  MERCER_FAMILIES(MERCER_RUN)
#undef MERCER_RUN
}

}  // namespace

extern const Level MERCER_CONCAT(kLevel_, MERCER_LEVEL);
const Level MERCER_CONCAT(kLevel_, MERCER_LEVEL) = {MERCER_LEVEL_NAME, cut, run};

}  // namespace mercer::cpu::interpreter
