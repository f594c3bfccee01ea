import { argSort, take, type Tensor, type WorkOptions } from '@mercer/tensor';
import { assertTensor } from '@mercer/tensor/operation';
import { MercerError } from '@mercer/tensor';
import { readOptions } from '../call-options.js';
import { checkLabels, WORK_OPTION_NAMES } from './cluster-data.js';

/** What {@link sortClusters} gives. */
export interface SortedClusters<R> {
  /** The rows in the order of their clusters: a tensor, or a list of them, as they were given. */
  readonly rows: R;
  readonly labels: Tensor<'int32'>;
  /** Where each row was, int32: `take(y, order, 0)` brings others into this order. */
  readonly order: Tensor<'int32'>;
}

/**
 * Rows of tensors in the order of their clusters, each of which is then a range of rows: KeOps' `sort_clusters`. Rows of a cluster keep
 * their order.
 *
 * @param rows a tensor (N, ..), or a list of tensors
 * @param labels (N), int32
 * @throws MercerError DTYPE_MISMATCH, SHAPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 *
 * @example
 * ```ts
 * import { sortClusters } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const x = await tensor([[5], [1], [6]], where);
 * const { rows, order } = await sortClusters(x, await tensor(Int32Array.of(1, 0, 1), where));
 * console.log(await rows.toNested(), await order.toNested()); // [ [ 1 ], [ 5 ], [ 6 ] ] [ 1, 0, 2 ]
 * ```
 */
export async function sortClusters<const R extends Tensor | readonly Tensor[]>(
  rows: R,
  labels: Tensor<'int32'>,
  options?: WorkOptions,
): Promise<SortedClusters<R>> {
  const what = 'sortClusters';
  const work = readOptions(what, options, WORK_OPTION_NAMES);
  const given: readonly Tensor[] = Array.isArray(rows) ? rows : [rows as Tensor];
  for (const one of given) assertTensor(one, `${what}: the rows`);
  checkLabels(what, labels, given[0]?.shape[0]);
  for (const one of given) {
    if (one.shape[0] === labels.size) continue;
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: the labels are ${labels.label} and a tensor is ${one.label}. Pass a label for each row.`,
    );
  }
  const made: Tensor[] = [];
  try {
    const order = await argSort(labels, 0, work);
    made.push(order);
    for (const one of [labels, ...given]) made.push(await take(one, order, 0, work));
    const [, sorted, ...all] = made;
    return {
      rows: (Array.isArray(rows) ? all : all[0]) as unknown as R,
      labels: sorted as Tensor<'int32'>,
      order,
    };
  } catch (error) {
    for (const one of made) one.dispose();
    throw error;
  }
}
