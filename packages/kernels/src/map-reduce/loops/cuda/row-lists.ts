import { traitsOf } from '@mercer/formula';
import { cudaLiteral } from '../../../emit/cuda-literal.js';
import { indent, lines, unrolled, upTo } from '../../../emit/text.js';
import { CUDA_SIDE, type CudaPairTilePlan } from '../plan-types.js';

/** The K best of the kept rows of a block while its pairs pass: a sorted list for each row, entry r with thread r % 16 of the row. */
export interface RowLists {
  /** Functions that the rest calls. */
  readonly helper: string;
  readonly declare: string;
  /**
   * Enters the pairs of a tile, `entered[r][g]` for rows `from + q + r` before `end`, that are among the best so far. All
   * threads of a warp are there.
   */
  readonly enter: string;
  /** `body` for each list `g`, by one thread, which finds it in `found`. */
  readonly found: (body: string) => string;
}

/** The threads of a warp. */
export const ALL_LANES = '0xffffffffu';

/** Entries of a list that a thread has. */
export const entriesOfThread = (k: number): number => Math.ceil(k / CUDA_SIDE);

/** `undefined` where the reduction keeps no list, and beside others, where every thread has lists of its own. */
export function rowLists({
  reduction,
  further = [],
  k,
  keptPerThread,
  reducedPerThread: rows,
  dtype,
}: CudaPairTilePlan): RowLists | undefined {
  const { takesK, extremum } = traitsOf(reduction);
  if (!takesK || further.length > 0) return undefined;
  const least = extremum === 'least';
  const [worse, better] = least ? ['>', '<'] : ['<', '>'];
  const worst = cudaLiteral(least ? Infinity : -Infinity, dtype);
  const [side, own] = [String(CUDA_SIDE), String(entriesOfThread(k))];
  const lastEntry = entriesOfThread(k) - 1;
  const mayEnter = (r: string): string => `!(entered[${r}][g] ${worse} bound[g])`;
  return {
    helper: lines(
      `struct Entries { V best[${own}]; I index[${own}]; };`,
      '// the better first, then the earlier row; NaN after all numbers, no row last',
      'INLINE bool precedes(V f, I row, V other, I row_of_other) {',
      '  if (row_of_other < 0) return true;',
      `  return f == f ? other != other || f ${better} other || (f == other && row < row_of_other) : other != other && row < row_of_other;`,
      '}',
      'INLINE void enter(Entries& list, V f, I row, bool live) {',
      `  const bool first = threadIdx.x % ${side} == 0;`,
      '  #pragma unroll',
      `  for (int m = ${lastEntry}; m >= 0; --m) {`,
      `    V before = __shfl_up_sync(${ALL_LANES}, list.best[m], 1, ${side});`,
      `    I row_before = __shfl_up_sync(${ALL_LANES}, list.index[m], 1, ${side});`,
      lastEntry > 0 &&
        lines(
          '    if (m > 0) {',
          `      const V end = __shfl_sync(${ALL_LANES}, list.best[m > 0 ? m - 1 : 0], ${CUDA_SIDE - 1}, ${side});`,
          `      const I row_of_end = __shfl_sync(${ALL_LANES}, list.index[m > 0 ? m - 1 : 0], ${CUDA_SIDE - 1}, ${side});`,
          '      before = first ? end : before;',
          '      row_before = first ? row_of_end : row_before;',
          '    }',
        ),
      '    const bool moves = live && precedes(f, row, list.best[m], list.index[m]);',
      '    const bool follows = !(first && m == 0) && precedes(f, row, before, row_before);',
      '    list.best[m] = moves ? (follows ? before : f) : list.best[m];',
      '    list.index[m] = moves ? (follows ? row_before : row) : list.index[m];',
      '  }',
      '}',
      k <= CUDA_SIDE && firstBoundText(k, least),
    ),
    declare: lines(
      `Entries list[${keptPerThread}];`,
      `V bound[${keptPerThread}];`,
      unrolled(
        'g',
        keptPerThread,
        lines(
          `bound[g] = ${worst};`,
          '#pragma unroll',
          `for (int m = 0; m < ${own}; ++m) {`,
          `  list[g].best[m] = ${worst};`,
          '  list[g].index[m] = number(-1);',
          '}',
        ),
      ),
      k <= CUDA_SIDE && 'bool fresh = true;',
    ),
    enter: lines(
      k <= CUDA_SIDE &&
        lines(
          'if (fresh) {',
          indent(
            unrolled(
              'g',
              keptPerThread,
              lines(
                `V nearest = ${worst};`,
                '#pragma unroll',
                `for (int r = 0; r < ${rows}; ++r) nearest = entered[r][g] ${better} nearest ? entered[r][g] : nearest;`,
                'bound[g] = first_bound(nearest);',
              ),
            ),
          ),
          '  fresh = false;',
          '}',
        ),
      unrolled(
        'g',
        keptPerThread,
        lines(
          `const bool any = ${upTo(rows)
            .map((r) => mayEnter(String(r)))
            .join(' | ')};`,
          `if (__any_sync(${ALL_LANES}, any)) {`,
          '  unsigned entering = 0;',
          '  #pragma unroll',
          `  for (int r = 0; r < ${rows}; ++r) entering |= (unsigned)(from + q + r < end && ${mayEnter('r')}) << r;`,
          '  #pragma unroll 1',
          '  for (;;) {',
          `    const unsigned lanes = __ballot_sync(${ALL_LANES}, entering != 0);`,
          '    if (lanes == 0) break;',
          `    const unsigned lanes_of_row = lanes >> (threadIdx.x & ${side}) & 0xffffu;`,
          '    const int giver = lanes_of_row != 0 ? __ffs((int)lanes_of_row) - 1 : 0;',
          '    const int which = __ffs((int)entering) - 1;',
          '    V f = entered[0][g];',
          '    #pragma unroll',
          `    for (int r = 1; r < ${rows}; ++r) f = which == r ? entered[r][g] : f;`,
          `    f = __shfl_sync(${ALL_LANES}, f, giver, ${side});`,
          `    const I row = __shfl_sync(${ALL_LANES}, (I)(from + q) + (I)which, giver, ${side});`,
          '    if (tx == giver) entering &= entering - 1;',
          '    enter(list[g], f, row, lanes_of_row != 0);',
          '  }',
          `  const V last = __shfl_sync(${ALL_LANES}, list[g].best[${lastEntry}], ${(k - 1) % CUDA_SIDE}, ${side});`,
          `  bound[g] = last ${worse} bound[g] ? bound[g] : last;`,
          '}',
        ),
      ),
    ),
    found: (body) =>
      lines(
        '{',
        `  __shared__ State partial[${side}];`,
        indent(
          unrolled(
            'g',
            keptPerThread,
            lines(
              '__syncwarp();',
              '#pragma unroll',
              `for (int m = 0; m < ${own}; ++m) {`,
              `  const int rank = m * ${side} + tx;`,
              `  if (rank < ${k}) {`,
              '    partial[ty].best[rank] = list[g].best[m];',
              '    partial[ty].index[rank] = list[g].index[m];',
              '  }',
              '}',
              '__syncwarp();',
              'if (tx == 0) {',
              '  const State& found = partial[ty];',
              indent(body),
              '}',
            ),
          ),
        ),
        '}',
      ),
  };
}

/** The K-th best of the best values of the threads of a row bounds the K-th best of all. */
function firstBoundText(k: number, least: boolean): string {
  const side = String(CUDA_SIDE);
  const lane = least ? k - 1 : CUDA_SIDE - k;
  return lines(
    '// sorts the values of the threads of a row',
    'INLINE V first_bound(V v) {',
    `  const int lane = threadIdx.x % ${side};`,
    '  #pragma unroll',
    `  for (int size = 2; size <= ${side}; size *= 2) {`,
    '    #pragma unroll',
    '    for (int far = size / 2; far > 0; far /= 2) {',
    `      const V other = __shfl_xor_sync(${ALL_LANES}, v, far, ${side});`,
    '      const bool smaller = ((lane & far) == 0) == ((lane & size) == 0);',
    '      v = smaller == (other < v) ? other : v;',
    '    }',
    '  }',
    `  return __shfl_sync(${ALL_LANES}, v, ${lane}, ${side});`,
    '}',
  );
}
