/**
 * What a map-reduce plan takes. A formula beyond it is an error that names the limit: every operation on
 * every component is written out, and the text must compile in a fraction of a second.
 */
export const MAP_REDUCE_LIMITS = Object.freeze({
  /** Scalar operations of the formula and the weight at one pair of rows (`unrolledSize`). */
  operations: 1024,
  /** Components of all inputs that follow i; the same for j, and for parameters. */
  components: 128,
  /** Numbers that a row's running result has: components of the result, times K for the K smallest. */
  results: 64,
});
