import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cdist, tensor, type Device } from '@mercer/core';
import { withTemporaryFolder } from '../files/with-temporary-folder.js';
import { packageRoot } from '../package-root.js';

/** First call of one kernel in a new process, in milliseconds. */
export interface CompileTimes {
  /** With an empty store: generated, compiled and stored. */
  readonly coldMs: number;
  /** With the store that the cold call filled. */
  readonly warmMs: number;
}

const BIN = fileURLToPath(new URL('bin/mercer.js', packageRoot));

/** Makes one distance kernel ready on a device that is up already; what the hidden command `bench first-call` runs. */
export async function firstCallMs(device: Device): Promise<number> {
  const a = await tensor(new Float32Array(64 * 32), { shape: [32, 64], device });
  await a.ready(); // the device and its context are up; what follows is the kernel alone
  const start = performance.now();
  const d = await cdist(a, a, { p: 1.3 });
  await d.ready();
  const ms = performance.now() - start;
  for (const used of [a, d]) used.dispose();
  return ms;
}

/** Measures both in processes of their own with a store that nobody else uses. */
export async function compileTimes(device: Device): Promise<CompileTimes> {
  const args = ['bench', 'first-call', '--device', device.id];
  const [cold, warm] = await coldAndWarm<{ ms: number }>(args);
  return { coldMs: cold.ms, warmMs: warm.ms };
}

/** Compiling the kernels of all ready-made descriptors at once, in milliseconds. */
export interface DescriptorCompileTimes extends CompileTimes {
  readonly descriptors: number;
  readonly kernels: number;
  /** Logical processors that compile. */
  readonly cores: number;
}

/** The descriptors that Kermac has ready-made too, and the Gaussian; inputs in both layouts, aligned and not. */
const SET = [
  '--descriptors',
  'manhattan,euclidean,minkowski,laplace,exponential,gaussian,dot',
  '--layouts',
  'rrr,rcr,crr,ccr',
];

/** Measures `mercer cache warm` with an empty store and with the one it filled, each in a process of its own. */
export async function descriptorCompileTimes(device: Device): Promise<DescriptorCompileTimes> {
  const args = ['cache', 'warm', '--device', device.id, ...SET];
  type Warmed = { ms: number; kernels: number; descriptors: readonly string[] };
  const [cold, warm] = await coldAndWarm<Warmed>(args);
  return {
    coldMs: cold.ms,
    warmMs: warm.ms,
    descriptors: cold.descriptors.length,
    kernels: cold.kernels,
    cores: availableParallelism(),
  };
}

/** Runs a command of this program twice with the same store, empty at first. */
async function coldAndWarm<T>(args: readonly string[]): Promise<[cold: T, warm: T]> {
  return withTemporaryFolder('mercer-cold-', async (directory) => {
    const { MERCER_PROFILE: _, ...rest } = process.env;
    const env = { ...rest, MERCER_CACHE_DIR: directory, MERCER_CACHE: 'rw' };
    const probe = async (): Promise<T> => {
      const { stdout } = await promisify(execFile)(process.execPath, [BIN, ...args, '--json'], {
        env,
      });
      return JSON.parse(stdout) as T;
    };
    const cold = await probe();
    return [cold, await probe()];
  });
}
