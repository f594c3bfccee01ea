// Finds every ```ts fence in Markdown text and in the docstrings of TypeScript text.

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

/** @param {string} file named in the result @param {string} text @returns {Example[]} */
export function docstringFences(file, text) {
  return [...text.matchAll(/\/\*\*([\s\S]*?)\*\//g)].flatMap((comment) => {
    const firstLine = text.slice(0, comment.index).split('\n').length;
    const lines = String(comment[1])
      .split('\n')
      .map((line) => line.replace(/^\s*\* ?/, ''));
    return fencesIn(file, lines, firstLine);
  });
}

/** @param {string} file named in the result @param {string} text @returns {Example[]} */
export function markdownFences(file, text) {
  return fencesIn(file, text.split('\n'));
}
