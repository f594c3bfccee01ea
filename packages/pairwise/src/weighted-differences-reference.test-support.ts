/** Float64 values of a batch of matrices (batch, rows, columns); a batch of 1 stands for every entry. */
export interface ReferenceBatch {
  readonly batch: number;
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
}

/** The operands of the oracle: a (K, M), b (N, K), c (O, K), d (N, M), each with its batch. */
export interface ReferenceOperands {
  readonly a: ReferenceBatch;
  readonly b: ReferenceBatch;
  readonly c: ReferenceBatch;
  readonly d: ReferenceBatch;
}

const at = ({ batch, rows, columns, values }: ReferenceBatch, l: number, i: number, j: number) =>
  values[((batch === 1 ? 0 : l) * rows + i) * columns + j] ?? NaN;

/** One element of the sum, and the published bound of its error in units of u. */
export interface ReferenceElement {
  readonly value: number;
  readonly bound: number;
}

/** One element in float64 straight from the definition, written without any of the code under test. */
export function referenceElement(
  { a, b, c, d }: ReferenceOperands,
  [l, o, n, m]: readonly [l: number, o: number, n: number, m: number],
  p: number,
): ReferenceElement {
  const count = b.columns;
  let value = 0;
  let bound = 0;
  for (let k = 0; k < count; k++) {
    const delta = at(d, l, n, m) - at(b, l, n, k);
    if (delta === 0) continue;
    const size = Math.abs(delta);
    const term = at(c, l, o, k) * at(a, l, k, m) * Math.sign(delta) * size ** (p - 1);
    value += term;
    const units = 2 * Math.sqrt(count) + 24;
    bound += Math.abs(term) * (units + Math.abs(p - 1) * (1 + 1.5 * Math.abs(Math.log2(size))));
  }
  return { value, bound };
}
