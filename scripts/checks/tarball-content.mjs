// What must not be in a published tarball: anything that runs at install, tests, caches, workspace ranges.
import { run } from '../lib/shell.mjs';
import { NOTICES, partsOf } from '../release/third-party.mjs';

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
  /(\.(test|test-d|test-support|stress)\.|\/test\/|\.tsbuildinfo$|\.(cc|cpp|h)$|(^|\/)\.(turbo|env)|\.tgz$)/;

/** @param {string} tarball @returns {string[]} what is wrong with its content */
export function contentProblems(tarball, platform = false) {
  const files = run('tar', ['-tzf', tarball])
    .trim()
    .split('\n')
    .filter((name) => !name.endsWith('/'));
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
  const parts = partsOf(String(manifest.name));
  const notices = files.includes(`package/${NOTICES}`)
    ? run('tar', ['-xzOf', tarball, `package/${NOTICES}`])
    : '';
  for (const { name, license, text } of parts) {
    if (![`## ${name}`, license, text.trim()].every((one) => notices.includes(one)))
      problems.push(`carries ${name}, whose licence is not in ${NOTICES}`);
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
