// Of node:module: require of data sets.
import { required } from '../data.mjs';

export const createRequire = () =>
  Object.assign((/** @type {string} */ name) => required(name), {
    resolve: (/** @type {string} */ name) => name,
  });
