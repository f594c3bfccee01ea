// Collects the examples of the repository: fences in Markdown and docstrings, and the programs under examples/.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { root, workspacePackages } from '../lib/workspace.mjs';
import { docstringFences, markdownFences } from './fences.mjs';

/** @typedef {import('./fences.mjs').Example} Example */

const read = (/** @type {string} */ file) => readFileSync(path.join(root, file), 'utf8');

/** @param {string} folder relative to the root @param {RegExp} pattern @returns {string[]} */
function filesUnder(folder, pattern) {
  if (!existsSync(path.join(root, folder))) return [];
  return readdirSync(path.join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((file) => !/(^|\/)(node_modules|dist)\//.test(file))
    .sort();
}

/** @returns {Example[]} every example of the repository, in a fixed order */
export function collectExamples() {
  const top = readdirSync(root).filter((name) => name.endsWith('.md'));
  const packages = workspacePackages();
  const markdown = [
    ...top,
    ...filesUnder('docs', /\.md$/),
    ...packages.flatMap(({ folder }) =>
      readdirSync(path.join(root, 'packages', folder))
        .filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md')
        .map((name) => path.join('packages', folder, name)),
    ),
  ];
  const sources = packages.flatMap(({ folder }) =>
    filesUnder(`packages/${folder}/src`, /^(?!.*\.(test|test-d)\.ts$).*\.ts$/),
  );
  return [
    ...markdown.flatMap((file) => markdownFences(file, read(file))),
    ...sources.flatMap((file) => docstringFences(file, read(file))),
  ];
}

/** @returns {Example[]} the numbered programs under examples/ */
export function collectPrograms() {
  return filesUnder('examples', /^\d.*\.(ts|mjs)$/).map((file) => {
    const code = read(file);
    const noRun = /^\/\/ no-run:\s*(.+)$/m.exec(code)?.[1];
    return { file, line: 1, code, noRun, problem: undefined };
  });
}
