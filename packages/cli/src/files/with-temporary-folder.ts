import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeOnExit } from '@mercer/core/npy';

/** Runs `body` with a new folder that is gone afterwards, also when a signal ends this process. */
export async function withTemporaryFolder<T>(
  prefix: string,
  body: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), prefix));
  const forget = removeOnExit(folder);
  try {
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    forget();
  }
}
