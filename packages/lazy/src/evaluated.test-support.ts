import { evaluateReduction, type Reduction } from '@mercer/formula';
import { entryOf, together, type Numbers } from './reference.test-support.js';

/**
 * A reduction for every batch entry in float64, by the evaluator of formulas: for what is built from text, and for slopes of what is built.
 * `reference` knows nothing of the formula.
 */
export function evaluated(
  of: Reduction,
  data: readonly Numbers[],
  counts: { readonly rowsI: number; readonly rowsJ: number },
): {
  readonly value: readonly number[] | undefined;
  readonly index: readonly number[] | undefined;
} {
  const batch = together(data.map((one) => one.batch));
  const entries = batch.reduce((product, size) => product * size, 1);
  const rows = Array.from({ length: entries }, (_, entry) => {
    const own = data.map((one) => {
      const size = one.rows * one.dim;
      const at = entryOf(batch, one.batch, entry) * size;
      return one.values.subarray(at, at + size);
    });
    return evaluateReduction(of, own, counts);
  });
  const joined = (name: 'value' | 'index'): number[] | undefined =>
    rows.every((one) => one[name] !== undefined) && entries > 0
      ? rows.flatMap((one) => [...(one[name] ?? [])])
      : undefined;
  return { value: joined('value'), index: joined('index') };
}
