import { cpu } from '@mercer/cpu-runtime';
import { ops, reduction, vi, vij, vj } from '@mercer/formula';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { emitMapReduce } from '../map-reduce/emit.js';
import { planMapReduce } from '../map-reduce/plan.js';
import { packParams } from '../kernel-param.js';

const limits = {
  ...({ kind: 'cpu', level: 'x86-64-v2', cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 } as const),
  interpreted: true,
} as const;
const distance = ops.sqDist(vi(0, 2), vj(1, 2));
/** Two reductions over ranges, of 16-bit inputs and rows by index. */
const plan = planMapReduce(
  {
    reduction: reduction('Sum', ops.mul(distance, ops.gather(vi(2, 3), vj(3, 1)))),
    further: [reduction('ArgKMin', distance, { k: 2 })],
    ...({ dtype: 'float32', rowsI: 10, rowsJ: 10, batch: 1, ranges: true } as const),
    storage: { 0: 'float16', 2: 'bfloat16' },
  },
  limits,
);
const [kernel] = emitMapReduce(plan).steps.map((step) => step.kernel);
if (kernel?.dialect !== 'cpu' || kernel.program === undefined) throw new TypeError('no program');
const { program } = kernel;
const paramBytes = packParams(kernel.params).bytes;
const make = (words: Int32Array): unknown =>
  cpu.interpret({ words, constants: program.constants }, { paramBytes });
const refused = expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error;

// version, family, data type, how many settings, the settings
const FIRST = 4;
const setting = (place: number, value: number): Int32Array =>
  program.words.with(FIRST + place, value);

describe('a malformed program of a map-reduce', () => {
  it('is one only where it was changed', () => {
    expect(() => make(program.words)).not.toThrow();
  });

  it.each([
    ['an axis that there is not', 0, 2],
    ['no reduction', 3, 0],
    ['more reductions than settings', 3, 1000],
    ['fewer inputs than are read', 4, 3],
    ['another number of own components', 5, 1],
    ['a reduction that there is not', 9, 22],
    ['a reduction of another length', 10, 2],
    ['weights of a plain sum', 11, 1],
    ['sums that there are not', 13, 5],
    ['another kind of sum for the nearest', 18, 2],
    ['an input of another type', 19, 0],
    ['a table out of order', 24, 1],
    ['rows by index of what is no table', 24, -1],
  ])('is refused: %s', (_, place, value) => {
    expect(program.words[FIRST + place]).not.toBe(value);
    expect(() => make(setting(place, value))).toThrow(refused);
  });

  it('is refused where values of pairs are of an input of rows, or rows of an input of pairs', () => {
    const pairs = planMapReduce(
      {
        reduction: reduction('Sum', ops.mul(vij(0, 2), vj(1, 1))),
        ...({ dtype: 'float32', rowsI: 10, rowsJ: 10, batch: 1 } as const),
      },
      limits,
    );
    const [one] = emitMapReduce(pairs).steps.map((step) => step.kernel);
    if (one?.dialect !== 'cpu' || one.program === undefined) throw new TypeError('no program');
    const { words, constants } = one.program;
    const bytes = packParams(one.params).bytes;
    const makePairs = (changed: Int32Array): unknown =>
      cpu.interpret({ words: changed, constants }, { paramBytes: bytes });
    expect(() => makePairs(words)).not.toThrow();
    // nine numbers, a reduction of five, then the element type and the mark of each input
    const [ofPairs, ofRows] = [FIRST + 15, FIRST + 17];
    expect([words[ofPairs], words[ofRows]]).toEqual([-2, -1]);
    for (const changed of [
      words.with(ofPairs, -1),
      words.with(ofRows, -2),
      words.with(ofPairs, -3),
      words.with(ofPairs, -1).with(ofRows, -2),
    ]) {
      expect(() => makePairs(changed)).toThrow(refused);
    }
    // the component of a row, then how many values of pairs there are, and of each its input and place
    const last = FIRST + (words[3] ?? 0);
    expect([...words.slice(last - 5, last)]).toEqual([2, 0, 0, 0, 1]);
    for (const [at, value] of [
      [last - 5, 3],
      [last - 5, -1],
      [last - 4, 1],
      [last - 2, 2],
      [last - 1, -1],
    ] as const) {
      expect(() => makePairs(words.with(at, value))).toThrow(refused);
    }
    // no room for the column stride
    const fewer = bytes - 8;
    expect(() => cpu.interpret({ words, constants }, { paramBytes: fewer })).toThrow(refused);
  });

  it('is refused in whatever is changed, or made: nothing crashes', () => {
    const change = fc.tuple(
      fc.integer({ min: 2, max: program.words.length - 1 }),
      fc.oneof(fc.integer({ min: -3, max: 40 }), fc.integer()),
    );
    let made = 0;
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const words = program.words.slice();
        for (const [at, value] of changes) words[at] = value;
        try {
          make(words);
          made++;
        } catch (error) {
          expect(error).toEqual(refused);
        }
      }),
      { numRuns: 3000 },
    );
    expect(made).toBeGreaterThan(50);
  });
});

describe('a malformed program of a sum with components in memory', () => {
  const sum = reduction('Sum', ops.oneHot(distance, 100));
  const sizes = { dtype: 'float32', rowsI: 10, rowsJ: 10, batch: 1 } as const;
  const [first] = emitMapReduce(planMapReduce({ reduction: sum, ...sizes }, limits)).steps;
  const own = first?.kernel.dialect === 'cpu' ? first.kernel : undefined;
  const words = own?.program?.words ?? new Int32Array();
  const bytes = packParams(own?.params ?? []).bytes;
  const constants = own?.program?.constants ?? new Float64Array();
  const read = (all: Int32Array): unknown =>
    cpu.interpret({ words: all, constants }, { paramBytes: bytes });

  it('is one only where it was changed', () => {
    expect(() => read(words)).not.toThrow();
  });

  it.each([
    ['places that are no selection', 2, -2],
    ['values of all components', 2, 0],
    ['another reduction', 9, 1],
    ['sums of blocks', 13, 0],
  ])('is refused: %s', (_, place, value) => {
    expect(words[FIRST + place]).not.toBe(value);
    expect(() => read(words.with(FIRST + place, value))).toThrow(refused);
  });
});
