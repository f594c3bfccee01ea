// Looks at every package as it would be published: nothing runs at install, no tests or caches inside, the exports and the
// types resolve, for ES modules and for CommonJS (publint, are-the-types-wrong).
import { execFile } from 'node:child_process';
import path from 'node:path';
import { mapConcurrently } from '../lib/map-concurrently.mjs';
import { root } from '../lib/workspace.mjs';
import { packAll } from '../release/pack.mjs';
import { contentProblems } from './tarball-content.mjs';

/** @param {string} program @param {string[]} args @returns {Promise<string[]>} */
function toolProblems(program, args) {
  return new Promise((resolve) => {
    execFile(
      path.join(root, 'node_modules/.bin', program),
      args,
      { cwd: root },
      (error, stdout, stderr) => {
        resolve(error ? [`${program}:\n${stdout}${stderr || error.message}`] : []);
      },
    );
  });
}

/** @param {Awaited<ReturnType<typeof packAll>>[number]} packed @returns {Promise<string[]>} */
async function problemsOf({ tarball, platform, anyPlatform }) {
  const problems = contentProblems(tarball, platform && !anyPlatform);
  problems.push(...(await toolProblems('publint', ['run', tarball, '--strict'])));
  if (platform) return problems;
  const plain = ['--no-color', '--no-emoji', '--format', 'ascii'];
  return [...problems, ...(await toolProblems('attw', [tarball, '--profile', 'node16', ...plain]))];
}

let failures = 0;
const packed = await packAll('few');
const problems = await mapConcurrently(packed, 2, problemsOf);
for (const [index, { name }] of packed.entries()) {
  const own = problems[index] ?? [];
  console.log(`${own.length === 0 ? 'ok  ' : 'FAIL'} ${name}`);
  for (const problem of own) console.log(`     ${problem.replaceAll('\n', '\n     ')}`);
  if (own.length > 0) failures += 1;
}
process.exitCode = failures > 0 ? 1 : 0;
