// Copies a package's folder without what is never read at run time.
import { cpSync, readdirSync, realpathSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';

const DROPPED_NAMES =
  /^(node_modules|\.turbo|\.bin|docs?|examples?|benchmarks?|coverage|man|README.*|CHANGELOG.*|HISTORY.*|SECURITY.*|CONTRIBUTING.*|binding\.gyp|\.tsbuildinfo)$/i;
const DROPPED_ENDINGS = /\.(d\.[cm]?ts|map|md|markdown|flow|tsbuildinfo|html|cc|cpp|h|gyp|gypi)$/i;

/** Larger parts of single packages that nothing loads on a linux-x64 glibc host. */
const DROPPED_PARTS = /** @type {Record<string, RegExp>} */ ({
  mnist: /^dist(\/|$)/,
  'fast-check': /^lib\/(cjs|types)(\/|$)/,
  // all but the heights that a test of solvers reads
  'vega-datasets': /^(?!data$|data\/volcano\.json$|package\.json$)/,
});

/**
 * @param {string} source @param {string} target
 * @param {{ name: string, keep?: (relativePath: string) => boolean }} options
 */
export function copyPruned(source, target, { name, keep = () => true }) {
  const base = realpathSync(source);
  cpSync(base, target, {
    recursive: true,
    dereference: true,
    filter: (file) => {
      const relative = path.relative(base, file).split(path.sep).join('/');
      if (relative === '') return true;
      if (DROPPED_NAMES.test(path.basename(file)) || DROPPED_ENDINGS.test(file)) return false;
      if (DROPPED_PARTS[name]?.test(relative)) return false;
      return keep(relative);
    },
  });
  removeEmptyFolders(target);
}

/** @param {string} folder @returns {boolean} whether it was removed */
function removeEmptyFolders(folder) {
  const left = readdirSync(folder).filter((entry) => {
    const file = path.join(folder, entry);
    return !(statSync(file).isDirectory() && removeEmptyFolders(file));
  });
  if (left.length > 0) return false;
  rmSync(folder, { recursive: true });
  return true;
}
