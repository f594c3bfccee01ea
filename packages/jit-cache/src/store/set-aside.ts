import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Files that SQLite keeps beside a database. */
export const COMPANIONS = ['-wal', '-shm', '-journal'] as const;

const KEEP = 2;

/**
 * Renames a broken database and its companions to `<path>.broken-<time>`, keeping the two newest
 * of them. The caller holds the repair lock. The database goes first: once it is gone, nobody can
 * open it without its log.
 */
export function setAside(path: string, now: number): void {
  const stamp = new Date(now).toISOString().replaceAll(/[-:.]/g, '');
  let target = `${path}.broken-${stamp}`;
  for (let n = 1; existsSync(target); n++) target = `${path}.broken-${stamp}-${n}`;
  for (const suffix of ['', ...COMPANIONS]) {
    if (existsSync(path + suffix)) renameSync(path + suffix, target + suffix);
  }
  const prefix = `${basename(path)}.broken-`;
  const isCompanion = (name: string): boolean => COMPANIONS.some((end) => name.endsWith(end));
  const old = readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix) && !isCompanion(name))
    .sort()
    .slice(0, -KEEP);
  for (const name of old) {
    for (const suffix of ['', ...COMPANIONS]) {
      rmSync(join(dirname(path), name + suffix), { force: true });
    }
  }
}
