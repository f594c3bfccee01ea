// What README files and documents state out of bench/results, block by block.
import { table } from './blocks.mjs';
import {
  cells,
  formatMs,
  measurement,
  operation,
  pick,
  ratio,
  ratios,
  reduction,
  sorted,
  time,
} from './measurements.mjs';

import { PERFORMANCE } from './performance-claims.mjs';
import { errorOf, float32, gain, linearRows, norm, ours, theirs, work } from './columns.mjs';

/** @typedef {{ file: string, name: string, text: () => string }} Claim */

/** @param {string} name @param {readonly string[]} operations */
const only = (name, operations) =>
  cells(name).filter((cell) => operations.includes(cell.operation));

/** The start of programs, before and after, medians in ms. @param {string} what @param {'wallMs' | 'userCpuMs'} clock */
function start(what, clock) {
  const { results } = measurement('start-time');
  return ['before', 'after'].map((project) => {
    const row = results.find(
      (/** @type {any} */ one) => one.project === project && one.what === what,
    );
    return row[clock].median.toFixed(0);
  });
}

/** @returns {{ shares: number[], count: number }} the interpreter's shares of compiled speed, sorted */
function interpreterShares() {
  const { results } = measurement('cpu-interpreter');
  const shares = results
    .map((/** @type {{ share: number }} */ row) => row.share)
    .sort((/** @type {number} */ a, /** @type {number} */ b) => a - b);
  return { shares, count: shares.length };
}
const median = (/** @type {number[]} */ values) =>
  (Number(values[Math.floor((values.length - 1) / 2)]) +
    Number(values[Math.ceil((values.length - 1) / 2)])) /
  2;

/** @type {Claim[]} */
export const CLAIMS = [
  {
    file: 'README.md',
    name: 'linear algebra',
    text() {
      const rows = linearRows();
      /** @param {string} name @param {number} n */
      const times = (name, n) => {
        const row = rows.find(({ single }) => single.operation === name && single.n === n);
        if (!row) throw new Error(`no ${name} of order ${n}`);
        return `${formatMs(row.single.ms.median)} against ${formatMs(row.torch(row.single))}`;
      };
      return `Beside torch 2.11 on an H200, float32: four systems of order 4096 by Cholesky ${times('solveCholesky', 4096)}, sixteen
eigenproblems of order 1024 ${times('eigh', 1024)}, one system of order 8192 by LU ${times('solveLU', 8192)}
([all](docs/performance.md#linear-algebra-on-an-h200)).`;
    },
  },
  {
    file: 'README.md',
    name: 'GPU report',
    text() {
      const { kernels, tests, devices, driver, date } = measurement('gpu');
      return `On ${date.slice(0, 10)}, ${[...new Set(devices)].join(', ')}, driver ${driver}: ${kernels.length} kernels compiled and loaded;
${tests.passed} GPU tests passed, ${tests.failed} failed, ${tests.skipped} were skipped.`;
    },
  },
  {
    file: 'README.md',
    name: 'distances',
    text: () =>
      table(
        [
          ['p', norm],
          ours,
          theirs('Kermac', 'kermac.cdist'),
          theirs('torch.cdist 2.11', 'torch.cdist'),
        ],
        cells('h200-cdist-large'),
      ),
  },
  {
    file: 'README.md',
    name: 'kernel matrices',
    text: () =>
      table(
        [['', operation], ours, theirs('Kermac 0.1.2', 'kermac')],
        pick('h200-kermac', [
          { operation: 'laplace' },
          { operation: 'gaussian' },
          ...[1, 1.3, 2].map((p) => ({ operation: 'weightedDifferences', p, m: 1024 })),
        ]),
      ),
  },
  {
    file: 'README.md',
    name: 'reductions on a CPU',
    text: () =>
      table(
        [work, ours, theirs('KeOps 2.3', 'pykeops'), theirs('torch 2.13, dense', 'torch')],
        pick('cpu-keops', [
          { operation: 'gaussianSum', dtype: float32, m: 10000, d: 3 },
          { operation: 'gaussianSum', d: 100 },
          { operation: 'logSumExp' },
          { operation: 'nearest', d: 10 },
        ]),
      ),
  },
  {
    file: 'README.md',
    name: 'reductions on an H200',
    text: () =>
      table(
        [
          work,
          ours,
          errorOf(),
          theirs('KeOps 2.3', 'pykeops'),
          errorOf('pykeops'),
          ['torch 2.11, dense', (cell) => time(cell, 'torch') || 'does not fit'],
          errorOf('torch'),
          gain,
        ],
        [
          ...pick('h200-keops', [
            { operation: 'gaussianSum', m: 10000, d: 3 },
            { operation: 'gaussianSum', m: 1e6, d: 3 },
            { operation: 'gaussianSum', dtype: 'float64' },
            { operation: 'logSumExp' },
            { operation: 'gaussianGradient', d: 3 },
            { operation: 'gaussianSum', d: 100 },
            { operation: 'gaussianSum', d: 128 },
            { operation: 'gaussianSum', d: 1000 },
            { operation: 'nearest', d: 3 },
            { operation: 'nearest', d: 100, n: 1e5 },
          ]),
          ...pick('h200-keops-curves', [{ operation: 'kMeans', m: 10000 }]),
        ],
      ),
  },
  {
    file: 'README.md',
    name: 'what the reductions show',
    text() {
      const all = cells('h200-keops');
      const both = [...all, ...cells('h200-keops-curves')];
      const sums = all.filter((cell) => cell.operation === 'gaussianSum' && cell.m <= 10000);
      const long = all.filter(({ d, m }) => d === 3 && m >= 1e5);
      const dense = sorted(all.filter((cell) => ratio(cell, 'torch') < 1));
      return `KeOps takes ${ratios(both, 'pykeops')} times as long over all rows of both files: ${ratios(sums, 'pykeops')} times for Gaussian sums of 1e4 rows and
fewer, ${ratios(only('h200-keops', ['nearest']), 'pykeops')} times for the 10 nearest, ${ratios(long, 'pykeops')} times for sums over 1e5 rows and more with D = 3. torch's dense products are quicker
in ${dense.map((cell) => `${reduction(cell)} (${time(cell, 'torch')})`).join(', and in ')}; tensor cores are not used here yet.`;
    },
  },
  ...['README.md', 'docs/performance.md'].map((file) => ({
    file,
    name: 'interpreter',
    text() {
      const { shares, count: kinds } = interpreterShares();
      return `The interpreter has ${shares[0]?.toFixed(2)} to ${shares.at(-1)?.toFixed(2)} of the speed of compiled kernels in ${kinds} kinds of work, the median ${median(shares).toFixed(2)}
([table](${file === 'README.md' ? '' : '../'}packages/cpu-runtime/README.md#the-interpreter)).`;
    },
  })),
  {
    file: 'packages/cpu-runtime/README.md',
    name: 'interpreter beside compiled kernels',
    text: () =>
      table(
        [
          ['work', ({ name }) => name],
          ['compiled', ({ compiledMs }) => formatMs(compiledMs.least)],
          ['interpreted', ({ interpretedMs }) => formatMs(interpretedMs.least)],
          ['share', ({ share: part }) => part.toFixed(2)],
        ],
        /** @type {any[]} */ (measurement('cpu-interpreter').results),
      ),
  },
  {
    file: 'docs/adr/0025-published-packages-are-bundled.md',
    name: 'start of programs',
    text() {
      const [node] = start('node alone', 'wallMs');
      const [before, after] = start("import '@mercer/core'", 'wallMs');
      const [userBefore, userAfter] = start("import '@mercer/core'", 'userCpuMs');
      const [helpBefore, helpAfter] = start('mercer --help', 'wallMs');
      return `**Measured** ([bench/results/start-time.json](../../bench/results/start-time.json), two shared cores, Node 20, medians of 20 processes, Node's own start of ${node} ms
included): \`import '@mercer/core'\` ${before} before, ${after} ms after (user CPU ${userBefore}, ${userAfter}), \`mercer --help\` ${helpBefore} and ${helpAfter} ms.`;
    },
  },
  {
    file: 'docs/adr/0027-first-calls-are-interpreted.md',
    name: 'first calls',
    text() {
      /** @type {any[]} */
      const rows = measurement('first-calls').results;
      /** @param {string} way */
      const column = (way) => (/** @type {any} */ row) => formatMs(row[way].firstMs.median);
      return table(
        [
          ['first call', ({ call }) => call],
          ['waits for the compiler', column('waitsForCompiler')],
          ['interpreted first', column('interpretedFirst')],
          ['in the store', column('inTheStore')],
        ],
        rows,
      );
    },
  },
  ...PERFORMANCE,
];
