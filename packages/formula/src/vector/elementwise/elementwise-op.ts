import type { ApplyOp } from '../../build.js';
import type { DefinedOp } from './defined-ops.js';
import type { MathOp } from '../../functions/math-ops.js';

/**
 * What an elementwise node can do to its components: every operation of the scalar language
 * (comparisons give 1 or 0, `select` takes its second argument where the first is not 0), names for
 * scalar expressions, and the functions that the scalar language calls by name.
 */
export type ElementwiseOp = ApplyOp | DefinedOp | MathOp;
