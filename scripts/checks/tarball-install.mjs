// Installs the packed packages into an empty project the way a user does, with install scripts off: the addons come as optional
// dependencies, where this Node needs them. Computes a distance on the CPU through import and through require; its kernel must be
// kept on disk.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from '../lib/shell.mjs';
import { lastPacked, packAll } from '../release/pack.mjs';

const EXPECTED = [0, 5, 5, 0];

const computation = `
  const a = await tensor([[0, 0], [3, 4]], { dtype: 'float32', device: 'cpu' });
  const d = await cdist(a, a, { p: 2 });
  const values = Array.from(await d.toTypedArray());
  if (JSON.stringify(values) !== '${JSON.stringify(EXPECTED)}') throw new Error('wrong distances: ' + values);
`;

const store = `
import { JitCache } from '@mercer/jit-cache';
const cache = JitCache.open();
const { state, driver, entries } = await cache.stats();
await cache.close();
const wanted = process.getBuiltinModule('node:sqlite') ? 'node:sqlite' : 'of @mercer/jit-cache';
if (state !== 'disk' || !driver.includes(wanted) || entries === 0) throw new Error(JSON.stringify({ state, driver, entries }));
console.log('kept on disk: ok (' + driver + ')');
`;

const programs = {
  'import.mjs': `import { cdist, tensor } from '@mercer/core';\n${computation}\nconsole.log('import: ok');\n`,
  'require.cjs': `const { cdist, tensor } = require('@mercer/core');\n(async () => {${computation}\nconsole.log('require: ok');\n})();\n`,
  'store.mjs': store,
};

const project = mkdtempSync(path.join(tmpdir(), 'mercer-user-'));
try {
  const packed = process.argv.includes('--reuse') ? lastPacked() : packAll();
  const files = Object.fromEntries(packed.map(({ name, tarball }) => [name, `file:${tarball}`]));
  const manifest = {
    name: 'a-users-project',
    private: true,
    dependencies: Object.fromEntries(
      packed.filter(({ platform }) => !platform).map(({ name }) => [name, files[name]]),
    ),
    overrides: files,
  };
  writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest, null, 2));
  const options = [
    '--ignore-scripts',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  run('npm', ['install', ...options], { cwd: project });
  for (const { name } of packed.filter(({ platform }) => platform)) {
    const wanted = !name.includes('jit-cache') || !process.getBuiltinModule('node:sqlite');
    if (existsSync(path.join(project, 'node_modules', name)) !== wanted)
      throw new Error(`${name} was ${wanted ? 'not ' : ''}installed on Node ${process.version}`);
  }
  const env = { ...process.env, MERCER_CACHE_DIR: path.join(project, 'cache') };
  for (const [file, text] of Object.entries(programs)) {
    writeFileSync(path.join(project, file), text);
    process.stdout.write(run(process.execPath, [file], { cwd: project, env }));
  }
  const doctor = run(path.join(project, 'node_modules/.bin/mercer'), ['doctor', '--json'], {
    cwd: project,
  });
  JSON.parse(doctor);
  console.log(`mercer doctor: ok (${packed.length} tarballs, install scripts off)`);
} finally {
  rmSync(project, { recursive: true, force: true });
}
