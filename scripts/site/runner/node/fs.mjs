// Of node:fs: pictures are shown on the page, data sets are read.
import { textOf } from '../data.mjs';

/** @param {string} name @param {string} svg */
export const writeFileSync = (name, svg) =>
  /** @type {any} */ (globalThis).postMessage({ kind: 'picture', name, svg });

export const readFileSync = textOf;
