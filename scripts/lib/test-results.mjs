// What tests did, one JSON object a line: file, name (the describes and the title, joined by ' > '), nth of that name in its
// file, state. Several runs are appended to one file. A test that one run skipped and another passed has passed; one that
// ever failed has failed.

/** @typedef {{ file: string, name: string, nth: number, state: string }} Result */

/** @param {string} state */
const weight = (state) => (state === 'failed' ? 2 : state === 'passed' ? 1 : 0);

/** @param {Iterable<{ file: string, name: string, state: string }>} tests of one run @returns {string} */
export function writeResults(tests) {
  /** @type {Map<string, number>} */
  const seen = new Map();
  let text = '';
  for (const { file, name, state } of tests) {
    const key = `${file}\0${name}`;
    const nth = seen.get(key) ?? 0;
    seen.set(key, nth + 1);
    text += `${JSON.stringify({ file, name, nth, state })}\n`;
  }
  return text;
}

/** @param {string} text @returns {Result[]} each test once */
export function readResults(text) {
  /** @type {Map<string, Result>} */
  const tests = new Map();
  for (const line of text.split('\n').filter(Boolean)) {
    /** @type {Result} */
    const test = JSON.parse(line);
    const key = JSON.stringify([test.file, test.name, test.nth]);
    const before = tests.get(key);
    if (before === undefined || weight(test.state) > weight(before.state)) tests.set(key, test);
  }
  return [...tests.values()];
}

/**
 * A pattern, as vitest takes one, of the tests without those of these names: vitest joins the parts of a name by a space.
 *
 * @param {readonly string[]} names
 */
export function patternWithout(names) {
  const escaped = names.map((name) =>
    name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll(' > ', '(?: >)? '),
  );
  return `^(?!(?:${escaped.join('|')})$)`;
}

/** @param {readonly { state: string }[]} results */
export function countResults(results) {
  const of = (/** @type {string} */ state) => results.filter((it) => it.state === state).length;
  const passed = of('passed');
  const failed = of('failed');
  return { passed, failed, skipped: results.length - passed - failed };
}

/** @param {readonly { state: string }[]} results */
export function closingLine(results) {
  const { passed, failed, skipped } = countResults(results);
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
