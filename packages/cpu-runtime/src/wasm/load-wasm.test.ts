import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const built = join(root, 'build/wasm/mercer_cpu.wasm');

/** A copy of this package without its native binary; with `wasm` the other one is there. */
let copies: { readonly wasm: string; readonly none: string };
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mercer-wasm-'));
  mkdirSync(join(folder, 'node_modules/@mercer'), { recursive: true });
  symlinkSync(
    join(root, 'node_modules/@mercer/options'),
    join(folder, 'node_modules/@mercer/options'),
  );
  const copy = (name: string): string => {
    cpSync(join(root, 'dist'), join(folder, name, 'dist'), { recursive: true });
    cpSync(join(root, 'package.json'), join(folder, name, 'package.json'));
    return join(folder, name);
  };
  copies = { wasm: copy('wasm'), none: copy('none') };
  if (existsSync(built)) {
    mkdirSync(join(copies.wasm, 'build/wasm'), { recursive: true });
    cpSync(built, join(copies.wasm, 'build/wasm/mercer_cpu.wasm'));
  }
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** What a program printed that asks for the level and allocates. */
function run(copy: string, MERCER_CPU: string): unknown {
  const text = `
    import { cpu } from ${JSON.stringify(pathToFileURL(join(copy, 'dist/index.js')).href)};
    let out;
    try {
      cpu.allocate(64);
      out = { level: cpu.info().level, paths: cpu.report().attempts.map(({ path }) => path) };
    } catch (error) {
      out = { code: error.code, message: error.message, paths: error.attempts.map(({ path }) => path) };
    }
    console.log(JSON.stringify(out));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', text], {
    encoding: 'utf8',
    env: { ...process.env, MERCER_CPU, MERCER_CPU_LEVEL: '' },
  });
  return JSON.parse(output);
}

const BINARY: unknown = expect.stringMatching(/^@mercer\/cpu-runtime-(linux|darwin|win32)/);
const MODULE = '@mercer/cpu-runtime-wasm';

describe('where no native binary fits', () => {
  it.skipIf(!existsSync(built)).each(['', 'interpreted', 'wasm'])(
    'WebAssembly runs, with MERCER_CPU=%s',
    (named) => {
      expect(run(copies.wasm, named)).toMatchObject({
        level: 'wasm128',
        paths: (named === 'wasm'
          ? expect.not.arrayContaining([BINARY])
          : expect.arrayContaining([BINARY])) as unknown,
      });
    },
  );

  it('compiled kernels are refused, with every file that was tried', () => {
    const found = run(copies.wasm, 'compiled') as { paths: string[] };
    expect(found).toMatchObject({
      code: 'ADDON_NOT_FOUND',
      paths: [BINARY, expect.anything() as unknown],
    });
    expect(found.paths).not.toContain(MODULE);
  });

  it('and no WebAssembly either, the error names both', () => {
    const found = run(copies.none, '') as { paths: string[]; message: string };
    expect(found).toMatchObject({ code: 'ADDON_NOT_FOUND' });
    expect(found.paths).toEqual(expect.arrayContaining([BINARY, MODULE]));
    expect(found.message).toContain('Binaries are built for Linux');
  });
});

describe('MERCER_CPU=wasm', () => {
  it.skipIf(!existsSync(built))('is WebAssembly also where a native binary fits', () => {
    expect(run(root, 'wasm')).toMatchObject({ level: 'wasm128' });
    expect(run(root, '')).not.toMatchObject({ level: 'wasm128' });
  });

  it('without the module says how to get it', () => {
    expect(run(copies.none, 'wasm')).toMatchObject({
      code: 'ADDON_NOT_FOUND',
      message: expect.stringContaining(`npm install ${MODULE}`) as unknown,
      paths: [MODULE, expect.stringMatching(/mercer_cpu\.wasm$/) as unknown],
    });
  });
});
