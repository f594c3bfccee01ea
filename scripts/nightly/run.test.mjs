import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { root } from '../lib/workspace.mjs';

/** @type {string[]} */
const folders = [];
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })));

/** With a program in place of Node, which says and does what `node` has. @param {readonly string[]} args @param {string} [node] */
function nightly(args, node = 'exit 9') {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-nightly-'));
  folders.push(folder);
  writeFileSync(path.join(folder, 'node'), `#!/bin/sh\n${node}\n`);
  chmodSync(path.join(folder, 'node'), 0o755);
  const { status, stdout, stderr } = spawnSync('bash', ['scripts/nightly/run.sh', ...args], {
    cwd: root,
    encoding: 'utf8',
    env: { ...process.env, PATH: `${folder}:${process.env.PATH}`, MERCER_NIGHTLY_LOGS: folder },
  });
  return {
    status,
    stdout,
    stderr,
    read: (/** @type {string} */ file) => readFileSync(path.join(folder, file), 'utf8'),
  };
}

it('lists the steps, whose scripts all exist', () => {
  const { status, stdout } = nightly(['--list']);
  expect(stdout).not.toContain('missing');
  expect(status).toBe(0);
  expect(stdout.match(/^\w+/gm)).toEqual([
    'nodes',
    'mutants',
    'wasm',
    'arm64',
    'site',
    'release',
    'smoke',
    'fuzz',
  ]);
});

it('goes on after a step that fails, and keeps logs and a summary', () => {
  const failing = nightly(['fuzz', 'smoke'], 'echo "these: $*"; exit 3');
  expect(failing.status).toBe(1);
  expect(failing.read('fuzz.log')).toBe(
    'these: scripts/nightly/interpreter-fuzz.mjs --minutes 60\n',
  );
  expect(failing.read('summary.txt')).toMatch(/FAILED +fuzz\n.*FAILED +smoke\n$/);
});

it('tells what was skipped from what went well', () => {
  expect(nightly(['arm64'], 'echo "SKIPPED: qemu is missing"').read('summary.txt')).toMatch(
    /SKIPPED +arm64\n$/,
  );
  const well = nightly(['arm64'], 'echo 9 passed');
  expect(well.status).toBe(0);
  expect(well.read('summary.txt')).toMatch(/ok +arm64\n$/);
});

it('refuses a step that it does not know', () => {
  const { status, stderr } = nightly(['fuzzy']);
  expect(status).toBe(2);
  expect(stderr).toBe(
    "nightly: there is no step 'fuzzy'. The steps are nodes mutants wasm arm64 site release smoke fuzz\n",
  );
});
