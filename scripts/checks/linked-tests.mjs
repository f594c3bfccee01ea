// Links from a Markdown table to tests: [part of the test's full name](path/to/file.test.ts).

/** @typedef {{ title: string, file: string, line: number }} Link */
/** @typedef {{ file: string, name: string, state: string }} Result */

const LINK = /\[([^\]]+)\]\(([^)\s]+\.test\.(?:ts|mts|mjs))\)/g;

/** @param {string} markdown @returns {Link[]} */
export function linkedTests(markdown) {
  return markdown.split('\n').flatMap((text, index) =>
    [...text.matchAll(LINK)].map(([, title = '', file = '']) => ({
      title: title.replaceAll('`', '').replaceAll('\\', ''),
      file,
      line: index + 1,
    })),
  );
}

/**
 * What is wrong with the links, one sentence each.
 * @param {readonly Link[]} links
 * @param {{ exists: (file: string) => boolean, results: readonly Result[] | undefined }} known
 */
export function missingTests(links, { exists, results }) {
  return links.flatMap(({ title, file, line }) => {
    const where = `line ${line}: '${title}' in ${file}`;
    if (!exists(file)) return [`${where}: the file does not exist`];
    if (results === undefined) return [];
    const found = results.filter((test) => test.file === file && test.name.includes(title));
    if (found.length === 0) return [`${where}: no such test ran`];
    const bad = found.filter(({ state }) => state !== 'passed');
    return bad.map(({ name, state }) => `${where}: '${name}' ${state}`);
  });
}
