// What examples print beside what they say that they print: a comment behind `console.log(...);` on its line is its output.
import ts from 'typescript';

/** Around the number of a statement and what it prints. */
const MARK = '\u0001';

/** @typedef {{ line: number, text: string }} Told the line of a statement, from 1, and the comment behind it */

const PRINT = `import { format as __format } from 'node:util'; const __print = (n) => (...values) => process.stdout.write('${MARK}' + n + '${MARK}' + __format(...values) + '${MARK}\\n'); `;

/**
 * A program in JavaScript whose calls of `console.log` with a comment behind them mark what they print.
 *
 * @param {string} code
 * @returns {{ code: string, told: Told[] }}
 */
export function withMarks(code) {
  const file = ts.createSourceFile('example.js', code, ts.ScriptTarget.ES2022, true);
  /** @type {Told[]} */
  const told = [];
  let marked = '';
  let end = 0;
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isExpressionStatement(node) && ts.isCallExpression(node.expression)) {
      const { expression } = node.expression;
      const [comment] = ts.getTrailingCommentRanges(code, node.end) ?? [];
      if (comment && expression.getText(file) === 'console.log') {
        const { line } = file.getLineAndCharacterOfPosition(comment.pos);
        marked += `${code.slice(end, expression.getStart(file))}__print(${told.length})`;
        end = expression.end;
        told.push({ line: line + 1, text: code.slice(comment.pos + 2, comment.end).trim() });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { code: told.length === 0 ? code : PRINT + marked + code.slice(end), told };
}

/** Explanations, which are no output. */
const EXPLAINED = /^(about|such as) /;

/** Without spaces that only layout decides. */
const plain = (/** @type {string} */ text) =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/(?<=[[({]) | (?=[\])}])/g, '')
    .trim();

const NUMBER = /-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/g;
/** How far numbers may lie apart: what float32 holds. */
const TOLERANCE = 1e-6;

/** @param {string} given @param {string} got @returns {boolean} whether texts are the same but for digits that float32 does not hold */
function isClose(given, got) {
  const [wanted, numbers] = [given, got].map((text) => (text.match(NUMBER) ?? []).map(Number));
  return (
    given.replaceAll(NUMBER, '0') === got.replaceAll(NUMBER, '0') &&
    (wanted ?? []).every((one, k) => {
      const other = numbers?.[k] ?? NaN;
      return Math.abs(one - other) <= TOLERANCE * Math.max(Math.abs(one), Math.abs(other));
    })
  );
}

/** @param {string} given in which `...` stands for anything @param {string} got */
function isLike(given, got) {
  if (!given.includes('...')) return isClose(given, got);
  const parts = given.split('...').map((part) => part.replaceAll(/[^\w\s]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(got);
}

/** @param {string} text of a comment, with an explanation behind a comma or colon or without @param {string} printed */
function says(text, printed) {
  const [given, got] = [plain(text), plain(printed)];
  const ends = [...given.matchAll(/[,:] /g)].map(({ index }) => index);
  return [given.length, ...ends].some((end) => isLike(given.slice(0, end), got));
}

/**
 * Compares what a program of {@link withMarks} printed with its comments. A statement that ran several times may tell all, joined by
 * commas, or one of them.
 *
 * @param {readonly Told[]} told @param {string} output @returns {string[]} what differs
 */
export function untold(told, output) {
  const printed = told.map(() => /** @type {string[]} */ ([]));
  for (const [, n, text] of output.matchAll(new RegExp(`${MARK}(\\d+)${MARK}([^]*?)${MARK}`, 'g')))
    printed[Number(n)]?.push(String(text));
  return told.flatMap(({ line, text }, n) => {
    const own = printed[n] ?? [];
    if (own.length === 0 || EXPLAINED.test(text)) return [];
    if (own.some((one) => says(text, one)) || says(text, own.join(', '))) return [];
    const all = own.join(', ').replaceAll(/\s+/g, ' ');
    return [`line ${line} prints "${all}", and its comment says "${text}"`];
  });
}
