import { prelude } from '../elementwise/conversion-text.js';
import { rowsGeometry, ROW_INDEXING } from '../elementwise/cuda-geometry.js';
import { parameterList, SHORT_INTEGERS } from '../emit/parameter-text.js';
import { type CudaKernel, type Scalars, scalar } from '../emitted-kernel.js';
import { int64, pointer, type KernelParam } from '../kernel-param.js';

/**
 * What is written of each number x: `parts` gives hi, x rounded to TF32, and lo = x - hi, both 0 where x is not finite;
 * `specials` writes the numbers that are not finite to hi and leaves the others alone.
 */
export type Tf32SplitStep = 'parts' | 'specials';

/*
 * hi has 11 significant bits, rounded to nearest, half away from 0: adding half a unit to the bits of the magnitude carries
 * into the exponent as it should. Where that ends at infinity the number is cut instead. lo is exact and has at most 12
 * significant bits (13 where hi was cut).
 */
const PARTS = `      const u32 bits = __float_as_uint(x);
      const u32 rounded = (bits + 0x1000u) & 0xffffe000u;
      const u32 top = (rounded & 0x7f800000u) == 0x7f800000u ? bits & 0xffffe000u : rounded;
      const bool finite = (bits & 0x7f800000u) != 0x7f800000u;
      const float high = __uint_as_float(finite ? top : 0u);
      hi[to + i] = high;
      lo[to + i] = finite ? x - high : 0.0f;`;

const SPECIALS = `      if ((__float_as_uint(x) & 0x7f800000u) == 0x7f800000u) hi[to + i] = x;`;

/**
 * Splits float32 matrices into parts whose TF32 products are exact: for each of `batch` matrices `lines` lines of `length`
 * contiguous numbers, `ldx` elements from one line to the next and `batchStrideX` from one matrix to the next, into hi and
 * lo with lines `ldo` apart and no gap between matrices.
 *
 * Pointers from, hi and, of `parts`, lo. Scalars: length, lines, batch, ldx, batchStrideX, ldo.
 */
export function emitTf32Split(step: Tf32SplitStep): CudaKernel {
  const entry = `mercer_tf32_${step}`;
  const parts = step === 'parts';
  const params: KernelParam[] = [
    pointer('from', 'float32', 'read'),
    ...['hi', ...(parts ? ['lo'] : [])].map((name) => pointer(name, 'float32', 'write')),
    ...['length', 'lines', 'batch', 'ldx', 'batchStrideX', 'ldo'].map(int64),
  ];
  return {
    dialect: 'cuda',
    name: `tf32 ${step}`,
    entry,
    source: `${prelude('cuda')}
extern "C" __global__ void __launch_bounds__(256)
${entry}(${parameterList(params, { integers: SHORT_INTEGERS })}) {
${ROW_INDEXING}
  for (i64 row = firstRow; row < lines * batch; row += rowStep) {
    const i64 layer = row / lines, line = row - layer * lines;
    const i64 at = layer * batchStrideX + line * ldx, to = row * ldo;
    for (i64 i = firstX; i < length; i += xStep) {
      const float x = from[at + i];
${parts ? PARTS : SPECIALS}
    }
  }
}
`,
    params,
    options: [],
    geometry: (scalars) =>
      rowsGeometry(scalar(scalars, 'lines') * scalar(scalars, 'batch'), scalar(scalars, 'length')),
    cost: (scalars: Scalars) => {
      const numbers =
        scalar(scalars, 'length') * scalar(scalars, 'lines') * scalar(scalars, 'batch');
      return { bytes: numbers * (parts ? 12 : 4), flops: parts ? numbers : 0 };
    },
  };
}
