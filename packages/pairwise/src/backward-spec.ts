import type { DifferentiableSpec } from './differentiable-spec.js';
import type { PairwiseSpec } from './pairwise-spec.js';
import type { ParameterValue } from './run-kernel-options.js';

/** A forward call, and what of it is differentiated by. */
export interface BackwardSpec {
  readonly forward: PairwiseSpec;
  /** The same expressions with every exponent that is differentiated by as a variable. */
  readonly open: DifferentiableSpec;
  readonly wrt: readonly BackwardVariable[];
}

/** What a gradient is taken by. */
export interface BackwardVariable {
  readonly label: string;
  /** A parameter of the expressions by its name there; 'none' has no influence on the result. */
  readonly kind: 'a' | 'b' | 'scale' | 'regularization' | 'parameter' | 'none';
  readonly name: string | undefined;
  /** Of what is no rows: the gradient has its shape. */
  readonly value: ParameterValue | undefined;
}
