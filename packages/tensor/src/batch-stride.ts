/**
 * Collapses the batch axes of an operand into one stride, in elements: 0 when the operand is the same for every batch
 * entry, undefined when one stride cannot describe it (then it has to be materialised).
 *
 * @param shape batch shape after broadcasting
 * @param strides strides of the operand over that shape (0 on a broadcast axis)
 */
export function collapseBatchStride(
  shape: readonly number[],
  strides: readonly number[],
): number | undefined {
  let stride: number | undefined;
  let expected = 0;
  for (let axis = shape.length - 1; axis >= 0; axis--) {
    const extent = shape[axis] ?? 1;
    if (extent === 1) continue;
    const current = strides[axis] ?? 0;
    if (stride === undefined) stride = current;
    else if (current !== expected) return undefined;
    expected = current * extent;
  }
  return stride ?? 0;
}

/**
 * The stride, in elements, of an operand with batch axes of its own over a batch that these broadcast to: 0 when it is the
 * same for every batch entry, undefined when one stride cannot describe it.
 */
export function strideOverBatch(
  shape: readonly number[],
  strides: readonly number[],
  batchShape: readonly number[],
): number | undefined {
  const missing = batchShape.length - shape.length;
  const spread = batchShape.map((_, axis) => {
    const own = axis - missing;
    return own < 0 || shape[own] === 1 ? 0 : (strides[own] ?? 0);
  });
  return collapseBatchStride(batchShape, spread);
}
