import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Child processes run dist/: it must be what src/ says. */
export default function assertBuilt(): void {
  const root = import.meta.dirname;
  const stamp = join(root, 'dist', '.tsbuildinfo');
  const built = existsSync(stamp) ? statSync(stamp).mtimeMs : 0;
  const stale = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && statSync(join(root, 'src', name)).mtimeMs > built,
  );
  if (stale.length > 0) {
    throw new Error(
      `Cannot run the tests: dist/ is older than src/ (${stale[0] ?? ''}). Run: npx tsc -b packages/cuda-runtime`,
    );
  }
}
