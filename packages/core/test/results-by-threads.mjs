// Prints hashes of what operations give, one for each number of threads, and in how many launches helpers of WebAssembly did something. Ends by
// itself, or hangs where a thread keeps the process alive.
import { createHash } from 'node:crypto';
import { setTimeout as later } from 'node:timers/promises';
import * as mercer from '@mercer/core';
import { rawBinding } from '@mercer/cpu-runtime';

const { cpu, formula, kernels, lazyI, lazyJ, tensor } = mercer;

/** @param {readonly number[]} shape @param {number} step @param {'float32' | 'float64'} dtype */
const made = (shape, step, dtype) => {
  const count = shape.reduce((all, one) => all * one, 1);
  const values = Float64Array.from({ length: count }, (_, i) => Math.sin(step * i + i * i));
  return tensor(values, { shape, dtype, device: 'cpu' });
};

/** Calls with several chunks of work, by name. @param {'float32' | 'float64'} dtype */
async function callsOf(dtype) {
  const x = await made([701, 9], 1, dtype);
  const y = await made([650, 9], 2, dtype);
  const weights = await made([650, 2], 3, dtype);
  const upstream = await made([701, 650], 4, dtype);
  const long = await made([300_001], 5, dtype);
  const square = await made([301, 301], 6, dtype);
  const [few, many] = [await made([3, 2], 7, dtype), await made([30_001, 2], 8, dtype)];
  const targets = await tensor(
    Int32Array.from({ length: 701 }, (_, i) => (i * i) % 40),
    { device: 'cpu' },
  );
  const gaussian = lazyI(x).sqdist(lazyJ(y)).neg().exp();
  const spd = await mercer.runKernel(kernels.gaussian, x, { bandwidth: 1, regularization: 0.5 });
  return {
    map: () => mercer.map(formula.exp(formula.mul(formula.variable('x'), -2)), { x: long }),
    sumOfAll: () => long.sum(),
    reduction: () => gaussian.mul(lazyJ(weights)).sum('j'),
    reductionOverI: () => gaussian.sum('i'),
    nearest: () => gaussian.argKMin(4, 'j'),
    logSumExp: () => gaussian.logSumExp('j'),
    fewRowsInParts: () => lazyI(few).sqdist(lazyJ(many)).neg().exp().sum('j'),
    nearestInParts: () => lazyI(few).sqdist(lazyJ(many)).argKMin(4, 'j'),
    cdist: () => mercer.cdist(x, y, { p: 3 }),
    cdistOfAnyPower: () => mercer.cdist(x, y, { p: 1.3 }),
    runKernel: () => mercer.runKernel(kernels.matern52, x, y, { bandwidth: 2 }),
    cdistBackward: async () => (await mercer.cdistBackward(upstream, x, y, { p: 3 })).a,
    scatterAdd: () => mercer.scatterAdd(x, targets, 40),
    sort: () => mercer.sort(long),
    random: () =>
      mercer.random.normal([200_000], { key: mercer.random.key(7), dtype, device: 'cpu' }),
    matmul: () => mercer.matmul(square, square),
    cholesky: () => mercer.cholesky(spd),
    eigh: async () => (await mercer.eigh(await square.add(square.transpose()))).values,
  };
}

/** @type {Record<string, string[]>} */
const hashes = {};
const helpers = () => /** @type {any} */ (rawBinding()).helpers?.() ?? { ready: 0, helped: 0 };

cpu.setThreads(3);
const first = await callsOf('float64');
const waitUntil = Date.now() + 20_000;
// Helpers come when there is work for them, and some time later.
while (helpers().helped === 0 && cpu.info().level === 'wasm128' && Date.now() < waitUntil) {
  await (await first.cdist()).toTypedArray();
  await later(5);
}
for (const dtype of /** @type {const} */ (['float32', 'float64'])) {
  for (const [name, call] of Object.entries(await callsOf(dtype))) {
    const all = (hashes[`${name}, ${dtype}`] = /** @type {string[]} */ ([]));
    for (const threads of [1, 2, 3]) {
      cpu.setThreads(threads);
      const given = /** @type {any} */ (await call());
      const result = await (given.factor ?? given).toTypedArray();
      all.push(createHash('sha256').update(result).digest('hex'));
    }
  }
}
console.log(JSON.stringify({ hashes, helped: helpers().helped, level: cpu.info().level }));
