// How long the sentences of a page are.
import { mapProse } from './links.mjs';

/**
 * @param {string} text of a Markdown file
 * @returns {number[]} the words of each sentence; code, tables, headings and lines of less than three words are none
 */
export function sentenceLengths(text) {
  const body = text.replace(/^---\n[\s\S]*?\n---\n/, '').replaceAll(/<!--[\s\S]*?-->/g, '');
  // What mapProse does not change is code.
  const prose = mapProse(body, (line) => `\u0000${line}`)
    .split('\n')
    .map((line) => (line.startsWith('\u0000') ? line.slice(1) : ''))
    .map((line) => (/^\s*(#|\||<)/.test(line) ? '' : line.replace(/^\s*([-*]|\d+\.) /, '\n')))
    .join('\n')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/`[^`]*`/g, 'code');
  return prose
    .split(/\n\s*\n/)
    .flatMap((paragraph) => paragraph.replaceAll(/\s+/g, ' ').split(/(?<=[.!?])\s/))
    .map((sentence) => sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length)
    .filter((words) => words >= 3);
}

/** @param {readonly number[]} lengths */
export const mean = (lengths) =>
  lengths.length === 0 ? 0 : lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
