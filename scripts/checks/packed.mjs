// Looks at every package as it would be published: nothing runs at install, no tests or caches inside, the exports and the
// types resolve (publint, are-the-types-wrong; ES modules only).
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { run } from '../lib/shell.mjs';
import { root } from '../lib/workspace.mjs';
import { packAll } from '../release/pack.mjs';

const INSTALL_SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'prepare',
  'preprepare',
  'postprepare',
];
const UNWANTED =
  /(\.(test|test-d|test-support|stress)\.|\/test(ing|-support)?\/|\.tsbuildinfo$|\.(cc|cpp|h)$|(^|\/)\.(turbo|env)|\.tgz$)/;

/** @param {string} tarball @returns {string[]} what is wrong with its content */
function contentProblems(tarball, platform = false) {
  const files = run('tar', ['-tzf', tarball]).trim().split('\n');
  const manifest = JSON.parse(run('tar', ['-xzOf', tarball, 'package/package.json']));
  const problems = [];
  for (const script of INSTALL_SCRIPTS) {
    if (manifest.scripts?.[script])
      problems.push(`has the script "${script}", which runs at install`);
  }
  if (files.includes('package/binding.gyp'))
    problems.push('has a binding.gyp, which makes npm build it at install');
  for (const file of files.filter((name) => UNWANTED.test(name))) problems.push(`carries ${file}`);
  for (const wanted of ['README.md', 'LICENSE']) {
    if (!files.includes(`package/${wanted}`)) problems.push(`has no ${wanted}`);
  }
  const ranges = {
    ...manifest.dependencies,
    ...manifest.peerDependencies,
    ...manifest.optionalDependencies,
  };
  for (const [name, range] of Object.entries(ranges)) {
    if (/^(workspace|file|link):/.test(String(range)))
      problems.push(`publishes ${name} as ${range}`);
  }
  if (platform && !(manifest.os && manifest.cpu)) problems.push('has no os and cpu fields');
  return problems;
}

/** @param {string} program @param {string[]} args @returns {string[]} */
function toolProblems(program, args) {
  const result = spawnSync(path.join(root, 'node_modules/.bin', program), args, {
    encoding: 'utf8',
    cwd: root,
  });
  return result.status === 0 ? [] : [`${program}:\n${result.stdout}${result.stderr}`];
}

let failures = 0;
for (const { name, tarball, platform } of packAll()) {
  const problems = contentProblems(tarball, platform);
  problems.push(...toolProblems('publint', ['run', tarball, '--strict']));
  if (!platform) {
    problems.push(
      ...toolProblems('attw', [
        tarball,
        '--profile',
        'esm-only',
        '--no-color',
        '--no-emoji',
        '--format',
        'ascii',
      ]),
    );
  }
  console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'} ${name}`);
  for (const problem of problems) console.log(`     ${problem.replaceAll('\n', '\n     ')}`);
  if (problems.length > 0) failures += 1;
}
process.exitCode = failures > 0 ? 1 : 0;
