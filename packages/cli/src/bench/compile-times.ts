import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** First call of one kernel in a new process, in milliseconds. */
export interface CompileTimes {
  /** With an empty store: generated, compiled and stored. */
  readonly coldMs: number;
  /** With the store that the cold call filled. */
  readonly warmMs: number;
}

const PROBE = fileURLToPath(new URL('compile-probe.js', import.meta.url));

/** Measures both in processes of their own with a store that nobody else uses. */
export async function compileTimes(device: string): Promise<CompileTimes> {
  const directory = await mkdtemp(join(tmpdir(), 'mercer-cold-'));
  const env = {
    ...process.env,
    MERCER_CACHE_DIR: directory,
    MERCER_CACHE: 'rw',
    MERCER_PROFILE: '',
  };
  const probe = async (): Promise<number> => {
    const { stdout } = await promisify(execFile)(process.execPath, [PROBE, device], { env });
    return (JSON.parse(stdout) as { ms: number }).ms;
  };
  try {
    const coldMs = await probe();
    return { coldMs, warmMs: await probe() };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
