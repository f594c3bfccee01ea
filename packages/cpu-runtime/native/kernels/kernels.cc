// The table of kernels that hold no formula, for every instruction set.
#include "kernels.h"

#include <cstring>

#include "../builtin.h"

namespace mercer::cpu {

namespace kernels {

#if defined(__x86_64__)
extern const Level kKernels_x86_64_v2, kKernels_x86_64_v3, kKernels_x86_64_v4;
#elif defined(__wasm__)
extern const Level kKernels_wasm128;
#else
extern const Level kKernels_arm64;
#endif

namespace {

size_t noScratch(const void*) { return 0; }

size_t scatterScratch(const void* packed) {
  const auto& args = *static_cast<const ScatterArgs*>(packed);
  return static_cast<size_t>(args.rowsPerTask * args.columnsPerTask) * sizeof(double);
}

struct BuiltinLevel {
  const char* name;
  Builtin builtins[14];

  explicit BuiltinLevel(const Level& level)
      : name(level.name),
        builtins{
            {"copy", level.copy, noScratch, sizeof(CopyArgs), false},
            {"fill", level.fill, noScratch, sizeof(FillArgs), false},
            {"sum", level.sum, noScratch, sizeof(SumArgs), false},
            {"reduce", level.reduce, noScratch, sizeof(ReduceArgs), false},
            {"scatter_add", level.scatterAdd, scatterScratch, sizeof(ScatterArgs), false},
            {"scatter_add_sorted", level.scatterAddSorted, noScratch, sizeof(ScatterSortedArgs), false},
            {"count_rows", level.countRows, noScratch, sizeof(CountRowsArgs), false},
            {"gather_rows", level.gatherRows, noScratch, sizeof(GatherRowsArgs), false},
            {"prepare_rows", level.prepareRows, noScratch, sizeof(RowsArgs), false},
            {"rows_gradient", level.rowsGradient, noScratch, sizeof(RowsGradientArgs), false},
            {"diagonal", level.diagonal, noScratch, sizeof(DiagonalArgs), false},
            {"random", level.random, noScratch, sizeof(RandomArgs), false},
            {"arg_sort", level.argSort, noScratch, sizeof(ArgSortArgs), false},
            {"cum_sum", level.cumSum, noScratch, sizeof(CumSumArgs), false},
        } {}
};

}  // namespace
}  // namespace kernels

const Builtin* findKernel(const std::string& name, const std::string& level) {
  using kernels::BuiltinLevel;
  // The first is also for processors below every level: it has no instruction that they lack.
#if defined(__x86_64__)
  static const BuiltinLevel kLevels[] = {BuiltinLevel(kernels::kKernels_x86_64_v2),
                                         BuiltinLevel(kernels::kKernels_x86_64_v3),
                                         BuiltinLevel(kernels::kKernels_x86_64_v4)};
#elif defined(__wasm__)
  static const BuiltinLevel kLevels[] = {BuiltinLevel(kernels::kKernels_wasm128)};
#else
  static const BuiltinLevel kLevels[] = {BuiltinLevel(kernels::kKernels_arm64)};
#endif
  const BuiltinLevel* found = &kLevels[0];
  for (const BuiltinLevel& one : kLevels)
    if (level == one.name) found = &one;
  for (const Builtin& one : found->builtins)
    if (name == one.name) return &one;
  return nullptr;
}

}  // namespace mercer::cpu
