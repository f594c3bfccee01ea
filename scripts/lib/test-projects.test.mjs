// The projects of vitest.shared.ts share out the test files.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from './workspace.mjs';

/** @returns {string[]} files of packages, as often as there are projects that run them */
function listed(/** @type {string[]} */ ...args) {
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const { stdout } = spawnSync(process.execPath, [vitest, 'list', '--filesOnly', ...args], {
    cwd: root,
    encoding: 'utf8',
  });
  return [...stdout.matchAll(/^\[@mercer\/[^\]]+\] (packages\/\S+\.test\.ts)$/gm)]
    .map(([, file]) => String(file))
    .sort();
}

const written = readdirSync(path.join(root, 'packages'))
  .flatMap((name) =>
    readdirSync(path.join(root, 'packages', name, 'src'), {
      recursive: true,
      encoding: 'utf8',
    }).map((file) => `packages/${name}/src/${file}`),
  )
  .filter((file) => file.endsWith('.test.ts'))
  .sort();
const withoutGpu = written.filter((file) => !file.endsWith('.gpu.test.ts'));

describe('projects of tests', () => {
  it('have each file once, and those of GPUs where there is a device', () => {
    const files = listed();
    expect(files).toEqual(
      files.some((file) => file.endsWith('.gpu.test.ts')) ? written : withoutGpu,
    );
  });

  it('leave out what a run excludes', () => {
    const files = listed('--exclude', '**/*.alone.test.ts');
    expect(files.filter((file) => file.endsWith('.alone.test.ts'))).toEqual([]);
    expect(files.length).toBeGreaterThan(withoutGpu.length / 2);
  });
});
