/** The matrices of an operand that differ, as one batch. */
export interface SingleBatch {
  /** How many differ. */
  readonly count: number;
  /** Elements from one to the next. */
  readonly stride: number;
  /** For each batch axis of the call: how many of them a step along it passes; 0 where the operand repeats. */
  readonly steps: readonly number[];
}

/** undefined where there is no one stride that leads through all of them. */
export function singleBatch(
  batchShape: readonly number[],
  batchStrides: readonly number[],
): SingleBatch | undefined {
  const steps = batchShape.map(() => 0);
  let [count, stride] = [1, 0];
  for (let axis = batchShape.length - 1; axis >= 0; axis--) {
    const [extent = 1, own = 0] = [batchShape[axis], batchStrides[axis]];
    if (extent === 1 || own === 0) continue;
    if (count === 1) stride = own;
    else if (own !== stride * count) return undefined;
    steps[axis] = count;
    count *= extent;
  }
  return { count, stride, steps };
}
