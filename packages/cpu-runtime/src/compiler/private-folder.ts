import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const live = new Set<string>();
let watching = false;

function removeAll(): void {
  for (const folder of live) rmSync(folder, { recursive: true, force: true });
}

/** Runs `body` with a folder that only this user can enter (mode 0700), and removes it whatever happens. */
export async function withPrivateFolder<T>(body: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'mercer-cpu-'));
  live.add(folder);
  if (!watching) {
    watching = true;
    process.once('exit', removeAll); // process.exit() in the middle of a compilation
  }
  try {
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    live.delete(folder);
  }
}
