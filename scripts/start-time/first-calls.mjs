// What a program waits for at the first call of a kernel on the CPU, result in hand, and at the second: each in a process of its own with an
// empty store, waiting for the compiler (MERCER_CPU=compiled, what every first call did before docs/adr/0027) and not, and with
// the store that the former filled. Ways and calls take turns.
// `node scripts/start-time/first-calls.mjs [--out FILE] [--rounds N]`, after `pnpm build`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { workspacePackages } from '../lib/workspace.mjs';

const { values } = parseArgs({
  options: { out: { type: 'string' }, rounds: { type: 'string', default: '10' } },
});
const rounds = Number(values.rounds);
const core = workspacePackages().find(({ folder }) => folder === 'core');
if (core === undefined) throw new Error('there is no package core');

/** Calls by name, of points x and y (500, 16). */
const CALLS = {
  'distances p = 3': 'cdist(x, y, { p: 3 })',
  'distances p = 1.3': 'cdist(x, y, { p: 1.3 })',
  'Gaussian of distances': 'runKernel(kernels.gaussian, x, y, { bandwidth: 3 })',
  'Gaussian sums': 'lazyI(x).sqdist(lazyJ(y)).neg().exp().sum("j")',
  'the 5 nearest': 'lazyI(x).sqdist(lazyJ(y)).argKMin(5, "j")',
  'gradient of distances p = 1.3':
    'cdistBackward(upstream, x, y, { p: 1.3, wrt: ["a"] }).then(({ a }) => a)',
  'a map': 'map(formula.exp(formula.mul(formula.variable("x"), -2)), { x })',
};

const program = (/** @type {string} */ call) => `
  const { cdist, cdistBackward, formula, full, kernels, lazyI, lazyJ, map, runKernel, startProfile, tensor } = await import('@mercer/core');
  const place = { device: 'cpu', dtype: 'float32' };
  const points = (seed) => tensor(Float64Array.from({ length: 8000 }, (_, n) => Math.sin(seed + n * n)), { ...place, shape: [500, 16] });
  const [x, y] = [await points(1), await points(2)];
  const upstream = await full([500, 500], 1, place);
  await Promise.all([x, y, upstream].map((one) => one.toTypedArray()));
  const times = [];
  for (let n = 0; n < 2; n++) {
    const from = performance.now();
    await (await ${call}).toTypedArray();
    times.push(performance.now() - from);
  }
  const profile = startProfile();
  await ${call};
  await x.device.synchronize();
  // built-in functions have no executor
  const launched = (await profile.stop()).flatMap(({ executor }) => executor ?? []);
  const executors = [...new Set(launched)];
  console.log(JSON.stringify({ times, executors }));`;

/** @returns {{ times: [number, number], executors: string[] }} */
function start(/** @type {string} */ call, /** @type {Record<string, string>} */ env) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', program(call)],
    {
      cwd: core?.directory,
      encoding: 'utf8',
      env: { ...process.env, MERCER_DEVICE: 'cpu', ...env },
    },
  );
  if (status !== 0) throw new Error(`${call} failed: ${stderr}`);
  return JSON.parse(stdout);
}

const temporary = () => mkdtempSync(path.join(tmpdir(), 'mercer-first-'));

/** Milliseconds of the first and the second call by way, one pair for each round. */
const rows = Object.entries(CALLS).map(([call, text]) => ({
  call,
  text,
  waits: /** @type {number[][]} */ ([]),
  interpreted: /** @type {number[][]} */ ([]),
  stored: /** @type {number[][]} */ ([]),
}));
/** Throws where a call took another way than its row says. */
function check(/** @type {string[]} */ executors, /** @type {string} */ wanted) {
  if (executors.join() !== wanted) throw new Error(`ran ${executors.join()}, not ${wanted}`);
}
// The first round brings the files into memory.
for (let round = 0; round <= rounds; round++) {
  for (const { text, waits, interpreted, stored } of rows) {
    const [filled, empty] = [temporary(), temporary()];
    const waited = start(text, { MERCER_CPU: 'compiled', MERCER_CACHE_DIR: filled });
    check(waited.executors, 'compiled');
    const first = start(text, { MERCER_CPU: '', MERCER_CACHE_DIR: empty });
    const again = start(text, { MERCER_CPU: '', MERCER_CACHE_DIR: filled });
    check(again.executors, 'compiled');
    for (const one of [filled, empty]) rmSync(one, { recursive: true });
    if (round === 0) continue;
    waits.push(waited.times);
    interpreted.push(first.times);
    stored.push(again.times);
  }
}

const round = (/** @type {number | undefined} */ x) => Number((x ?? NaN).toPrecision(3));
const spread = (/** @type {number[][]} */ times, /** @type {number} */ call) => {
  const all = times.map((pair) => pair[call] ?? NaN).sort((a, b) => a - b);
  return { least: round(all[0]), median: round(all[all.length >> 1]) };
};
const ways = (/** @type {number[][]} */ times) => ({
  firstMs: spread(times, 0),
  secondMs: spread(times, 1),
});
const results = rows.map(({ call, waits, interpreted, stored }) => ({
  call,
  waitsForCompiler: ways(waits),
  interpretedFirst: ways(interpreted),
  inTheStore: ways(stored),
}));
console.log('| first call | waits for the compiler | interpreted first | in the store |');
console.log('| --- | --- | --- | --- |');
for (const { call, waitsForCompiler, interpretedFirst, inTheStore } of results) {
  const times = [waitsForCompiler, interpretedFirst, inTheStore].map(
    ({ firstMs }) => `${firstMs.median} ms`,
  );
  console.log(`| ${call} | ${times.join(' | ')} |`);
}

if (values.out !== undefined) {
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.versions.node };
  const measured = `500 x 500 x 16, float32; least and median of ${rounds} processes each, result in hand, files in memory; ways and calls took turns`;
  const command = `node scripts/start-time/first-calls.mjs --out ${values.out} --rounds ${rounds}`;
  const report = { schema: 1, suite: 'first-calls', command, measured, machine, results };
  writeFileSync(values.out, `${JSON.stringify(report, undefined, 2)}\n`);
}
