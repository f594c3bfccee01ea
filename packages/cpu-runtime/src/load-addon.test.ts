import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AddonNotFoundError } from './errors.js';
import { loadAddon, platformPackage } from './load-addon.js';

const root = fileURLToPath(new URL('..', import.meta.url));

let folder: string;
let scripts = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'mercer-copy-'));
  // What copies of this package import.
  mkdirSync(join(folder, 'node_modules/@mercer'), { recursive: true });
  symlinkSync(
    join(root, 'node_modules/@mercer/options'),
    join(folder, 'node_modules/@mercer/options'),
  );
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a module that imports a copy of this package; returns what it printed. */
function runModule(text: string, dist = join(root, 'dist'), env: NodeJS.ProcessEnv = {}): string {
  const file = join(folder, `script-${++scripts}.mjs`);
  writeFileSync(file, text.replaceAll('DIST', pathToFileURL(join(dist, 'index.js')).href));
  return execFileSync(process.execPath, [file], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });
}

describe('loading the addon', () => {
  it('names the package of this platform', () => {
    expect(platformPackage('cpu-runtime')).toMatch(
      /^@mercer\/cpu-runtime-linux-(x64|arm64)-(gnu|musl)$/,
    );
  });

  it('lists every attempt and numbered remedies when nothing loads', () => {
    const broken = join(folder, 'broken.node');
    writeFileSync(broken, 'not a library');
    const load = (): unknown =>
      loadAddon('no-such-package', import.meta.url, pathToFileURL(broken).href);
    expect(load).toThrow(AddonNotFoundError);
    expect(load).toThrow(expect.objectContaining({ code: 'ADDON_NOT_FOUND' }));
    for (const part of [
      'native part of @mercer/no-such-package failed',
      `${platformPackage('no-such-package')}: Cannot find`,
      broken,
      '  1. Install',
      '  2. In a source',
      '  3. Binaries are built for Linux on x64 and arm64',
    ]) {
      expect(load).toThrow(part);
    }
  });

  it('happens at the first call, not at import', () => {
    const text = `
      import { readFileSync } from 'node:fs';
      const maps = () => readFileSync('/proc/self/maps', 'utf8').includes('mercer_cpu.node');
      const threads = () => readFileSync('/proc/self/status', 'utf8').match(/Threads:\\s*(\\d+)/)[1];
      const before = threads();
      const { cpu } = await import('DIST');
      const imported = [maps(), threads() === before];
      cpu.info();
      console.log(JSON.stringify([...imported, maps(), threads() === before]));`;
    expect(JSON.parse(runModule(text))).toEqual([false, true, true, true]);
  });

  it('fails with that error, import and report do not', () => {
    const copy = join(folder, 'without-addon');
    cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
    cpSync(join(root, 'package.json'), join(copy, 'package.json'));
    const text = `
      import { cpu } from 'DIST';
      const report = cpu.report();
      let code;
      try { cpu.allocate(8); } catch (error) { code = error.code; }
      console.log(JSON.stringify([report.supported, report.attempts.length >= 2, code]));`;
    expect(JSON.parse(runModule(text, join(copy, 'dist')))).toEqual([
      false,
      true,
      'ADDON_NOT_FOUND',
    ]);
  });

  it('can be required from CommonJS where Node allows it', () => {
    const file = join(folder, 'script.cjs');
    writeFileSync(
      file,
      `import(${JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)}).then(({ cpu }) => console.log(cpu.info().cores > 0))`,
    );
    expect(execFileSync(process.execPath, [file], { encoding: 'utf8' }).trim()).toBe('true');
  });
});

describe('MERCER_CPU_THREADS', () => {
  const threads = `import { cpu } from 'DIST'; let out; try { out = cpu.threads } catch (error) { out = error.code + ' ' + error.message } console.log(out);`;

  it('sets the size of the pool', () => {
    expect(runModule(threads, undefined, { MERCER_CPU_THREADS: '5' }).trim()).toBe('5');
  });

  it.each(['0', '-1', 'many', '2.5', '100000'])('of %s is refused by name', (text) => {
    const output = runModule(threads, undefined, { MERCER_CPU_THREADS: text });
    expect(output).toContain('INVALID_ARGUMENT');
    expect(output).toContain(`"${text}"`);
  });
});

describe('MERCER_CPU_LEVEL', () => {
  const level = `import { cpu } from 'DIST'; let out; try { out = cpu.info().level } catch (error) { out = error.code + ' ' + error.message } console.log(out);`;

  it.skipIf(process.arch !== 'x64')('names a lower level, which kernels are compiled for', () => {
    expect(runModule(level, undefined, { MERCER_CPU_LEVEL: 'x86-64-v2' }).trim()).toBe('x86-64-v2');
    expect(runModule(level, undefined, { MERCER_CPU_LEVEL: '' }).trim()).toMatch(/^x86-64-v[234]$/);
  });

  it.each(['x86-64-v1', 'x86-64-v9', 'fast', '3'])('of %s is refused by name', (text) => {
    const output = runModule(level, undefined, { MERCER_CPU_LEVEL: text });
    expect(output).toContain('INVALID_ARGUMENT');
    expect(output).toContain(`"${text}" is none of `);
  });
});

describe('two copies in one program', () => {
  it('are told apart by an error that names both versions', () => {
    const copy = join(folder, 'second');
    cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
    writeFileSync(join(copy, 'package.json'), JSON.stringify({ version: '9.8.7', type: 'module' }));
    symlinkSync(join(root, 'build'), join(copy, 'build'));
    const other = pathToFileURL(join(copy, 'dist/index.js')).href;
    const text = `
      import { cpu } from 'DIST';
      import { cpu as other } from ${JSON.stringify(other)};
      try { cpu.defaultStream.wait(other.createStream().record()); }
      catch (error) { console.log(JSON.stringify([error.code, error.message])); }`;
    const [code, message] = JSON.parse(runModule(text)) as [string, string];
    expect(code).toBe('TWO_COPIES');
    expect(message).toContain('9.8.7');
    expect(message).toContain(pathToFileURL(join(copy, 'dist')).href);
    const own = JSON.parse(
      execFileSync('cat', [join(root, 'package.json')], { encoding: 'utf8' }),
    ) as { version: string };
    expect(message).toContain(`This is version ${own.version}`);
  });
});
