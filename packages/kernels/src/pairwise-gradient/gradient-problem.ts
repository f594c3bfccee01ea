import type { PairwiseDType } from '../pairwise/problem.js';
import type { ForwardExpressions } from './scaled-norm.js';

/**
 * The problem of a gradient kernel of `out[l,m,n] = outer(reduce_k inner(a[l,m,k], b[l,n,k]))` under
 * an upstream gradient G (batch, m, n). With respect to rows it is dA (batch, m, k); the gradient of
 * b is the same problem with the operands exchanged. With respect to parameters it is one number per
 * parameter and batch entry.
 */
export interface PairwiseGradientProblem extends ForwardExpressions {
  readonly dtype: PairwiseDType;
  /** 'rows', or the parameters (or 'p', the run-time scalar) whose gradients are wanted together. */
  readonly wrt: 'rows' | readonly string[];
  /** Sizes to choose a plan by. A plan is right for every size, fast for sizes like these. */
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
  /** b is a and the kernel symmetric: rows take G[m,n] + G[n,m], so that one pass gives all of dA. */
  readonly symmetric?: boolean;
  /** Elements with n = m + diagonalOffset do not depend on the inputs: G counts as 0 there. */
  readonly maskDiagonal?: boolean;
}

/** What sizes are chosen by: operations of the heaviest expression and values kept per pair. */
export interface GradientWorkload {
  readonly problem: PairwiseGradientProblem;
  readonly ops: number;
  readonly values: number;
}
