// What the README shows of speed: its table, and the picture made of some of its rows.
import { linearRows } from './columns.mjs';
import { pick, reduction } from './measurements.mjs';

/**
 * @typedef {import('./measurements.mjs').Cell} Cell
 * @typedef {{ work: string, ms: number, peer: { name: string, ms: number } | undefined, torch: number | undefined, drawn: boolean }} SpeedRow
 */

/** @param {string} work @param {Cell | undefined} cell @param {string} peer @param {string} name @param {boolean} drawn @returns {SpeedRow} */
function row(work, cell, peer, name, drawn) {
  const ms = cell?.peers[peer]?.ms?.median;
  if (!cell || ms === undefined) throw new Error(`no measurement of ${work} beside ${name}`);
  const torch = cell.peers.torch?.ms?.median;
  return { work, ms: cell.ms.median, peer: { name, ms }, torch, drawn };
}

/** @returns {SpeedRow[]} */
export function speedRows() {
  const distances = pick('h200-cdist-large', [{ p: 1 }, { p: 1.3 }, { p: 2 }]);
  const shape = '30000 x 30000 x 1024';
  const [gradient] = pick('h200-kermac', [{ operation: 'weightedDifferences', p: 1, m: 1024 }]);
  const reductions = pick('h200-keops', [
    { operation: 'gaussianSum', m: 10000, d: 3 },
    { operation: 'gaussianSum', m: 1e6, d: 3 },
    { operation: 'gaussianSum', d: 1000 },
    { operation: 'logSumExp' },
    { operation: 'nearest', d: 3 },
  ]);
  const eigen = linearRows().find(({ single }) => single.operation === 'eigh' && single.n === 1024);
  if (!eigen) throw new Error('no eigh of order 1024');
  const drawn = ['Gaussian sum, D = 3, 1e4 x 1e4', '10 nearest, D = 3, 1e4 x 1e6'];
  return [
    ...distances.map((cell) =>
      row(`distances, p = ${cell.p}, ${shape}`, cell, 'kermac', 'Kermac', cell.p !== 1.3),
    ),
    row('weightedDifferences, p = 1, 1024, 1024, 16, 4096', gradient, 'kermac', 'Kermac', false),
    ...reductions.map((cell) =>
      row(reduction(cell), cell, 'pykeops', 'KeOps', drawn.includes(reduction(cell))),
    ),
    {
      work: `${eigen.single.batch} eigenproblems of order 1024`,
      ms: eigen.single.ms.median,
      peer: undefined,
      torch: eigen.torch(eigen.single),
      drawn: true,
    },
  ];
}
