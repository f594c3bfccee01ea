// Measures the routines in a process of its own, as measure.mjs asks, and sends the rows.
import * as linalg from '../../packages/linalg/dist/index.js';
import { tensor } from '../../packages/tensor/dist/index.js';

const SIDES = 16;

/** A well-conditioned symmetric positive definite matrix with numbers of no pattern, of which the lower triangle is one too. */
async function matrix(/** @type {number} */ n, /** @type {'float32' | 'float64'} */ dtype) {
  const values = Float64Array.from({ length: n * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    return i === j ? n : Math.sin((i + 1) * (j + 1)) / 2;
  });
  return tensor(values, { shape: [n, n], dtype, device: 'cpu' });
}

/** Operations of order n, and the call. @type {Record<string, [(n: number) => number, (a: any, b: any) => Promise<any>]>} */
const BLOCKED = {
  matmul: [(n) => 2 * n ** 3, (a) => linalg.matmul(a, a)],
  cholesky: [(n) => n ** 3 / 3, (a) => linalg.cholesky(a)],
  solveLU: [(n) => (2 * n ** 3) / 3 + 2 * n ** 2 * SIDES, (a, b) => linalg.solveLU(a, b)],
  qr: [(n) => (8 * n ** 3) / 3, (a) => linalg.qr(a)],
  solveTriangular: [(n) => n ** 3, (a) => linalg.solveTriangular(a, a)],
};
/** @type {typeof BLOCKED} */
const SPECTRA = {
  eigh: [(n) => (10 * n ** 3) / 3, (a) => linalg.eigh(a)],
  svd: [(n) => (20 * n ** 3) / 3, (a) => linalg.svd(a)],
  lstsq: [(n) => (4 * n ** 3) / 3, (a, b) => linalg.lstsq(a, b)],
};

/** Waits until all of a result is there, and gives it up. */
async function finish(/** @type {any} */ result) {
  const tensors = 'shape' in result ? [result] : Object.values(result).filter((one) => one?.shape);
  for (const one of tensors) await one.ready();
  for (const one of tensors) one.dispose();
}

const round = (/** @type {number} */ x) => Number(x.toPrecision(4));

process.once(
  'message',
  async (/** @type {{ orders: number[], calls: number, spectra: boolean }} */ asked) => {
    const rows = [];
    for (const n of asked.orders) {
      for (const dtype of /** @type {const} */ (['float32', 'float64'])) {
        const a = await matrix(n, dtype);
        const b = await tensor(new Float64Array(n * SIDES).fill(1), {
          shape: [n, SIDES],
          dtype,
          device: 'cpu',
        });
        for (const [routine, [operations, call]] of Object.entries({
          ...BLOCKED,
          ...(asked.spectra && n >= 1000 && SPECTRA),
        })) {
          await finish(await call(a, b));
          let [wallMs, processorMs] = [Infinity, Infinity];
          const times = routine in SPECTRA ? Math.min(3, asked.calls) : asked.calls;
          for (let again = 0; again < times; again++) {
            const [start, before] = [performance.now(), process.cpuUsage()];
            await finish(await call(a, b));
            wallMs = Math.min(wallMs, performance.now() - start);
            const { user, system } = process.cpuUsage(before);
            processorMs = Math.min(processorMs, (user + system) / 1000);
          }
          const gflopPerSecond = round(operations(n) / processorMs / 1e6);
          rows.push({
            routine,
            n,
            dtype,
            wallMs: round(wallMs),
            processorMs: round(processorMs),
            gflopPerSecond,
          });
        }
        for (const one of [a, b]) one.dispose();
      }
    }
    process.send?.(rows);
  },
);
