import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * A warning when anyone on the machine may replace a library: its folder is writable for all without the sticky bit.
 */
export function folderWarning(libraryPath: string): string | undefined {
  try {
    const mode = statSync(dirname(libraryPath)).mode;
    const open = (mode & 0o002) !== 0 && (mode & 0o1000) === 0;
    if (!open) return undefined;
    return `${dirname(libraryPath)} is writable by every user: anyone can replace the library that is loaded from it. Run chmod o-w on it.`;
  } catch {
    return undefined; // a bare soname: the loader's own folders, which only root writes
  }
}
