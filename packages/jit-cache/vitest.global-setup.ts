import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { rolldown } from 'rolldown';

const root = import.meta.dirname;
const stamp = join(root, 'dist', '.tsbuildinfo');

/** Child processes of the tests run dist/: it must be what src/ says. */
export default async function prepare() {
  ensureBuilt();
  await bundleWorker();
}

function ensureBuilt() {
  const built = existsSync(stamp) ? statSync(stamp).mtimeMs : 0;
  const isNewer = (name) =>
    name.endsWith('.ts') && statSync(join(root, 'src', name)).mtimeMs > built;
  if (!readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).some(isNewer)) return;
  const require = createRequire(import.meta.url);
  const compiler = join(require.resolve('typescript/package.json'), '..', 'bin', 'tsc');
  execFileSync(process.execPath, [compiler, '-b', root], { stdio: 'inherit' });
}

/** The worker that hundreds of threads start, as one file: most of a start was loading fifty. It lies one folder deep, as dist/ does. */
async function bundleWorker() {
  const file = join(root, 'dist', 'busy-worker.test-bundle.js');
  if (existsSync(file) && statSync(file).mtimeMs > statSync(stamp).mtimeMs) return;
  const input = join(root, 'dist/testing/busy-worker.test-support.js');
  const build = await rolldown({ input, platform: 'node' });
  const draft = `${file}-${process.pid}`;
  await build.write({ file: draft, format: 'esm' });
  await build.close();
  renameSync(draft, file);
}
