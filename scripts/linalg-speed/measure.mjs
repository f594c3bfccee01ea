// Speed of linear algebra on the CPU: blocked routines with one thread and two, with a LAPACK and without, and what a LAPACK computes of
// one large matrix. Prints a table of operations for each second of processor time, which a busy machine changes less than times
// by the clock, and writes all. `node scripts/linalg-speed/measure.mjs [--out FILE] [--calls N] [--n 200,500,1000,2000]`, after
// `pnpm build`.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    calls: { type: 'string', default: '7' },
    n: { type: 'string', default: '200,500,1000,2000' },
  },
});
const orders = values.n.split(',').map(Number);
const calls = Number(values.calls);
const SETTINGS = [
  { threads: 1, library: true },
  { threads: 1, library: false },
  { threads: 2, library: true },
  { threads: 2, library: false },
];

/** @typedef {{ routine: string, n: number, dtype: string, wallMs: number, processorMs: number, gflopPerSecond: number }} Row */

/** @type {(Row & { threads: number, library: boolean })[]} */
const results = [];
const loads = [loadavg()[0]];
for (const { threads, library } of SETTINGS) {
  const without = library ? {} : { MERCER_BLAS: 'none' };
  const env = { ...process.env, MERCER_CPU_THREADS: String(threads), ...without };
  const child = fork(new URL('routines.mjs', import.meta.url), { env });
  child.send({ orders, calls, spectra: library && threads === 1 });
  const [rows] = /** @type {[Row[]]} */ (await once(child, 'message'));
  child.disconnect();
  loads.push(loadavg()[0]);
  results.push(...rows.map((row) => ({ threads, library, ...row })));
}

const columns = SETTINGS.map(
  ({ threads, library }) =>
    `${threads} thread${threads > 1 ? 's' : ''}${library ? ', LAPACK' : ''}`,
);
console.log(
  `| routine | n | dtype | ${columns.join(' | ')} |\n| --- | --- | --- |${' --- |'.repeat(4)}`,
);
const keyOf = (/** @type {Row} */ { routine, n, dtype }) => `${routine} | ${n} | ${dtype}`;
for (const key of new Set(results.map(keyOf))) {
  const cells = SETTINGS.map(({ threads, library }) => {
    const row = results.find(
      (one) => keyOf(one) === key && one.threads === threads && one.library === library,
    );
    return row === undefined
      ? ''
      : `${row.gflopPerSecond.toFixed(1)} (${row.wallMs.toPrecision(3)} ms)`;
  });
  console.log(`| ${key} | ${cells.join(' | ')} |`);
}

if (values.out !== undefined) {
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.versions.node };
  const command = `node scripts/linalg-speed/measure.mjs --out ${values.out} --calls ${values.calls} --n ${values.n}`;
  const measured =
    'least time by the clock and least processor time of all threads over whole calls; gflopPerSecond is operations by processor time';
  const report = { schema: 1, suite: 'linalg-cpu', command, measured, machine, loads, results };
  writeFileSync(values.out, `${JSON.stringify(report, undefined, 2)}\n`);
}
