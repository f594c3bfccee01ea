// What a page may compute: a handful of operations over all layers. Bundled by check.mjs, run in Chromium, compared with expected.mjs.
import {
  JitCache,
  MercerError,
  adam,
  cdist,
  cg,
  cpu,
  cpuExecutor,
  cuda,
  device,
  eigh,
  grad,
  kernels,
  lapack,
  lazyI,
  lazyJ,
  runKernel,
  solveCholesky,
  tensor,
} from '@mercer/core';
import { rawBinding } from '@mercer/cpu-runtime';
import { points, targets } from './data.mjs';

/** @param {number[][]} rows */
const upload = (rows) => tensor(rows, { dtype: 'float64' });

/** @param {() => unknown} call */
function codeOf(call) {
  try {
    return call();
  } catch (error) {
    return error instanceof MercerError ? error.code : String(error);
  }
}

async function run() {
  const x = await upload(points);
  const y = await upload(targets.map((one) => [one]));
  const k = await runKernel(kernels.gaussian, x, { bandwidth: 1, regularization: 0.1 });
  const symbolic = lazyI(x).sqdist(lazyJ(x)).neg().exp();
  /** @type {Record<string, unknown>} */
  const results = {
    cdist: await (await cdist(x, x, { p: 1.5 })).toNested(),
    runKernel: await k.toNested(),
    lazySum: await symbolic.sum('j').toNested(),
    nearest: await lazyI(x).sqdist(lazyJ(x)).argKMin(2, 'j').toNested(),
    arithmetic: await x.mul(2).add(1).exp().sum(1).toNested(),
    solveCholesky: await (await solveCholesky(k, y)).x.toNested(),
    eigh: await (await eigh(k)).values.toNested(),
  };
  const loss = (/** @type {any} */ w) => lazyI(w).sqdist(lazyJ(x)).neg().exp().sum('j').sum();
  results['grad'] = await (await grad(loss)(x)).toNested();
  const system = symbolic.asOperator().shift(0.1);
  results['cg'] = await (await cg(system, y, { rtol: 1e-12 })).x.toNested();
  const params = { w: await tensor([1, 2], { dtype: 'float64' }) };
  const optimiser = adam({ lr: 0.5, eps: 0 });
  const state = await optimiser.init(params);
  await optimiser.step(params, { w: await tensor([1, -4], { dtype: 'float64' }) }, state);
  results['adam'] = await params.w.toNested();
  const prepared = await cdist.prepare(x, x, { p: 2 });
  results['prepared'] = await (await prepared(x, x)).toNested();
  const refused = await Promise.resolve(cdist(x, y)).catch((/** @type {unknown} */ error) => error);
  results['error'] = refused instanceof MercerError && [refused.code, refused.message];
  results['where'] = {
    device: device().id,
    executor: (await cpuExecutor()).executor,
    cuda: cuda.isAvailable(),
    lapack: lapack.isAvailable(),
    cache: (await JitCache.open().stats()).state,
    gpu: codeOf(() => device('cuda')),
  };
  results['threads'] = await threads();
  return results;
}

const LONGEST_MS = 10_000;

/** How many threads there are, whether those beside the page's take part, and whether one alone gives the same bits. */
async function threads() {
  const rows = 300;
  const x = await tensor(
    Float32Array.from({ length: rows * 4 }, (_, i) => Math.sin(i * i)),
    { shape: [rows, 4] },
  );
  const helped = () => /** @type {any} */ (rawBinding()).helpers().helped;
  const compute = async () => await (await cdist(x, x, { p: 3 })).toTypedArray();
  const { isolated, threads: count } = {
    isolated: /** @type {any} */ (globalThis).crossOriginIsolated,
    threads: cpu.threads,
  };
  const until = performance.now() + (isolated ? LONGEST_MS : 0);
  let all = await compute();
  while (helped() === 0 && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    all = await compute();
  }
  cpu.setThreads(1);
  const alone = await compute();
  return {
    isolated,
    several: count > 1,
    helped: helped() > 0,
    same: all.length === rows * rows && alone.every((one, i) => one === all[i]),
  };
}

const outcome = await run().catch((/** @type {any} */ error) => ({
  failed: String(error?.stack ?? error),
}));
/** @type {any} */ (globalThis).mercerOutcome = outcome;
