// The part of the bundle that needs no GPU: everything loads from the unpacked folder, by its published names.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { root, workspacePackages } from '../lib/workspace.mjs';

const require = createRequire(path.join(root, 'package.json'));

const libraries = workspacePackages().filter(({ manifest }) => manifest.exports['.']);

describe('the bundle without a GPU', () => {
  it.each(libraries.map(({ name }) => name))('imports and requires %s', async (name) => {
    const imported = await import(require.resolve(name));
    expect(Object.keys(require(name))).toEqual(expect.arrayContaining(Object.keys(imported)));
  });

  it.each(
    workspacePackages()
      .filter(({ native }) => native)
      .map(({ folder }) => folder),
  )('carries the addon of %s', (folder) => {
    const addons = readdirSync(path.join(root, 'packages', folder, 'build/Release'));
    expect(addons).toHaveLength(1);
    expect(() =>
      require(path.join(root, 'packages', folder, 'build/Release', String(addons[0]))),
    ).not.toThrow();
  });

  it('keeps kernels on disk', async () => {
    const { JitCache } = await import(require.resolve('@mercer/jit-cache'));
    const directory = mkdtempSync(path.join(tmpdir(), 'mercer-smoke-'));
    const cache = JitCache.open({ directory });
    const { state, reason } = await cache.stats();
    await cache.close();
    rmSync(directory, { recursive: true });
    expect({ state, reason }).toEqual({ state: 'disk', reason: undefined });
  });

  it('computes distances on the CPU', async () => {
    const { cdist, tensor } = await import(require.resolve('@mercer/core'));
    const points = await tensor(
      [
        [0, 0],
        [3, 4],
      ],
      { dtype: 'float32', device: 'cpu' },
    );
    const distances = await cdist(points, points, { p: 2 });
    expect(await distances.toNested()).toEqual([
      [0, 5],
      [5, 0],
    ]);
  });

  it('answers mercer doctor', () => {
    const report = execFileSync(
      process.execPath,
      [path.join(root, 'packages/cli/bin/mercer.js'), 'doctor', '--json'],
      {
        encoding: 'utf8',
      },
    );
    expect(JSON.parse(report)).toBeTypeOf('object');
  });
});
