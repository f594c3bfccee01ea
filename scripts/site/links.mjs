// Links of Markdown files, found and changed outside code.
import path from 'node:path';

const FENCE = /^\s*(```+|~~~+)/;

/**
 * Changes the text between code: not in fences, nor in `inline code` unless a link is around it.
 * @param {string} text @param {(prose: string) => string} change
 */
export function mapProse(text, change) {
  /** @type {string | undefined} */
  let open;
  return text
    .split('\n')
    .map((line) => {
      const fence = FENCE.exec(line)?.[1];
      if (open !== undefined) {
        if (fence?.startsWith(open)) open = undefined;
        return line;
      }
      if (fence !== undefined) {
        open = fence;
        return line;
      }
      return /^ {4}/.test(line) ? line : change(line);
    })
    .join('\n');
}

/**
 * @param {string} text of a Markdown file
 * @param {(target: string) => string} change gives the new target of a link or picture
 */
export function mapLinks(text, change) {
  return mapProse(text, (line) =>
    line
      .replaceAll(
        /(`[^`]*`)|\]\(([^()\s]+)\)(\{[^}]*\})?/g,
        (whole, code, /** @type {string} */ target) => (code ? whole : `](${change(target)})`),
      )
      .replaceAll(
        /\b(href|src)="([^"]+)"/g,
        (_, attribute, /** @type {string} */ target) => `${attribute}="${change(target)}"`,
      ),
  );
}

/** @param {string} target @returns {boolean} whether it leads to a file beside the linking one */
export const isRelative = (target) => !/^([a-z][a-z+.-]*:|\/|#)/i.test(target);

/**
 * @param {string} from the linking file @param {string} target of the link
 * @returns {{ file: string, anchor: string }} the file, relative to the root, and what follows `#`, with it
 */
export function resolveLink(from, target) {
  const [file = '', ...anchor] = target.split('#');
  return {
    file: path.posix.join(path.posix.dirname(from), decodeURI(file)).replace(/\/$/, ''),
    anchor: anchor.length > 0 ? `#${anchor.join('#')}` : '',
  };
}
