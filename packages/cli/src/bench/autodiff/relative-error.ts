/** The largest difference by the largest true value; infinite where something is no number. */
export function relativeError(found: ArrayLike<unknown>, truth: ArrayLike<number>): number {
  let difference = 0;
  let largest = 0;
  for (let k = 0; k < truth.length; k++) {
    const right = truth[k] ?? NaN;
    const off = Math.abs(Number(found[k]) - right);
    if (Number.isNaN(off)) return Infinity;
    difference = Math.max(difference, off);
    largest = Math.max(largest, Math.abs(right));
  }
  return difference === 0 ? 0 : difference / largest;
}
