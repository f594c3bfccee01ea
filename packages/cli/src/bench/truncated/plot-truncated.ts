import { logPlot } from '../plot.js';
import type { TruncatedRow } from './measure-truncated.js';

/** Of the pairs that are kept, as a part of the whole: the time that they may take is their share divided by it. */
export const LEAST_RATE = 0.6;

/** Pairs and time over the bandwidth, by those of the whole sum, as SVG. */
export function plotTruncated(rows: readonly TruncatedRow[], device: string): string {
  const [first] = rows;
  const { points = 0, dimensions = 0 } = first ?? {};
  const over = (y: (row: TruncatedRow) => number) =>
    rows.map((row) => ({ x: row.bandwidth, y: y(row) }));
  const all = points ** 2;
  return logPlot(
    `Truncated Gaussian sum, ${points} points, ${dimensions}-D, ${device}`,
    'bandwidth, in sides of the cube of the points',
    'share of the whole sum',
    [
      {
        name: 'pairs within the cutoff',
        group: 0,
        style: 'own',
        points: over((row) => row.pairsWithin / all),
      },
      { name: 'pairs kept', group: 1, style: 'own', points: over((row) => row.pairsKept / all) },
      {
        name: 'twice those within',
        group: 1,
        style: 'limit',
        points: over((row) => (2 * row.pairsWithin) / all),
      },
      { name: 'time', group: 2, style: 'own', points: over((row) => row.timeShare) },
      {
        name: 'pairs kept / 0.6',
        group: 2,
        style: 'limit',
        points: over((row) => row.pairsKept / all / LEAST_RATE),
      },
    ],
  );
}
