/**
 * Random numbers with explicit keys: the same key gives the same numbers, bit for bit, on every device and in any order of calls. Nothing is
 * hidden that changes from call to call: use a key for one purpose, and `split` it where two are needed.
 *
 * @packageDocumentation
 */
export type { RandomDType, RandomOptions } from './draw.js';
export { foldIn, key, RandomKey, split } from './key.js';
export { normal, type NormalOptions } from './normal.js';
export { choice, permutation, type ChoiceOptions, type PlaceDType } from './permutation.js';
export { uniform, type UniformOptions } from './uniform.js';
