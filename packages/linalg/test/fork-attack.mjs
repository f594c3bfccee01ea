// Starts processes while linear algebra runs: `fork-attack.mjs ROUTINE SPAWNS`, where ROUTINE is one of CALLS, 'compiling' (formulas
// during eigh) or 'terminating' (workers in the middle of eigh). Prints what it did; hangs where a call does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { add, mul, variable } from '@mercer/formula';
import * as linalg from '../dist/index.js';
import { map, tensor } from '@mercer/tensor';

const [routine = 'eigh', spawns = '300'] = process.argv.slice(2);

/** A well-conditioned symmetric positive definite matrix with numbers of no pattern. */
async function definite(n) {
  const values = Float64Array.from({ length: n * n }, (_, at) => {
    const [i, j] = [Math.floor(at / n), at % n];
    return i === j ? n : Math.sin((i + 1) * (j + 1)) / 2;
  });
  return tensor(values, { shape: [n, n], device: 'cpu' });
}

const [small, large] = [await definite(400), await definite(600)];
const CALLS = {
  eigh: () => linalg.eigh(small),
  svd: () => linalg.svd(small),
  lstsq: () => linalg.lstsq(small, small),
  matrixPower: () => linalg.matrixPower(small, -0.5),
  matmul: () => linalg.matmul(large, large),
  solveCholesky: () => linalg.solveCholesky(large, large),
  solveLU: () => linalg.solveLU(large, large),
  solveTriangular: () => linalg.solveTriangular(large, large),
  cholesky: () => linalg.cholesky(large),
  inv: () => linalg.inv(large),
  logdet: () => linalg.logdet(large),
  conditionEstimate: () => linalg.conditionEstimate(large),
  qr: () => linalg.qr(large),
};

/** Calls again and again, each waited for, until `until` says so; at least once. */
async function repeat(call, until) {
  let calls = 0;
  do {
    const result = await call();
    const tensors =
      'shape' in result ? [result] : Object.values(result).filter((one) => one?.shape);
    await tensors[0].ready?.();
    await tensors[0].toTypedArray();
    for (const one of tensors) one.dispose();
    calls++;
  } while (!until());
  return calls;
}

/** Starts `count` processes, one every few milliseconds. */
async function spawnMany(count) {
  const ends = [];
  for (let i = 0; i < count; i++) {
    ends.push(once(spawn('true', { stdio: 'ignore' }), 'exit'));
    await new Promise((resolve) => setTimeout(resolve, 3));
    if (ends.length > 50) await ends.shift();
  }
  await Promise.all(ends);
}

if (!isMainThread) {
  parentPort.postMessage('running');
  await repeat(CALLS.eigh, () => false);
} else if (routine === 'terminating') {
  const rounds = Math.ceil(Number(spawns) / 30);
  for (let round = 0; round < rounds; round++) {
    const worker = new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) });
    await once(worker, 'message');
    await spawnMany(30 + (round % 7) * 5);
    await worker.terminate();
  }
  console.log(`${rounds} workers ended`);
} else if (routine === 'compiling') {
  let done = false;
  const formulas = Math.ceil(Number(spawns) / 30);
  const compiling = (async () => {
    for (let i = 0; i < formulas; i++) {
      const formula = mul(add(variable('x'), i), process.pid);
      (await map(formula, { x: small })).dispose();
    }
    done = true;
  })();
  const calls = await repeat(CALLS.eigh, () => done);
  await compiling;
  console.log(`${formulas} formulas during ${calls} calls`);
} else {
  let done = false;
  const spawning = spawnMany(Number(spawns)).then(() => (done = true));
  const calls = await repeat(CALLS[routine], () => done);
  await spawning;
  console.log(`${spawns} processes during ${calls} calls`);
}
