// The fake driver in this process: set up before the first use of `cuda`.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  buildFakeCublas,
  buildFakeCublasLt,
  buildFakeCusolver,
  buildFakeDriver,
  buildFakeNccl,
} from './fake-driver/build.mjs';

/** Chooses the fake driver and its settings (MERCER_FAKE_<name>). */
export async function useFakeDriver(settings = {}) {
  process.env.MERCER_CUDA_DRIVER_PATH = await buildFakeDriver();
  for (const [name, value] of Object.entries(settings))
    process.env[`MERCER_FAKE_${name}`] = String(value);
}

/** Chooses the fake cuSOLVER, cuBLASLt and cuBLAS. */
export async function useFakeSolvers() {
  process.env.MERCER_CUDA_CUSOLVER_PATH = await buildFakeCusolver();
  process.env.MERCER_CUDA_CUBLASLT_PATH = await buildFakeCublasLt();
  process.env.MERCER_CUDA_CUBLAS_PATH = await buildFakeCublas();
}

/** Chooses the fake NCCL. */
export async function useFakeNccl() {
  process.env.MERCER_CUDA_NCCL_PATH = await buildFakeNccl();
}

/** Changes a setting of the fake driver at run time. */
export function fake(name, value) {
  if (value === undefined) delete process.env[`MERCER_FAKE_${name}`];
  else process.env[`MERCER_FAKE_${name}`] = String(value);
}

/** Lines "name argument ..." of what `work` made the fake libraries do. */
export async function callsOf(work) {
  const folder = mkdtempSync(join(tmpdir(), 'mercer-calls-'));
  const file = join(folder, 'calls');
  fake('CALLS', file);
  try {
    await work();
    return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
  } finally {
    fake('CALLS', undefined);
    rmSync(folder, { recursive: true });
  }
}

/** How many captured works follow each other at most, of the last capture in lines that `callsOf` gave. */
export function longestLine(lines) {
  let lengths = [];
  for (const line of lines) {
    const [name, at, ...after] = line.trimEnd().split(/ +/);
    if (name !== 'captured') continue;
    if (at === '0') lengths = [];
    lengths[Number(at)] = 1 + Math.max(0, ...after.map((one) => lengths[Number(one)] ?? 0));
  }
  return Math.max(0, ...lengths);
}

const names = [
  'streams',
  'events',
  'buffers',
  'pinned',
  'modules',
  'graphs',
  'execs',
  'launches',
  'hostCalls',
  'trims',
  'pools',
  'contexts',
];

/** Live objects and calls as the fake driver counts them. */
export function fakeCounts(addon) {
  return Object.fromEntries(names.map((name, i) => [name, addon.deviceAttribute(0, 10000 + i)]));
}

let collect;

/** The counts once nothing changes any more: garbage is collected, and what earlier work left to other threads is done. */
export async function settledCounts(addon) {
  setFlagsFromString('--expose-gc');
  collect ??= runInNewContext('gc');
  for (let last = '', same = 0; ;) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 15));
    const now = JSON.stringify(fakeCounts(addon));
    same = now === last ? same + 1 : 0;
    if (same === 3) return JSON.parse(now);
    last = now;
  }
}

/** An image for the fake driver: kernels with the byte sizes of their parameters. */
export function fakeImage(text) {
  return new TextEncoder().encode(`FAKE ${text}`);
}
