// Reads docs/evidence.txt, line by line:
//
//   ## Section
//   // a remark on what follows
//   a claim, or: what somebody else calls it => what it is here
//     path/of/a/file.test.ts
//       a part of the full name of a test in that file
//       another
//     // what else shows it; nothing checks this line
//
// Blank lines mean nothing. A claim without a test needs a remark, or is '=> not here yet'.

/** @typedef {{ title: string, file: string, line: number }} NamedTest */
/** @typedef {{ file: string, name: string, state: string }} Result */

const TEST_FILE = /^[^\s]+\.test\.(?:ts|mts|mjs)$/;

/**
 * @param {string} text
 * @returns {{ claims: number, tests: NamedTest[], problems: string[] }} problems are lines that say nothing, one sentence each
 */
export function readEvidence(text) {
  /** @type {NamedTest[]} */
  const tests = [];
  /** @type {string[]} */
  const problems = [];
  let claims = 0;
  let bare = '';
  let file = '';
  let named = true;
  const endOfFile = (/** @type {number} */ line) => {
    if (!named) problems.push(`line ${line}: no test of ${file} is named`);
    named = true;
    file = '';
  };
  const endOfClaim = (/** @type {number} */ line) => {
    endOfFile(line);
    if (bare !== '') problems.push(`line ${line}: nothing shows '${bare}'`);
    bare = '';
  };
  const lines = text.split('\n');
  for (const [index, raw] of lines.entries()) {
    const line = index + 1;
    const indent = raw.length - raw.trimStart().length;
    const content = raw.trim();
    if (content === '') continue;
    if (indent === 0) {
      endOfClaim(line);
      if (/^(##|\/\/) /.test(content)) continue;
      claims += 1;
      if (!/=> not here yet\b/.test(content)) bare = content;
    } else if (indent === 2 && content.startsWith('// ')) {
      bare = '';
    } else if (indent === 2 && TEST_FILE.test(content)) {
      endOfFile(line);
      file = content;
      named = false;
      bare = '';
    } else if (indent === 4 && file !== '') {
      tests.push({ title: content, file, line });
      named = true;
    } else {
      problems.push(`line ${line}: '${content}' is no claim, no test file and no test of one`);
    }
  }
  endOfClaim(lines.length);
  return { claims, tests, problems };
}

/**
 * What is wrong with the tests that are named, one sentence each.
 * @param {readonly NamedTest[]} tests
 * @param {{ exists: (file: string) => boolean, results: readonly Result[] | undefined }} known
 */
export function missingTests(tests, { exists, results }) {
  return tests.flatMap(({ title, file, line }) => {
    const where = `line ${line}: '${title}' in ${file}`;
    if (!exists(file)) return [`${where}: the file does not exist`];
    if (results === undefined) return [];
    const found = results.filter((test) => test.file === file && test.name.includes(title));
    if (found.length === 0) return [`${where}: no such test ran`];
    const bad = found.filter(({ state }) => state !== 'passed');
    return bad.map(({ name, state }) => `${where}: '${name}' ${state}`);
  });
}
