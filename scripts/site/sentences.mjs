// How long the sentences of pages are.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { root, workspacePackages } from '../lib/workspace.mjs';
import { filesUnder } from './files.mjs';
import { mapProse } from './links.mjs';

/** Words of a sentence that a page may have on average. */
export const MOST_WORDS = 20;

const PAGES = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'examples/README.md'];

/** @returns {string[]} all prose that is written by hand: guides, documents, notes, and what packages say of themselves */
export function prose() {
  const ofPackages = workspacePackages()
    .flatMap(({ folder }) =>
      ['README.md', 'native/DESIGN.md'].map((file) => `packages/${folder}/${file}`),
    )
    .filter((file) => existsSync(path.join(root, file)));
  return [...PAGES, ...filesUnder('docs', /\.md$/), ...filesUnder('bench', /\.md$/), ...ofPackages];
}

/** @returns {{ file: string, words: number }[]} the words of a sentence on average, of each page */
export const wordsOfPages = (files = prose()) =>
  files.map((file) => ({
    file,
    words: mean(sentenceLengths(readFileSync(path.join(root, file), 'utf8'))),
  }));

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
    .flatMap((paragraph) => paragraph.replaceAll(/\s+/g, ' ').split(/(?<=[.!?][*_)]*)\s/))
    .map((sentence) => sentence.split(' ').filter((word) => /[\p{L}\p{N}]/u.test(word)).length)
    .filter((words) => words >= 3);
}

/** @param {readonly number[]} lengths */
export const mean = (lengths) =>
  lengths.length === 0 ? 0 : lengths.reduce((sum, length) => sum + length, 0) / lengths.length;
