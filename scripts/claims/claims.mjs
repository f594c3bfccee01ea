// What README files and documents state out of bench/results, block by block.
import path from 'node:path';
import { table } from './blocks.mjs';
import { formatMs, measurement } from './measurements.mjs';
import { PERFORMANCE } from './performance-claims.mjs';
import { RELEASE } from './release-claims.mjs';
import { speedRows } from './speed.mjs';

/** @typedef {{ file: string, name: string, text: () => string }} Claim */

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

/** @param {string} name of a measurement @returns {{ shares: number[], count: number }} one executor's shares of another's speed, sorted */
function sharesOf(name) {
  const { results } = measurement(name);
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
    name: 'speed',
    text: () =>
      table(
        [
          ['on an H200, float32', ({ work }) => work],
          ['Mercer', ({ ms }) => formatMs(ms)],
          ['Kermac or KeOps', ({ peer }) => (peer ? `${formatMs(peer.ms)} (${peer.name})` : '')],
          ['torch', ({ torch }) => (torch ? formatMs(torch) : '')],
        ],
        speedRows(),
      ),
  },
  {
    file: 'bench/README.md',
    name: 'GPU report',
    text() {
      const { kernels, tests, devices, driver, date } = measurement('gpu');
      return `On ${date.slice(0, 10)}, ${[...new Set(devices)].join(', ')}, driver ${driver}: ${kernels.length} kernels compiled and loaded;
${tests.passed} GPU tests passed, ${tests.failed} failed, ${tests.skipped} were skipped.`;
    },
  },
  ...['docs/platforms.md', 'docs/performance/reductions.md'].map((file) => ({
    file,
    name: 'interpreter',
    text() {
      const { shares, count: kinds } = sharesOf('cpu-interpreter');
      const up = path.relative(path.dirname(file), '.');
      return `The interpreter has ${shares[0]?.toFixed(2)} to ${shares.at(-1)?.toFixed(2)} of the speed of compiled kernels in ${kinds} kinds of work, the median ${median(shares).toFixed(2)}
([table](${up}/packages/cpu-runtime/README.md#the-interpreter)).`;
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
    file: 'docs/adr/0068-the-cpu-runtime-in-webassembly.md',
    name: 'speed of WebAssembly',
    text() {
      const { shares, count } = sharesOf('cpu-wasm');
      return `**Measured**, on one thread beside the native interpreter at x86-64-v2 ([bench/results/cpu-wasm.json](../../bench/results/cpu-wasm.json), AMD EPYC, Node 20, least of 15 calls): ${shares[0]?.toFixed(2)} to
${shares.at(-1)?.toFixed(2)} of its speed in ${count} kinds of work, the median ${median(shares).toFixed(2)}. The goal was half.`;
    },
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
  ...RELEASE,
];
