import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../node_modules/.cache/test-programs', import.meta.url));

/**
 * A program that every process which tests kernels needs: kept beside the installed packages under a name that `text`,
 * which says all that it is made of, decides. `build` writes it to a path.
 */
export function keptProgram(name: string, text: string, build: (path: string) => void): string {
  const key = createHash('sha256').update(`${process.arch} ${text}`).digest('hex').slice(0, 16);
  const path = join(FOLDER, `${name}-${key}`);
  if (!existsSync(path)) {
    mkdirSync(FOLDER, { recursive: true });
    // complete before it has its name, since other processes may look for it meanwhile
    const draft = `${path}-${process.pid}`;
    build(draft);
    renameSync(draft, path);
  }
  return path;
}
