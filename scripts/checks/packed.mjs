// Looks at every package as it would be published: nothing runs at install, no tests or caches inside, the exports and the
// types resolve, for ES modules and for CommonJS (publint, are-the-types-wrong).
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { root } from '../lib/workspace.mjs';
import { packAll } from '../release/pack.mjs';
import { contentProblems } from './tarball-content.mjs';

/** @param {string} program @param {string[]} args @returns {string[]} */
function toolProblems(program, args) {
  const result = spawnSync(path.join(root, 'node_modules/.bin', program), args, {
    encoding: 'utf8',
    cwd: root,
  });
  return result.status === 0 ? [] : [`${program}:\n${result.stdout}${result.stderr}`];
}

let failures = 0;
for (const { name, tarball, platform, anyPlatform } of await packAll('few')) {
  const problems = contentProblems(tarball, platform && !anyPlatform);
  problems.push(...toolProblems('publint', ['run', tarball, '--strict']));
  if (!platform) {
    problems.push(
      ...toolProblems('attw', [
        tarball,
        '--profile',
        'node16',
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
