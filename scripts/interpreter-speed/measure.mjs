// The interpreter's speed beside that of compiled kernels: two processes, one for each executor, make the same calls in turns. Prints
// a table and writes all times. `node scripts/interpreter-speed/measure.mjs [--wasm] [--out FILE] [--rounds N] [--threads N]`, after
// `pnpm build`.
// With `--wasm` that of WebAssembly beside the native interpreter at x86-64-v2, both on one thread: a `share` is the part of the native speed.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { ROWS } from './rows.mjs';

const { values } = parseArgs({
  options: {
    wasm: { type: 'boolean', default: false },
    out: { type: 'string' },
    rounds: { type: 'string', default: '15' },
    threads: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const ALONE = { MERCER_CPU_THREADS: '1' };
/** @type {Record<string, string>} */
const THREADS = values.threads === undefined ? {} : { MERCER_CPU_THREADS: values.threads };
/** The slower one last. */
const MODES = values.wasm
  ? [
      { mode: 'interpreted', env: { ...ALONE, MERCER_CPU_LEVEL: 'x86-64-v2' } },
      { mode: 'wasm', env: ALONE },
    ]
  : [
      { mode: 'compiled', env: THREADS },
      { mode: 'interpreted', env: THREADS },
    ];

const children = MODES.map(({ mode, env }) =>
  fork(new URL('executor.mjs', import.meta.url), {
    env: { ...process.env, ...env, MERCER_CPU: mode },
  }),
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
console.log(
  `| work | ${MODES.map(({ mode }) => mode).join(' | ')} | share |\n| --- | --- | --- | --- |`,
);
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
  const [fast, slow] = times.map((all) => {
    const sorted = ordered(all);
    return { least: round(sorted[0] ?? NaN), median: round(sorted[sorted.length >> 1] ?? NaN) };
  });
  if (fast === undefined || slow === undefined) throw new Error('an executor is missing');
  const share = round(fast.least / slow.least);
  results.push({
    name,
    [`${MODES[0]?.mode}Ms`]: fast,
    [`${MODES[1]?.mode}Ms`]: slow,
    share,
  });
  console.log(
    `| ${name} | ${fast.least.toFixed(2)} ms | ${slow.least.toFixed(2)} ms | ${share.toFixed(2)} |`,
  );
}
for (const child of children) child.disconnect();
const shares = ordered(results.map(({ share }) => share));
const summary = { least: shares[0], median: shares[shares.length >> 1], most: shares.at(-1) };
console.log(`shares: ${summary.least} to ${summary.most}, the median ${summary.median}`);

if (values.out !== undefined) {
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.versions.node };
  const command = `node scripts/interpreter-speed/measure.mjs ${values.wasm ? '--wasm ' : ''}--out ${values.out} --rounds ${rounds}${values.threads === undefined ? '' : ` --threads ${values.threads}`}`;
  const measured = 'least and median of the times of whole calls; the executors took turns';
  writeFileSync(
    values.out,
    `${JSON.stringify({ schema: 1, suite: values.wasm ? 'wasm' : 'interpreter', command, measured, machine, shares: summary, results }, undefined, 2)}\n`,
  );
}
