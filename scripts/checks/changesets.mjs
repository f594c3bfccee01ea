// Proves on a temporary copy what a changeset does: it bumps the package it names, and of its dependants only those whose
// range the new version leaves. Packages version independently; nothing else moves.
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { run } from '../lib/shell.mjs';
import { readJson, root, workspacePackages } from '../lib/workspace.mjs';

const packages = workspacePackages();

/** @param {string} name @param {'patch' | 'minor' | 'major'} bump @returns {Map<string, string>} versions that moved */
function versionsAfter(name, bump) {
  const copy = mkdtempSync(path.join(tmpdir(), 'mercer-changesets-'));
  try {
    for (const file of ['package.json', 'pnpm-workspace.yaml'])
      copyFileSync(path.join(root, file), path.join(copy, file));
    mkdirSync(path.join(copy, '.changeset'));
    copyFileSync(
      path.join(root, '.changeset/config.json'),
      path.join(copy, '.changeset/config.json'),
    );
    writeFileSync(
      path.join(copy, '.changeset/try.md'),
      `---\n'${name}': ${bump}\n---\n\nA change.\n`,
    );
    for (const { folder, manifest } of packages) {
      mkdirSync(path.join(copy, 'packages', folder), { recursive: true });
      const target = path.join(copy, 'packages', folder, 'package.json');
      writeFileSync(target, JSON.stringify({ ...manifest, version: '1.0.0' }));
    }
    run('git', ['init', '--quiet', '--initial-branch=main'], { cwd: copy, quiet: true });
    run(process.execPath, [path.join(root, 'node_modules/@changesets/cli/bin.js'), 'version'], {
      cwd: copy,
      quiet: true,
    });
    const moved = new Map();
    for (const { name: other, folder } of packages) {
      const { version } = readJson(path.join(copy, 'packages', folder, 'package.json'));
      if (version !== '1.0.0') moved.set(other, version);
    }
    const changelog = readFileSync(
      path.join(copy, 'packages', folderOf(name), 'CHANGELOG.md'),
      'utf8',
    );
    if (!changelog.includes('A change.')) throw new Error(`${name} got no changelog entry`);
    return moved;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** @param {string} name */
function folderOf(name) {
  return packages.find((entry) => entry.name === name)?.folder ?? name;
}

/** @param {string} name @returns {string[]} packages that depend on it through any chain, as a dependency or a peer */
function dependantsOf(name) {
  const found = new Set();
  const visit = (/** @type {string} */ target) => {
    for (const { name: other, manifest } of packages) {
      const ranges = { ...manifest.dependencies, ...manifest.peerDependencies };
      if (ranges[target] && !found.has(other)) {
        found.add(other);
        visit(other);
      }
    }
  };
  visit(name);
  return [...found];
}

let failures = 0;
for (const { name } of packages) {
  for (const bump of /** @type {const} */ (['patch', 'minor', 'major'])) {
    const moved = versionsAfter(name, bump);
    const allowed = new Set([name, ...(bump === 'major' ? dependantsOf(name) : [])]);
    const expected = { patch: '1.0.1', minor: '1.1.0', major: '2.0.0' }[bump];
    const strays = [...moved.keys()].filter((other) => !allowed.has(other));
    const direct = packages.filter(
      ({ manifest }) => ({ ...manifest.dependencies, ...manifest.peerDependencies })[name],
    );
    const left =
      bump === 'major'
        ? direct.filter((entry) => !moved.has(entry.name)).map((entry) => entry.name)
        : [];
    const good = moved.get(name) === expected && strays.length === 0 && left.length === 0;
    if (!good) failures += 1;
    const others = [...moved]
      .filter(([other]) => other !== name)
      .map(([other, version]) => `${other} ${version}`);
    console.log(
      `${good ? 'ok  ' : 'FAIL'} ${bump} of ${name}: ${moved.get(name) ?? 'not bumped'}; with it: ${others.join(', ') || 'nothing'}` +
        (left.length > 0 ? `; left behind: ${left.join(', ')}` : ''),
    );
  }
}
process.exitCode = failures > 0 ? 1 : 0;
