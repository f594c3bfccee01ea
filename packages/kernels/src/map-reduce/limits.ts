/**
 * What a map-reduce plan writes out: every operation on every component, so that the text compiles in a fraction
 * of a second. A formula beyond it is computed by loops over components.
 */
export const MAP_REDUCE_LIMITS = Object.freeze({
  /** Scalar operations of the formula and the weight at one pair of rows (`unrolledSize`). */
  operations: 1024,
  /** Components of all inputs that follow i; the same for j, and for parameters. */
  components: 128,
  /** Numbers that a row's running result has: components of the result, times K for the K smallest. */
  results: 64,
});

/** What the text with loops may compute for a pair of rows, so that it compiles in some seconds. */
export const PAIR_TILE_LIMITS = Object.freeze({
  /** Values of parts of the formula at a component: each is an operation of the text, or a few. */
  values: 4096,
});

/** What the interpreter's programs hold: there are no loops over components, so that memory of a task grows with the formula. */
export const INTERPRETER_LIMITS = Object.freeze({
  operations: 1 << 19,
  components: 1 << 17,
  results: 1 << 15,
  /** Components of a sum of which every pair has one at most. */
  bins: 1 << 18,
});
