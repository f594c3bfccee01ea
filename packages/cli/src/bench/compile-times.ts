import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { cdist, tensor, type Device } from '@mercer/core';

/** First call of one kernel in a new process, in milliseconds. */
export interface CompileTimes {
  /** With an empty store: generated, compiled and stored. */
  readonly coldMs: number;
  /** With the store that the cold call filled. */
  readonly warmMs: number;
}

const BIN = fileURLToPath(new URL('../../bin/mercer.js', import.meta.url));

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
  const directory = await mkdtemp(join(tmpdir(), 'mercer-cold-'));
  const { MERCER_PROFILE: _, ...rest } = process.env;
  const env = { ...rest, MERCER_CACHE_DIR: directory, MERCER_CACHE: 'rw' };
  const args = [BIN, 'bench', 'first-call', '--device', device.id, '--json'];
  const probe = async (): Promise<number> => {
    const { stdout } = await promisify(execFile)(process.execPath, args, { env });
    return (JSON.parse(stdout) as { ms: number }).ms;
  };
  try {
    const coldMs = await probe();
    return { coldMs, warmMs: await probe() };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
