import {
  abs,
  add,
  exp,
  log,
  finish,
  lt,
  max,
  mul,
  neg,
  pow,
  select,
  sign,
  simplify,
  sub,
  variable,
  type Expr,
} from '@mercer/formula/plan';
import { describe, expect, it } from 'vitest';
import { TILE_OPERATIONS } from './operations.js';
import { ProgramBuilder } from './program-builder.js';
import type { TileCode } from './tile-program.js';

const [a, b, s, p] = ['a', 'b', 's', 'p'].map((name) => variable(name)) as [
  ReturnType<typeof variable>,
  ReturnType<typeof variable>,
  ReturnType<typeof variable>,
  ReturnType<typeof variable>,
];
const difference = sub(a, b);
const far = sub(a, exp(b));
const cube = mul(mul(difference, difference), difference);

const lower = (roots: readonly Expr[], nonNegative: readonly string[] = []): TileCode =>
  finish(new ProgramBuilder('float32', ['p']).code(roots, ['a', 'b', 's'], nonNegative));
const operations = (code: TileCode): string[] =>
  code.instructions.map(([operation]) => TILE_OPERATIONS[operation] ?? '');

describe('codes over tiles', () => {
  it.each([
    ['|a - b| added', add(s, abs(difference)), ['addAbsoluteDifference']],
    ['|a - b|, added the other way', add(abs(difference), s), ['addAbsoluteDifference']],
    ['(a - b)^2 added', add(s, mul(difference, difference)), ['addSquaredDifference']],
    ['(a - b)^2', mul(difference, difference), ['squaredDifference']],
    ['a product added', add(s, mul(a, b)), ['multiplyAdd']],
    ['exp(-a)', exp(neg(a)), ['expOfNegative']],
    ...[3, 4, 5, 6, 7, 8].map((n): [string, Expr, string[]] => [
      `|a - b|^${n} added`,
      add(s, simplify(pow(abs(difference), n))),
      [`addPower${n}`],
    ]),
    [
      '(a - b)^3 added, which has a sign',
      add(s, cube),
      ['sub', 'squaredDifference', 'multiplyAdd'],
    ],
    [
      'a power of which others read a part that is computed again',
      add(add(s, simplify(pow(abs(difference), 3))), abs(difference)),
      ['addPower3', 'addAbsoluteDifference'],
    ],
    [
      'a power of which others read a part that must be kept',
      add(add(s, simplify(pow(abs(far), 3))), abs(far)),
      ['exp', 'sub', 'mul', 'abs', 'multiplyAdd', 'add'],
    ],
    [
      'the size of a difference scaled, which others read',
      mul(mul(abs(difference), s), exp(abs(difference))),
      ['absoluteDifference', 'scaledAbsoluteDifference', 'exp', 'mul'],
    ],
    ['a difference scaled', mul(s, difference), ['scaledDifference']],
    ['the size of a difference scaled', mul(abs(difference), s), ['scaledAbsoluteDifference']],
    [
      'a scaled difference times its size',
      mul(mul(exp(s), difference), mul(abs(difference), exp(s))),
      ['exp', 'scaledDifference', 'mulAbsolute'],
    ],
    [
      'the same by a factor of any sign',
      mul(mul(s, difference), mul(abs(difference), s)),
      ['scaledDifference', 'scaledAbsoluteDifference', 'mul'],
    ],
    ['its sign scaled', mul(s, sign(difference)), ['scaledSign']],
    [
      'a difference that others read, computed again',
      add(difference, abs(difference)),
      ['sub', 'addAbsoluteDifference'],
    ],
    [
      'a difference of what must be computed, kept for others',
      add(far, abs(far)),
      ['exp', 'sub', 'abs', 'add'],
    ],
    ['a product that others read', add(mul(a, b), exp(mul(a, b))), ['mul', 'exp', 'add']],
  ])('%s', (_, expr, wanted) => {
    expect(operations(lower([expr]))).toEqual(wanted);
  });

  it('round every operation by itself where that is asked for', () => {
    const roots = [add(s, mul(difference, difference)), add(s, mul(a, b)), add(s, abs(sub(b, a)))];
    const code = finish(new ProgramBuilder('float32', [], true).code(roots, ['a', 'b', 's']));
    expect(operations(code)).toEqual([
      ...['squaredDifference', 'add', 'mul', 'add', 'absoluteDifference', 'add'],
    ]);
  });

  it('compare bits for a maximum only where no value has a sign', () => {
    const largest = max(s, abs(difference));
    expect(operations(lower([largest]))).toEqual(['absoluteDifference', 'max']);
    expect(operations(lower([largest], ['s']))).toEqual(['maxAbsoluteDifference']);
  });

  it('use registers again, except those of results', () => {
    let chain: Expr = a;
    for (let i = 0; i < 20; i++) chain = i % 2 === 0 ? exp(chain as never) : log(chain as never);
    expect(lower([chain]).registers).toBe(2);
    const many = lower([exp(a), exp(b), exp(s), add(exp(a), exp(b))]);
    expect(many.registers).toBe(4);
    expect(new Set(many.roots.map((slot) => many.slots[slot]?.[1])).size).toBe(4);
  });

  it('copy what is given, and a result that is wanted twice', () => {
    expect(operations(lower([a]))).toEqual(['copy']);
    expect(operations(lower([exp(a), exp(a)]))).toEqual(['exp', 'copy']);
  });

  it('take what depends on the launch alone from a code of its own, choices as numbers', () => {
    const builder = new ProgramBuilder('float32', ['p']);
    const code = finish(builder.code([select(lt(p, 2), a, mul(b, exp(p)))], ['a', 'b']));
    expect(operations(code)).toEqual(['mul', 'ne', 'select']);
    expect(operations(finish(builder.launchCode()))).toEqual(['exp', 'lt', 'select']);
  });

  it('give a power what rounding its exponent lost', () => {
    const builder = new ProgramBuilder('float32', ['p']);
    const code = finish(builder.code([pow(abs(a), 1.3), pow(abs(a), p)], ['a']));
    expect(operations(code)).toEqual(['abs', 'powNonNegative', 'powNonNegative']);
    const [, one, two] = code.instructions;
    expect(builder.constants).toEqual([1.3, 1.3 - Math.fround(1.3)]);
    expect(code.slots[one?.[4] ?? -1]).toEqual([0, 1]);
    expect(code.slots[two?.[4] ?? -1]).toEqual([2, 0]);
  });
});
