// How long a program waits before its first line runs: imports of @mercer/core and the command, each in processes of its own, in
// projects where the packed packages are installed. Projects take turns; wall time and user CPU time of every process are taken.
// `node scripts/start-time/measure.mjs --project before=DIR --project after=DIR [--out FILE] [--rounds N]`; without a project it
// installs what `pnpm release:pack` wrote last.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { run } from '../lib/shell.mjs';
import { lastPacked } from '../release/pack.mjs';

const { values } = parseArgs({
  options: {
    project: { type: 'string', multiple: true, default: [] },
    out: { type: 'string' },
    rounds: { type: 'string', default: '20' },
  },
});
const rounds = Number(values.rounds);

/** What is started, by name. */
const STARTS = {
  'node alone': ['-e', '0'],
  "import '@mercer/core'": ['--input-type=module', '-e', "import '@mercer/core'"],
  "require('@mercer/core')": ['--no-warnings', '-e', "require('@mercer/core')"],
  'mercer --help': ['node_modules/@mercer/cli/bin/mercer.js', '--help'],
  'mercer --version': ['node_modules/@mercer/cli/bin/mercer.js', '--version'],
};

/** An empty project with the packages that were packed last. */
function install() {
  const project = mkdtempSync(path.join(tmpdir(), 'mercer-start-'));
  const packed = lastPacked();
  const files = Object.fromEntries(packed.map(({ name, tarball }) => [name, `file:${tarball}`]));
  const manifest = { private: true, dependencies: files, overrides: files };
  writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest));
  const options = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--force'];
  run('npm', ['install', ...options, '--loglevel=error'], { cwd: project });
  return project;
}

/** Loaded first: it reports the CPU time. */
const REPORT = fileURLToPath(new URL('report-cpu.cjs', import.meta.url));

/** Without settings of Node: NODE_EXTRA_CA_CERTS alone makes each start of Node read all its certificates, which takes longer than the import. */
const env = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.startsWith('NODE_')),
);

/** @returns {Record<'wall' | 'user', number>} milliseconds of one process */
function start(/** @type {string} */ cwd, /** @type {readonly string[]} */ args) {
  const from = performance.now();
  const { status, stderr, output } = spawnSync(process.execPath, ['--require', REPORT, ...args], {
    cwd,
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  });
  const wall = performance.now() - from;
  if (status !== 0) throw new Error(`node ${args.join(' ')} failed in ${cwd}: ${stderr}`);
  return { wall, user: Number(output[3]) };
}

const given = values.project.map((text) => {
  const [name = '', folder = ''] = text.split('=');
  return { name, folder: path.resolve(folder), temporary: false };
});
const projects =
  given.length > 0 ? given : [{ name: 'packed', folder: install(), temporary: true }];

const rows = projects.flatMap(({ name, folder }) =>
  Object.entries(STARTS).map(([what, args]) => ({
    project: name,
    what,
    folder,
    args,
    /** @type {Record<'wall' | 'user', number>[]} */ times: [],
  })),
);
// The first round brings the files into memory.
for (let round = 0; round <= rounds; round++) {
  for (const { folder, args, times } of rows) {
    const time = start(folder, args);
    if (round > 0) times.push(time);
  }
}
for (const { folder, temporary } of projects) if (temporary) rmSync(folder, { recursive: true });

const round = (/** @type {number | undefined} */ x) => Number((x ?? NaN).toPrecision(3));
const spread = (/** @type {number[]} */ all) => {
  const sorted = all.toSorted((a, b) => a - b);
  return { least: round(sorted[0]), median: round(sorted[sorted.length >> 1]) };
};
const results = rows.map(({ project, what, times }) => ({
  project,
  what,
  wallMs: spread(times.map(({ wall }) => wall)),
  userCpuMs: spread(times.map(({ user }) => user)),
}));
console.log('| packages | start | wall, median | user CPU, median |\n| --- | --- | --- | --- |');
for (const { project, what, wallMs, userCpuMs } of results)
  console.log(`| ${project} | ${what} | ${wallMs.median} ms | ${userCpuMs.median} ms |`);

if (values.out !== undefined) {
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.versions.node };
  const measured = `least and median of ${rounds} processes each, files in memory; packages and starts took turns; without variables NODE_* in the environment; other programs used the cores as well`;
  const command = `node scripts/start-time/measure.mjs ${projects.map(({ name }) => `--project ${name}=...`).join(' ')} --rounds ${rounds}`;
  const report = { schema: 1, suite: 'start-time', command, measured, machine, results };
  writeFileSync(values.out, `${JSON.stringify(report, undefined, 2)}\n`);
}
