// The interpreter's speed beside that of compiled kernels: two processes, one for each executor, make the same calls in turns. Prints
// a table and writes all times. `node scripts/interpreter-speed/measure.mjs [--out FILE] [--rounds N]`, after `pnpm build`.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { ROWS } from './rows.mjs';

const { values } = parseArgs({
  options: {
    out: { type: 'string' },
    rounds: { type: 'string', default: '15' },
  },
});
const rounds = Number(values.rounds);
const MODES = /** @type {const} */ (['compiled', 'interpreted']);

const children = MODES.map((mode) =>
  fork(new URL('executor.mjs', import.meta.url), { env: { ...process.env, MERCER_CPU: mode } }),
);
for (const child of children) {
  child.on('exit', (code) => {
    if (code !== 0) process.exit(1);
  });
}
await Promise.all(children.map((child) => once(child, 'message')));

/** @returns {Promise<number>} */
const ask = async (
  /** @type {import('node:child_process').ChildProcess} */ child,
  /** @type {number} */ row,
  prepare = false,
) => {
  child.send({ row, prepare });
  const [elapsed] = await once(child, 'message');
  return elapsed;
};

const ordered = (/** @type {number[]} */ times) => times.toSorted((a, b) => a - b);
const round = (/** @type {number} */ x) => Number(x.toPrecision(4));
const results = [];
console.log('| work | compiled | interpreted | share |\n| --- | --- | --- | --- |');
for (const [row, { name }] of ROWS.entries()) {
  /** @type {number[][]} */
  const times = MODES.map(() => []);
  for (const child of children) await ask(child, row, true);
  // the first round warms caches and the processor up
  for (let n = 0; n <= rounds; n++) {
    for (const [mode, child] of children.entries()) {
      for (let again = 0; again < 3; again++) {
        const elapsed = await ask(child, row);
        if (n > 0) times[mode]?.push(elapsed);
      }
    }
  }
  const [compiled, interpreted] = times.map((all) => {
    const sorted = ordered(all);
    return { least: round(sorted[0] ?? NaN), median: round(sorted[sorted.length >> 1] ?? NaN) };
  });
  if (compiled === undefined || interpreted === undefined)
    throw new Error('an executor is missing');
  const share = round(compiled.least / interpreted.least);
  results.push({ name, compiledMs: compiled, interpretedMs: interpreted, share });
  console.log(
    `| ${name} | ${compiled.least.toFixed(2)} ms | ${interpreted.least.toFixed(2)} ms | ${share.toFixed(2)} |`,
  );
}
for (const child of children) child.disconnect();

if (values.out !== undefined) {
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.versions.node };
  const command = `node scripts/interpreter-speed/measure.mjs --out ${values.out} --rounds ${rounds}`;
  const measured = 'least and median of the times of whole calls; the executors took turns';
  writeFileSync(
    values.out,
    `${JSON.stringify({ schema: 1, suite: 'interpreter', command, measured, machine, results }, undefined, 2)}\n`,
  );
}
