// The kernels for one instruction set: included once by each file under levels/, which defines MERCER_LEVEL (a name of C) and
// MERCER_LEVEL_NAME. Compiled with other flags than the rest of the addon, so nothing here may come from the standard library but
// types: an inline function of it could be the copy that the linker keeps for everybody.
#include "kernels.h"

#if defined(__clang__)
#pragma clang fp contract(fast)
#endif

namespace mercer::cpu::kernels {
namespace {

#include "elements.h"
#include "axis-reductions.h"
#include "rows-by-index.h"
#include "prepared-rows.h"
#include "random.h"
#include "along-rows.h"

}  // namespace

#define MERCER_CONCAT2(a, b) a##b
#define MERCER_CONCAT(a, b) MERCER_CONCAT2(a, b)
extern const Level MERCER_CONCAT(kKernels_, MERCER_LEVEL);
const Level MERCER_CONCAT(kKernels_, MERCER_LEVEL) = {
    MERCER_LEVEL_NAME, ROWS, copy, fill, sum, reduce, scatterAdd, scatterAddSorted, countRows, gatherRows, prepareRows, rowsGradient,
    diagonal, randomNumbers, argSort, cumSum};

}  // namespace mercer::cpu::kernels
