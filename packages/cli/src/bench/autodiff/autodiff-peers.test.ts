import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { defaultPython } from '../peers.js';
import { measureAutodiffPeers } from './autodiff-peers.js';

const python = defaultPython() ?? '';
const imports = (module: string): boolean =>
  python !== '' && spawnSync(python, ['-c', `import ${module}`]).status === 0;

describe.skipIf(!imports('numpy'))(
  imports('numpy') ? 'the Python script' : 'the Python script (skipped: no numpy on this machine)',
  () => {
    it('answers in the agreed lines, with each library or with the reason why not', async () => {
      const device = { id: 'cpu', kind: 'cpu' } as const;
      const { versions, rows, missing } = await measureAutodiffPeers(python, device, ['expSum']);
      for (const library of ['torch', 'jax']) {
        const found = rows.filter((row) => row.library === library);
        if (imports(library)) {
          expect(versions).toHaveProperty(library);
          expect(found).toMatchObject([{ operation: 'expSum', n: 100_000 }]);
          expect(found[0]?.error).toBeLessThan(1e-5);
        } else {
          expect(found).toEqual([]);
          expect(missing.join('; ')).toMatch(new RegExp(`${library}: `));
        }
      }
    });
  },
);
