/** @typedef {import('../../../scripts/mutants/run.mjs').Mutant} Mutant */

const TEST = '../lazy/src/clusters/clusters.test.ts';
const KEPT = { promise: 'a truncated sum keeps every pair that is near', test: TEST };
const TABLES = { promise: 'kernels follow tables of ranges that are right', test: TEST };
const MEANS = { promise: 'k-means ends with a cluster for each centroid', test: TEST };
const GRID = { promise: 'cells have their own labels', test: TEST };

/** @type {readonly Mutant[]} */
export const clusters = [
  {
    ...KEPT,
    name: 'boxes that lie below are not seen',
    file: '../../lazy/src/clusters/cluster-boxes.ts',
    find: 'return above.add(below).sqnorm2()',
    replace: 'return above.add(below.mul(0)).sqnorm2()',
    pattern: 'keep every near pair',
  },
  {
    ...KEPT,
    name: 'the last cluster of a run is left out',
    file: '../../lazy/src/clusters/truncated-ranges.ts',
    find: "const END = min(add(START, variable('rows')), variable('count'));",
    replace: 'const END = START;',
    pattern: 'keep every near pair',
  },
  {
    ...KEPT,
    name: 'the comparison of boxes has no room for rounding, and ends before the cutoff',
    file: '../../lazy/src/clusters/truncated-ranges.ts',
    find: '(cutoff * (1 + ((x.shape[1] ?? 1) + 8) * unit)) ** 2',
    replace: '(cutoff * (1 - 1e-7)) ** 2',
    pattern: 'meet at the cutoff itself',
  },
  {
    ...TABLES,
    name: 'a table is followed whatever it says',
    file: '../../tensor/src/map-reduce/range-tables.ts',
    find: '(knownOf(spans)?.reducedRows ?? Infinity) <= reducedRows &&',
    replace: '',
    pattern: 'checks tables that others made',
  },
  {
    ...TABLES,
    name: 'both directions are the same',
    file: '../../lazy/src/clusters/from-matrix.ts',
    find: "await placed(mask, 'i', { kept: listJ, reduced: listI, table: i }, work)",
    replace: "await placed(mask, 'j', { kept: listI, reduced: listJ, table: j }, work)",
    pattern: 'is what the host makes',
  },
  {
    ...MEANS,
    name: 'empty clusters stay where they are',
    file: '../../lazy/src/clusters/k-means.ts',
    find: 'if (empties > 0) {',
    replace: 'if (empties > Infinity) {',
    pattern: 'gives an empty cluster',
  },
  {
    ...MEANS,
    name: 'all empty clusters take one row',
    file: '../../lazy/src/clusters/k-means.ts',
    find: '(flag ? next++ : 0)',
    replace: '(flag ? next : 0)',
    pattern: 'gives an empty cluster',
  },
  {
    ...MEANS,
    name: 'first centroids are drawn whatever their distance',
    file: '../../lazy/src/clusters/k-means.ts',
    find: 'const wide = s.track(await weights.cast(',
    replace: 'const wide = s.track(await weights.mul(0).add(1).cast(',
    pattern: 'draws far rows',
  },
  {
    ...GRID,
    name: 'keys beyond float64 are not made smaller',
    file: '../../lazy/src/clusters/grid-cluster.ts',
    find: 'const isLarge = cells * count > MOST_CELLS;',
    replace: 'const isLarge = cells * count > Infinity;',
    and: { find: 'if (cells * count > MOST_CELLS) {', replace: 'if (cells * count > Infinity) {' },
    pattern: 'tells cells apart',
  },
  {
    promise: 'tables of ranges are checked',
    name: 'a table that was written since is trusted',
    file: '../../tensor/src/map-reduce/range-tables.ts',
    find: 'return found?.writes === spans.storage.writes ? found : undefined;',
    replace: 'return found;',
    test: '../lazy/src/clusters/unusual-use.test.ts',
    pattern: 'a table of ranges that was written since',
  },
];
