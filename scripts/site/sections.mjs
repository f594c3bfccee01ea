// Parts of Markdown files, so that a page can show what another one says without a copy.
import { mapProse } from './links.mjs';

const DIRECTIVE = /^<!-- include (\S+?)(?:#(.+?))? -->$/;

/** @param {string} text @returns {string} the title: its first heading, without the marks of code */
export function titleOf(text) {
  return /^# (.+)$/m.exec(text)?.[1]?.replaceAll('`', '') ?? '';
}

/**
 * @param {string} text @param {string} heading of the section; the title's section ends where the first other begins
 * @returns {string} what stands below the heading
 */
export function sectionOf(text, heading) {
  const marked = mapProse(text, (line) => line.replace(/^#/, '\u0000#')).split('\n');
  const isHeading = (/** @type {string} */ line) => line.startsWith('\u0000#');
  const level = (/** @type {string} */ line) => /#+/.exec(line)?.[0].length ?? 0;
  const start = marked.findIndex(
    (line) => isHeading(line) && line.replace(/^\u0000#+ /, '') === heading,
  );
  if (start < 0) throw new Error(`There is no heading "${heading}".`);
  const own = level(String(marked[start]));
  const length = marked
    .slice(start + 1)
    .findIndex((line) => isHeading(line) && (own === 1 || level(line) <= own));
  return marked
    .slice(start + 1, length < 0 ? undefined : start + 1 + length)
    .join('\n')
    .replaceAll('\u0000', '')
    .trim();
}

/**
 * Puts sections of other files where a page says `<!-- include FILE#HEADING -->`.
 * @param {string} text of the page
 * @param {(file: string, heading: string) => string} section reads one
 */
export function includeSections(text, section) {
  return text
    .split('\n')
    .map((line) => {
      const [, file, heading] = DIRECTIVE.exec(line) ?? [];
      return file === undefined ? line : section(file, heading ?? '');
    })
    .join('\n');
}
