import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

/** Child processes of the tests run dist/: it must be what src/ says. */
export default function ensureBuilt() {
  const root = import.meta.dirname;
  const stamp = join(root, 'dist', '.tsbuildinfo');
  const built = existsSync(stamp) ? statSync(stamp).mtimeMs : 0;
  const isNewer = (name) =>
    name.endsWith('.ts') && statSync(join(root, 'src', name)).mtimeMs > built;
  if (!readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).some(isNewer)) return;
  const require = createRequire(import.meta.url);
  const compiler = join(require.resolve('typescript/package.json'), '..', 'bin', 'tsc');
  execFileSync(process.execPath, [compiler, '-b', root], { stdio: 'inherit' });
}
