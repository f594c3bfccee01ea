import { visitSteps, type Steps } from '@mercer/formula/plan';
import type { CpuLimits } from '../device-limits.js';
import { lanesOf } from '../emit/cpu-vector.js';
import { TILE_OPERATIONS, type TileOperation } from './operations.js';

/**
 * A kernel for the interpreter that ships with the CPU's runtime: what is to be computed as numbers, so
 * that no compiler is needed. Plain data, checked where it is made runnable; the layout is that of
 * packages/cpu-runtime/native/interpreter.
 */
export interface TileProgram {
  /** 32-bit words: the family with its settings, and codes over tiles of values. */
  readonly words: Int32Array;
  /** Numbers that the codes read, before they are rounded to the data type. */
  readonly constants: Float64Array;
}

/** Families of kernels, in the order of their numbers. */
export const TILE_FAMILIES = ['map', 'map-reduce', 'pairwise', 'cdist-grad'] as const;

/** A family of kernels that the interpreter has. */
export type TileFamily = (typeof TILE_FAMILIES)[number];

const VERSION = 7;

/** Straight-line code over tiles: slots (kind, index), instructions (operation, result, operands), results. */
export interface TileCode {
  readonly slots: readonly (readonly [kind: number, index: number])[];
  readonly instructions: readonly (readonly [
    operation: number,
    to: number,
    a: number,
    b: number,
    c: number,
  ])[];
  readonly roots: readonly number[];
  readonly registers: number;
}

/** What a program is written from. */
export interface TileProgramParts {
  readonly family: TileFamily;
  readonly dtype: 'float32' | 'float64';
  readonly settings: readonly number[];
  readonly codes: readonly TileCode[];
  readonly constants: readonly number[];
}

/** Words that a code takes: three lengths, and the number of registers. */
const wordsOf = ({ slots, instructions, roots }: TileCode): number =>
  4 + 2 * slots.length + 5 * instructions.length + roots.length;

/** In steps, writes a program as plain data. */
export function* writeTileProgram(parts: TileProgramParts): Steps<TileProgram> {
  const { family, dtype, settings, codes, constants } = parts;
  const head = [
    ...[VERSION, TILE_FAMILIES.indexOf(family), dtype === 'float64' ? 1 : 0],
    ...[settings.length, ...settings, codes.length],
  ];
  const words = new Int32Array(codes.reduce((sum, code) => sum + wordsOf(code), head.length));
  let end = 0;
  const write = (row: readonly number[]): void => {
    words.set(row, end);
    end += row.length;
  };
  write(head);
  for (const { slots, instructions, roots, registers } of codes) {
    write([slots.length]);
    yield* visitSteps(slots, write);
    write([instructions.length]);
    yield* visitSteps(instructions, write);
    write([roots.length, ...roots, registers]);
  }
  return Object.freeze({ words, constants: Float64Array.from(constants) });
}

/** Operations that take as long as several additions of tiles that lie in the first-level cache, and how many. */
const HEAVY: { readonly [O in TileOperation]?: number } = {
  div: 4,
  sqrt: 4,
  rsqrt: 4,
  exp: 4,
  expOfNegative: 4,
  log: 4,
  tanh: 8,
  powNonNegative: 12,
  powAny: 12,
};
/** Functions by name. */
const FUNCTION = 50;

const WORK: readonly number[] = TILE_OPERATIONS.map((operation) =>
  operation.startsWith('math_') ? FUNCTION : (HEAVY[operation] ?? 1),
);

/** Words of an instruction: operation, result, operands. */
const INSTRUCTION = 5;

/**
 * Additions of vectors that the interpreter takes for each value of a program: for all of its codes, although some are run once for a
 * row and not for each of its pairs.
 */
export function tileWork({ words }: TileProgram, level: CpuLimits['level']): number {
  const [, , isDouble, settings = 0] = words;
  const lanes = lanesOf(level, isDouble === 1 ? 'float64' : 'float32');
  let at = 4 + settings;
  let work = 0;
  for (let codes = words[at++] ?? 0; codes > 0; codes--) {
    at += 1 + 2 * (words[at] ?? 0); // slots
    const end = at + 1 + INSTRUCTION * (words[at] ?? 0);
    for (at += 1; at < end; at += INSTRUCTION) work += WORK[words[at] ?? 0] ?? 1;
    at += 2 + (words[at] ?? 0); // roots, and the number of registers
  }
  return Math.max(1, work) / lanes;
}
