#pragma once

// Rows of elements from one type to another. The conversions are generated: the rules are those of compiled kernels.
#include "generated/conversions.h"

template <class S, class D, D (*CONVERT)(S)>
static void row(void* to, int64_t toStride, const void* from, int64_t fromStride, int64_t count) {
  const S* __restrict__ s = (const S*)from;
  D* __restrict__ d = (D*)to;
  if (toStride == 1 && fromStride == 1) {
    for (int64_t i = 0; i < count; i++) d[i] = CONVERT(s[i]);
  } else if (toStride == 1 && fromStride == 0) {
    const D value = CONVERT(*s);
    for (int64_t i = 0; i < count; i++) d[i] = value;
  } else {
    for (int64_t i = 0; i < count; i++) d[i * toStride] = CONVERT(s[i * fromStride]);
  }
}

static const RowFn ROWS[kTypes][kTypes] = {MERCER_ROWS};
