import { cudaLiteral } from '../../emit/cuda-literal.js';
import { indent, lines } from '../../emit/indent.js';
import { everyGroup } from './every-group.js';
import { CUDA_SIDE, type CudaWidePlan } from './wide-plan-types.js';

/** What keeps values that cannot be among the K best of a kept row from the lists of its threads. */
export interface RowBound {
  /** A function that the rest calls. */
  readonly helper: string;
  readonly declare: string;
  /** The condition under which the value `f` of kept row `g` may be one of the best; NaN may. */
  readonly mayEnter: (f: string) => string;
  /** Brings the bounds up to date. */
  readonly update: string;
}

/**
 * The K best of a row are found by 16 threads, each with a list of its own: without more, each would have to sort in what is
 * best in its own stretch alone. The n-th entry of a list, for the n with 16 n >= K, bounds the row: of r lists with r n >= K
 * the worst n-th entry is no better than the K-th of all. `undefined` where the reduction keeps no list.
 */
export function rowBound({ reduction, k, groups, dtype }: CudaWidePlan): RowBound | undefined {
  if (!reduction.includes('K')) return undefined;
  const least = reduction.includes('Min');
  const nth = Math.ceil(k / CUDA_SIDE);
  const lists = Math.ceil(k / nth);
  const lane = least ? lists - 1 : CUDA_SIDE - lists;
  const worst = cudaLiteral(least ? Infinity : -Infinity, dtype);
  const side = String(CUDA_SIDE);
  const better = least ? '<' : '>';
  return {
    helper: lines(
      '// sorts the values of the threads of a row',
      'INLINE V bound_of_row(V v) {',
      `  const int lane = threadIdx.x % ${side};`,
      '  #pragma unroll',
      `  for (int size = 2; size <= ${side}; size *= 2) {`,
      '    #pragma unroll',
      '    for (int far = size / 2; far > 0; far /= 2) {',
      `      const V other = __shfl_xor_sync(0xffffffffu, v, far, ${side});`,
      '      const bool smaller = ((lane & far) == 0) == ((lane & size) == 0);',
      '      v = smaller == (other < v) ? other : v;',
      '    }',
      '  }',
      `  return __shfl_sync(0xffffffffu, v, ${String(lane)}, ${side});`,
      '}',
    ),
    declare: lines(
      `V bound[${String(groups)}];`,
      everyGroup(groups, `bound[g] = ${worst};`),
      'int rounds = 0;',
    ),
    mayEnter: (f) => `!(${f} ${least ? '>' : '<'} bound[g])`,
    update: lines(
      '++rounds;',
      'if (rounds < 8 || rounds % 8 == 0) {',
      indent(
        everyGroup(
          groups,
          lines(
            `const V own = total[g].best[${String(nth - 1)}];`,
            `const V all = bound_of_row(own == own ? own : ${worst});`,
            `bound[g] = all ${better} bound[g] ? all : bound[g];`,
          ),
        ),
      ),
      '}',
    ),
  };
}
