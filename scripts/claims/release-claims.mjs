// What docs/release.md states of the published packages.
import { table } from './blocks.mjs';
import { measurement } from './measurements.mjs';

const FILE = 'docs/release.md';
const kB = (/** @type {number} */ bytes) => (bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0);

/** @typedef {{ packages: number, packed: number, unpacked: number }} Size */

/** @param {Size} a @param {Size} b @returns {Size} */
const added = (a, b) => ({
  packages: a.packages + b.packages,
  packed: a.packed + b.packed,
  unpacked: a.unpacked + b.unpacked,
});

/** @type {import('./claims.mjs').Claim[]} */
export const RELEASE = [
  {
    file: FILE,
    name: 'installed size',
    text() {
      const { core } = measurement('package-sizes');
      const { needed, addons, apart, others } = core;
      const MB = (/** @type {number} */ bytes) => (bytes / 1e6).toFixed(1);
      const rows = [
        ['packages of TypeScript and WebAssembly', needed],
        ['addons', addons],
        ['**both**', added(needed, addons)],
        ['apart: OpenBLAS and compiled kernels', apart],
        ['all that npm installs', added(added(needed, addons), apart)],
      ];
      const text = table(
        [
          ['what', ([what]) => what],
          ['packages', ([, { packages }]) => String(packages)],
          ['installed, MB', ([, { unpacked }]) => MB(unpacked)],
          ['to fetch, MB', ([, { packed }]) => MB(packed)],
        ],
        rows,
      );
      const foreign =
        others.length === 0
          ? 'None of the packages that are needed is of another project.'
          : `Of other projects: ${others.join(', ')}.`;
      return `${text}\n\n${foreign}`;
    },
  },
  {
    file: FILE,
    name: 'package sizes',
    text: () =>
      table(
        [
          ['package', ({ name }) => `\`${name}\``],
          ['to fetch', ({ packed }) => kB(packed)],
          ['installed', ({ unpacked }) => kB(unpacked)],
          ['code', ({ code }) => kB(code)],
          ['types', ({ types }) => kB(types)],
          ['native', ({ native }) => kB(native)],
        ],
        measurement('package-sizes').packages,
      ),
  },
  {
    file: FILE,
    name: 'start times',
    text() {
      const { results, measured, machine } = measurement('start-split');
      const starts = [...new Set(results.map((/** @type {any} */ { what }) => what))];
      const of = (/** @type {string} */ project) => (/** @type {any} */ what) => {
        const row = results.find(
          (/** @type {any} */ one) => one.project === project && one.what === what,
        );
        return `${row.wallMs.least.toFixed(0)} (${row.wallMs.median.toFixed(0)})`;
      };
      const rows = table(
        [
          ['start', (/** @type {any} */ what) => `\`${what}\``],
          ['one file for each entry', of('whole')],
          ['split by statements', of('statements')],
          ['with fewer imports', of('imports')],
        ],
        starts,
      );
      return `Milliseconds of a process by the clock, least (median); ${machine.cores} cores, ${machine.cpu}, Node ${machine.node}; ${measured} ([bench/results/start-split.json](../bench/results/start-split.json)).\n\n${rows}`;
    },
  },
  {
    file: FILE,
    name: 'smoke test',
    text() {
      const { results, date } = measurement('smoke-tarballs');
      const nodes = [...new Set(results.map((/** @type {any} */ { node }) => node))];
      const managers = [...new Set(results.map((/** @type {any} */ { manager }) => manager))];
      const verdict = (/** @type {any} */ node) => (/** @type {any} */ manager) => {
        const row = results.find(
          (/** @type {any} */ one) => one.node === node && one.manager === manager,
        );
        return row === undefined ? 'not supported' : row.ok ? 'works' : 'fails';
      };
      return `On ${date.slice(0, 10)}, Linux x64:\n\n${table([['', String], ...nodes.map((node) => /** @type {[string, (row: any) => string]} */ ([`Node ${node}`, verdict(node)]))], managers)}`;
    },
  },
];
