// Finds every ```ts fence in Markdown files and in the docstrings of published TypeScript.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { root, workspacePackages } from '../lib/workspace.mjs';

/**
 * @typedef {object} Example
 * @property {string} file   relative to the repository
 * @property {number} line   of the fence, from 1
 * @property {string} code
 * @property {string | undefined} noRun  why it is only type-checked, not run
 * @property {string | undefined} problem
 */

const FENCE = /^```(ts|typescript)\b[ \t]*(.*)$/;

/**
 * @param {string} file @param {readonly string[]} lines @param {number} firstLine of `lines` in the file
 * @returns {Example[]}
 */
function fencesIn(file, lines, firstLine = 1) {
  const examples = [];
  for (let index = 0; index < lines.length; index += 1) {
    const fence = FENCE.exec(String(lines[index]));
    if (!fence) continue;
    const start = index + 1;
    while (index + 1 < lines.length && !String(lines[index + 1]).startsWith('```')) index += 1;
    const code = lines.slice(start, index + 1).join('\n');
    examples.push(
      classify({ file, line: firstLine + start - 1, code, info: String(fence[2]).trim() }),
    );
  }
  return examples;
}

/** @param {{ file: string, line: number, code: string, info: string }} fence @returns {Example} */
function classify({ file, line, code, info }) {
  const example = { file, line, code, noRun: undefined, problem: undefined };
  const marked = /^no-run\b[\s:(-]*(.*?)\)?$/.exec(info);
  if (!marked) {
    return info === ''
      ? example
      : { ...example, problem: `unknown words after the fence: ${info}` };
  }
  const beside = /^\s*\/\/\s*(?:no-run[:\s]*)?(.*)$/.exec(String(code.split('\n')[0]))?.[1];
  const reason = marked[1] || beside;
  return reason
    ? { ...example, noRun: reason }
    : { ...example, problem: 'no-run without a reason beside it' };
}

/** @param {string} file relative to the root @returns {Example[]} */
function fromTypeScript(file) {
  const text = readFileSync(path.join(root, file), 'utf8');
  return [...text.matchAll(/\/\*\*([\s\S]*?)\*\//g)].flatMap((comment) => {
    const firstLine = text.slice(0, comment.index).split('\n').length;
    const lines = String(comment[1])
      .split('\n')
      .map((line) => line.replace(/^\s*\* ?/, ''));
    return fencesIn(file, lines, firstLine);
  });
}

/** @param {string} file relative to the root @returns {Example[]} */
function fromMarkdown(file) {
  return fencesIn(file, readFileSync(path.join(root, file), 'utf8').split('\n'));
}

/** @param {string} folder relative to the root @param {RegExp} pattern @returns {string[]} */
function filesUnder(folder, pattern) {
  if (!existsSync(path.join(root, folder))) return [];
  return readdirSync(path.join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && pattern.test(entry.name))
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .filter((file) => !/(^|\/)(node_modules|site|dist)\//.test(file))
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
  return [...markdown.flatMap(fromMarkdown), ...sources.flatMap(fromTypeScript)];
}

/** @returns {Example[]} the numbered programs under examples/ */
export function collectPrograms() {
  return filesUnder('examples', /^\d.*\.ts$/).map((file) => {
    const code = readFileSync(path.join(root, file), 'utf8');
    const noRun = /^\/\/ no-run:\s*(.+)$/m.exec(code)?.[1];
    return { file, line: 1, code, noRun, problem: undefined };
  });
}
