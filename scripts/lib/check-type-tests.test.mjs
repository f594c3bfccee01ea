import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const CHECKER = join(import.meta.dirname, 'check-type-tests.mjs');

describe('the checker of type tests', () => {
  /** @type {string} */
  let folder;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mercer-type-tests-'));
    const config = { compilerOptions: { strict: true, types: [] }, include: ['*.test-d.ts'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    writeFileSync(join(folder, 'one.ts'), 'export const one = 1;\nconst two: string = 2;\n');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  /** @param {string} text */
  const checked = (text) => {
    writeFileSync(join(folder, 'one.test-d.ts'), `import { one } from './one.js';\n${text}\n`);
    const args = ['--noEmit', '--pretty', 'false', '-p', join(folder, 'tsconfig.json')];
    const { status, stdout } = spawnSync(CHECKER, args, { cwd: folder, encoding: 'utf8' });
    return { status, stdout };
  };

  it('says nothing of what is right, whatever is wrong in what it imports', () => {
    expect(checked('export const same: number = one;')).toEqual({ status: 0, stdout: '' });
  });

  it('names the place of what is wrong as the compiler does', () => {
    const { status, stdout } = checked('export const other: string = one;');
    expect(status).toBe(2);
    expect(stdout).toMatch(/^one\.test-d\.ts\(2,14\): error TS2322: .*\n$/);
  });

  it('refuses imports that lead nowhere, of which all types would be right', () => {
    writeFileSync(join(folder, 'one.ts'), "export { one } from '@mercer/absent';\n");
    const { status, stdout } = checked('export const other: string = one;');
    expect(status).toBe(2);
    expect(stdout).toContain("one.ts(1,1): error TS2307: '@mercer/absent' leads nowhere");
  });

  it('refuses options that the compiler refuses', () => {
    const config = { compilerOptions: { types: ['absent'] }, include: ['*.test-d.ts'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
    const { status, stdout } = checked('export const same: number = one;');
    expect(status).toBe(2);
    expect(stdout).toContain('TS2688');
  });
});
