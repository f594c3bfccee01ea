import type { PairwiseDType } from '../dtype.js';
import type { RealExpr } from '@mercer/formula';
import type { ProductsConfig } from '../products/products-config.js';

/**
 * Which of the last two axes is contiguous: 'row' the last one, 'column' the one before it. The
 * other axis has an arbitrary stride, the leading stride.
 */
export type Layout = 'row' | 'column';

/** How the values of `inner` over k are combined; 'max' keeps NaN. */
export type Reduce = 'sum' | 'max';

/**
 * How the elements with n = m + `diagonalOffset` are regularised by r: 'set' makes them 1 + r, 'add'
 * adds r to them.
 */
export type DiagonalMode = 'set' | 'add';

/**
 * The problem of a pairwise kernel:
 * `out[l,m,n] = outer(reduce_k inner(a[l,m,k], b[l,n,k]))`.
 */
export interface PairwiseProblem {
  readonly dtype: PairwiseDType;
  /** Sizes to choose a plan by. A plan is right for every size, fast for sizes like these. */
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
  /** In the variables `a`, `b` and optionally `p` and parameters; must be 0 for a = b = 0. */
  readonly inner: RealExpr;
  /** In the variable `s` and optionally `p` and parameters. */
  readonly outer: RealExpr;
  readonly reduce: Reduce;
  /** Layouts of a (batch, m, k), b (batch, n, k) and out (batch, m, n). */
  readonly layoutA: Layout;
  readonly layoutB: Layout;
  readonly layoutOut: Layout;
  /** Base pointer, leading stride and batch stride are all multiples of 16 bytes. */
  readonly alignedA: boolean;
  readonly alignedB: boolean;
  readonly alignedOut: boolean;
  /** The value of the run-time scalar `p`, where the expressions use it; a hint like the sizes. */
  readonly p?: number | undefined;
  /**
   * Names of further variables of the expressions, each a number of the launch or one value per batch
   * entry in device memory. Where 'p' is among them, it takes the place of the scalar `p`.
   */
  readonly parameters?: readonly string[] | undefined;
  /**
   * b is a, so that m = n: each pair is computed once and stored twice, and the result is exactly
   * symmetric. `inner` must not change when a and b are exchanged.
   */
  readonly symmetric?: boolean | undefined;
  /** Regularises a diagonal of the output, in a last step of its own. */
  readonly diagonal?: DiagonalMode | undefined;
  /**
   * The inner products of the rows, less a common centre, are where the output goes, and their squared norms in `normsA` and `normsB`: what
   * is left is the second phase (`chooseProducts` tells where that is quicker). On a GPU alone.
   */
  readonly products?: ProductsConfig | undefined;
}

/** The parts of a plan that only some problems have; absent where the problem lacks them. */
export interface PlanExtras {
  /** Names of the launch's parameters besides the scalar p. */
  readonly parameters?: readonly string[] | undefined;
  readonly symmetric?: true | undefined;
  readonly diagonal?: DiagonalMode | undefined;
}

/** What a plan keeps of a problem's optional parts. */
export function planExtras({ parameters = [], symmetric, diagonal }: PairwiseProblem): PlanExtras {
  return {
    parameters: parameters.length === 0 ? undefined : Object.freeze([...parameters]),
    symmetric: symmetric === true ? symmetric : undefined,
    diagonal,
  };
}
