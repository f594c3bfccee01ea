import { traitsOf } from '@mercer/formula';
import { cudaLiteral } from '../../../emit/literals.js';
import { cpp, upTo } from '../../../emit/text.js';
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
  const own = entriesOfThread(k);
  const mayEnter = (r: string): string => `!(entered[${r}][g] ${worse} bound[g])`;
  const firstBound = cpp`
    if (fresh) {
      #pragma unroll
      for (int g = 0; g < ${keptPerThread}; ++g) {
        V nearest = ${worst};
        #pragma unroll
        for (int r = 0; r < ${rows}; ++r) nearest = entered[r][g] ${better} nearest ? entered[r][g] : nearest;
        bound[g] = first_bound(nearest);
      }
      fresh = false;
    }
  `;
  const endBefore = cpp`
    if (m > 0) {
      const V end = __shfl_sync(${ALL_LANES}, list.best[m > 0 ? m - 1 : 0], ${CUDA_SIDE - 1}, ${CUDA_SIDE});
      const I row_of_end = __shfl_sync(${ALL_LANES}, list.index[m > 0 ? m - 1 : 0], ${CUDA_SIDE - 1}, ${CUDA_SIDE});
      before = first ? end : before;
      row_before = first ? row_of_end : row_before;
    }
  `;
  return {
    helper: cpp`
      struct Entries { V best[${own}]; I index[${own}]; };
      // the better first, then the earlier row; NaN after all numbers, no row last
      INLINE bool precedes(V f, I row, V other, I row_of_other) {
        if (row_of_other < 0) return true;
        return f == f ? other != other || f ${better} other || (f == other && row < row_of_other) : other != other && row < row_of_other;
      }
      INLINE void enter(Entries& list, V f, I row, bool live) {
        const bool first = threadIdx.x % ${CUDA_SIDE} == 0;
        #pragma unroll
        for (int m = ${own - 1}; m >= 0; --m) {
          V before = __shfl_up_sync(${ALL_LANES}, list.best[m], 1, ${CUDA_SIDE});
          I row_before = __shfl_up_sync(${ALL_LANES}, list.index[m], 1, ${CUDA_SIDE});
          ${own > 1 && endBefore}
          const bool moves = live && precedes(f, row, list.best[m], list.index[m]);
          const bool follows = !(first && m == 0) && precedes(f, row, before, row_before);
          list.best[m] = moves ? (follows ? before : f) : list.best[m];
          list.index[m] = moves ? (follows ? row_before : row) : list.index[m];
        }
      }
      ${k <= CUDA_SIDE && firstBoundText(k, least)}
    `,
    declare: cpp`
      Entries list[${keptPerThread}];
      V bound[${keptPerThread}];
      #pragma unroll
      for (int g = 0; g < ${keptPerThread}; ++g) {
        bound[g] = ${worst};
        #pragma unroll
        for (int m = 0; m < ${own}; ++m) {
          list[g].best[m] = ${worst};
          list[g].index[m] = number(-1);
        }
      }
      ${k <= CUDA_SIDE && 'bool fresh = true;'}
    `,
    enter: cpp`
      ${k <= CUDA_SIDE && firstBound}
      #pragma unroll
      for (int g = 0; g < ${keptPerThread}; ++g) {
        const bool any = ${upTo(rows)
          .map((r) => mayEnter(String(r)))
          .join(' | ')};
        if (__any_sync(${ALL_LANES}, any)) {
          unsigned entering = 0;
          #pragma unroll
          for (int r = 0; r < ${rows}; ++r) entering |= (unsigned)(from + q + r < end && ${mayEnter('r')}) << r;
          #pragma unroll 1
          for (;;) {
            const unsigned lanes = __ballot_sync(${ALL_LANES}, entering != 0);
            if (lanes == 0) break;
            const unsigned lanes_of_row = lanes >> (threadIdx.x & ${CUDA_SIDE}) & 0xffffu;
            const int giver = lanes_of_row != 0 ? __ffs((int)lanes_of_row) - 1 : 0;
            const int which = __ffs((int)entering) - 1;
            V f = entered[0][g];
            #pragma unroll
            for (int r = 1; r < ${rows}; ++r) f = which == r ? entered[r][g] : f;
            f = __shfl_sync(${ALL_LANES}, f, giver, ${CUDA_SIDE});
            const I row = __shfl_sync(${ALL_LANES}, (I)(from + q) + (I)which, giver, ${CUDA_SIDE});
            if (tx == giver) entering &= entering - 1;
            enter(list[g], f, row, lanes_of_row != 0);
          }
          const V last = __shfl_sync(${ALL_LANES}, list[g].best[${own - 1}], ${(k - 1) % CUDA_SIDE}, ${CUDA_SIDE});
          bound[g] = last ${worse} bound[g] ? bound[g] : last;
        }
      }
    `,
    found: (body) => cpp`
      {
        __shared__ State partial[${CUDA_SIDE}];
        #pragma unroll
        for (int g = 0; g < ${keptPerThread}; ++g) {
          __syncwarp();
          #pragma unroll
          for (int m = 0; m < ${own}; ++m) {
            const int rank = m * ${CUDA_SIDE} + tx;
            if (rank < ${k}) {
              partial[ty].best[rank] = list[g].best[m];
              partial[ty].index[rank] = list[g].index[m];
            }
          }
          __syncwarp();
          if (tx == 0) {
            const State& found = partial[ty];
            ${body}
          }
        }
      }
    `,
  };
}

/** The K-th best of the best values of the threads of a row bounds the K-th best of all. */
function firstBoundText(k: number, least: boolean): string {
  return cpp`
    // sorts the values of the threads of a row
    INLINE V first_bound(V v) {
      const int lane = threadIdx.x % ${CUDA_SIDE};
      #pragma unroll
      for (int size = 2; size <= ${CUDA_SIDE}; size *= 2) {
        #pragma unroll
        for (int far = size / 2; far > 0; far /= 2) {
          const V other = __shfl_xor_sync(${ALL_LANES}, v, far, ${CUDA_SIDE});
          const bool smaller = ((lane & far) == 0) == ((lane & size) == 0);
          v = smaller == (other < v) ? other : v;
        }
      }
      return __shfl_sync(${ALL_LANES}, v, ${least ? k - 1 : CUDA_SIDE - k}, ${CUDA_SIDE});
    }
  `;
}
