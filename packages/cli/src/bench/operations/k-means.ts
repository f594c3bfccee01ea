import {
  countRows,
  empty,
  formula,
  genred,
  map,
  scatterAdd,
  scope,
  type Tensor,
} from '@mercer/core';
import { LLOYD_ITERATIONS, type ReductionCell } from '../cells.js';
import { points } from './points.js';
import type { BenchCall, Float, ReductionOperation, Result, Results } from './operation.js';
import { kMeansErrors } from './k-means-errors.js';
import { pairSlots, reductionMs } from './reduction-floor.js';

const { div, gt, select, variable } = formula;

/** The mean of a centroid's points; one without points stays where it is. */
const MEAN = select(
  gt(variable('count'), 0),
  div(variable('sum'), variable('count')),
  variable('old'),
);

/** Ten iterations of Lloyd's algorithm: three results, the centroids before the last update, its labels, the centroids after. */
export const kMeansOperation: ReductionOperation = {
  text: `K-means: ${LLOYD_ITERATIONS} iterations of Lloyd's algorithm on m points x from n centroids y, each the nearest centroid of every point and then the mean of the points of every centroid; points have variance 1 / D in each coordinate`,
  operands: ({ m, n, d }) => [
    { name: 'x', shape: [m, d] },
    { name: 'y', shape: [n, d] },
  ],
  results: ({ m, n, d }) => [
    [n, d],
    [m, 1],
    [n, d],
  ],
  resultBytes: 4,
  makeData: points,
  prepare: prepareKMeans,
  arithmeticMs: (cell, limits) => reductionMs(cell, pairSlots.kMeans, limits),
  errors: kMeansErrors,
};

/** What an iteration needs beside its points, made once. */
interface Workspace {
  readonly assign: Assign;
  readonly sums: Float;
  readonly counts: Tensor<'int32'>;
  /** The counts as a column. */
  readonly column: Tensor<'int32'>;
}

type Assign = (
  args: readonly Float[],
  options: { readonly out: Tensor<'int32'> },
) => Tensor<'int32'>;

async function prepareKMeans(
  { dtype, m, n, d, batch }: ReductionCell,
  [x, y]: readonly Float[],
): Promise<BenchCall<Result>> {
  if (x === undefined || y === undefined) throw new RangeError('kMeans has two operands');
  const { device } = x;
  // no batch axis where there is one entry, as the bench places it
  const lead = x.shape.slice(0, -2);
  const made = genred('SqDist(x, y)', [`x = Vi(${d})`, `y = Vj(${d})`], {
    reduction: 'ArgMin',
    axis: 'j',
  });
  const assign = await made.prepare(x, y);
  const sums = empty([n, d], { dtype, device });
  const counts = empty([n], { dtype: 'int32', device });
  const column = counts.reshape([n, 1]);
  const workspace: Workspace = { assign: assign, sums, counts, column };
  return {
    plan: `${assign.plan.summary}; scatterAdd, countRows`,
    run: async (out) => {
      const results = out ?? [
        empty([...lead, n, d], { dtype, device }),
        empty([...lead, m, 1], { dtype: 'int32', device }),
        empty([...lead, n, d], { dtype, device }),
      ];
      const entries = lead.length === 0 ? [undefined] : Array.from({ length: batch }, (_, e) => e);
      for (const entry of entries) {
        await scope(async (s) => {
          const of = (tensor: Result): Result =>
            s.track(entry === undefined ? tensor.view() : tensor.slice(entry));
          await lloyd([of(x), of(y)] as Float[], results.map(of), workspace);
        });
      }
      return results;
    },
    dispose: () => {
      for (const tensor of [sums, counts, column]) tensor.dispose();
    },
  };
}

/** All iterations of one batch entry; each writes the centroids where the one before the last wrote them. */
async function lloyd(
  [x, y]: readonly Float[],
  [before, labels, after]: Results<Result>,
  { assign, sums, counts, column }: Workspace,
): Promise<void> {
  const places = [after, before] as readonly Float[];
  const out = labels as Tensor<'int32'>;
  if (x === undefined || y === undefined) return;
  const index = out.reshape([-1]);
  let centroids = y;
  for (let i = 1; i <= LLOYD_ITERATIONS; i++) {
    assign([x, centroids], { out });
    await scatterAdd(x, index, sums.shape[0] ?? 0, { out: sums });
    await countRows(index, counts.size, { out: counts });
    const next = places[(LLOYD_ITERATIONS - i) % 2];
    if (next === undefined) return;
    centroids = await map(MEAN, { sum: sums, count: column, old: centroids }, { out: next });
  }
  index.dispose();
}
