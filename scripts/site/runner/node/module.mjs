// Of node:module: require of data sets.
import { textOf } from '../data.mjs';

export const createRequire = () =>
  Object.assign((/** @type {string} */ name) => JSON.parse(textOf(name)), {
    resolve: (/** @type {string} */ name) => name,
  });
