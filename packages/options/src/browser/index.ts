/**
 * What stands in the place of Node's built-in modules where a bundler makes a program for browsers: the part of them that the packages use, under
 * Node's names. The `browser` field of each package.json leads there; under Node none of this is loaded.
 *
 * @packageDocumentation
 */
export { AsyncLocalStorage } from './async-local-storage.js';
export { Buffer } from './buffer.js';
export * from './files.js';
export { createHash, randomUUID } from './hash.js';
export { inspect, types } from './inspect.js';
export { noCuda } from './no-cuda.js';
export { process as default } from './process.js';
export { setImmediate } from './turns.js';

/** Of `node:os`: WebAssembly runs on one thread, and has four gigabytes at most. */
export const availableParallelism = (): number => 1;
export const totalmem = (): number => 2 ** 32;
export const freemem = totalmem;

/** Of `node:module`. A bundle has no package.json, whose version is all that is asked for. */
export const createRequire = () => () => ({ version: '(bundled)' });
