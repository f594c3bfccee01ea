import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpu } from './cpu.js';
import { interpret, type TileProgram } from './interpret.js';

const code = (expected: string): unknown => expect.objectContaining({ code: expected });

// The layout that native/interpreter/program.cc reads.
const [VERSION, MAP, FLOAT32] = [7, 0, 0];
const [CONSTANT, UNIFORM, INPUT, REGISTER, TABLE] = [0, 1, 3, 4, 5];
const [COPY, ADD, MUL, LESS, SELECT] = [0, 1, 3, 17, 23];
const ELEMENT_FLOAT32 = 1;
// Functions come behind the others.
const OPERATIONS = ['native/interpreter/operations.inc', 'build/generated/functions.inc'].flatMap(
  (name) => {
    const text = readFileSync(new URL(`../${name}`, import.meta.url), 'utf8');
    return [...text.matchAll(/^MERCER_[A-Z]+\((\w+),/gm)].map(([, operation]) => operation);
  },
);
const [FLOOR, ROUND, BESSEL] = ['math_floor', 'math_round', 'math_besselK'].map((name) =>
  OPERATIONS.indexOf(name),
) as [number, number, number];

interface Code {
  readonly slots: readonly (readonly [kind: number, index: number])[];
  readonly instructions: readonly (readonly [number, number, number, number, number])[];
  readonly roots: readonly number[];
  readonly registers: number;
}

const words = ({ slots, instructions, roots, registers }: Code): number[] => [
  ...[slots.length, ...slots.flat()],
  ...[instructions.length, ...instructions.flat()],
  ...[roots.length, ...roots, registers],
];

const NO_VALUES: Code = { slots: [], instructions: [], roots: [], registers: 0 };
/** scale + 1 once a launch. */
const SCALE: Code = {
  slots: [
    [INPUT, 0],
    [CONSTANT, 0],
    [REGISTER, 0],
  ],
  instructions: [[ADD, 2, 0, 1, -1]],
  roots: [2],
  registers: 1,
};
/** x < y ? x + y : (scale + 1) x */
const VALUE: Code = {
  slots: [
    [INPUT, 0],
    [INPUT, 1],
    [UNIFORM, 0],
    [REGISTER, 0],
    [REGISTER, 1],
    [REGISTER, 2],
    [REGISTER, 3],
  ],
  instructions: [
    [LESS, 3, 0, 1, -1],
    [ADD, 4, 0, 1, -1],
    [MUL, 5, 0, 2, -1],
    [SELECT, 6, 3, 4, 5],
  ],
  roots: [6],
  registers: 4,
};

/** A map of float32 x and y with one parameter, over one dimension. */
const mapOf = (value: Code, launch: Code = SCALE, settings?: readonly number[]): TileProgram => {
  const own = settings ?? [1, 1, 2, 0, 1, ELEMENT_FLOAT32, ELEMENT_FLOAT32, ELEMENT_FLOAT32, 1];
  return {
    words: [VERSION, MAP, FLOAT32, own.length, ...own, 2, ...words(launch), ...words(value)],
    constants: [1],
  };
};
// x, y, out, n, three strides, the parameter
const PARAM_BYTES = 8 * 8;
const make = (program: TileProgram) => interpret(program, { paramBytes: PARAM_BYTES });

async function run(program: TileProgram, count: number, scale: number) {
  const [x, y, out] = [0, 1, 2].map(() => cpu.allocate(4 * count + 64)) as [
    ReturnType<typeof cpu.allocate>,
    ReturnType<typeof cpu.allocate>,
    ReturnType<typeof cpu.allocate>,
  ];
  const floats = (buffer: typeof x) =>
    new Float32Array(buffer.arrayBuffer, buffer.byteOffset, count + 16);
  const [xs, ys, results] = [floats(x), floats(y), floats(out).fill(-7)];
  for (let i = 0; i < count; i++) [xs[i], ys[i]] = [i % 5, i % 7];
  const params = new DataView(new ArrayBuffer(PARAM_BYTES));
  [x, y, out].forEach(({ address }, i) => {
    params.setBigUint64(8 * i, address, true);
  });
  [count, 1, 1, 1].forEach((value, i) => {
    params.setBigInt64(24 + 8 * i, BigInt(value), true);
  });
  params.setFloat64(56, scale, true);
  const fn = make(program);
  const stream = cpu.createStream();
  const geometry = { tasks: 1, chunk: 1, scratchBytes: 0 };
  fn.launch(geometry, stream, new Uint8Array(params.buffer), [x, y, out]);
  fn.dispose(); // the launch keeps the program
  await stream.whenDone();
  return { xs, ys, results };
}

describe('a tile program', () => {
  it.each([1, 63, 64, 65, 512, 513, 40_000, 200_001])('computes %i elements', async (count) => {
    const { xs, ys, results } = await run(mapOf(VALUE), count, 2);
    const wanted = results.map((_, i) => {
      const [x, y] = [xs[i] ?? 0, ys[i] ?? 0];
      return i >= count ? -7 : x < y ? x + y : 3 * x;
    });
    expect(results).toEqual(wanted);
  });

  it('gives the same for every number of threads', async () => {
    const threads = cpu.threads;
    try {
      const all = [];
      for (const n of [1, 2, 5]) {
        cpu.setThreads(n);
        all.push((await run(mapOf(VALUE), 300_000, 0.1)).results);
      }
      expect(all[1]).toEqual(all[0]);
      expect(all[2]).toEqual(all[0]);
    } finally {
      cpu.setThreads(threads);
    }
  });

  it('runs on every level that the processor has', async () => {
    const { level } = cpu.info();
    const fn = interpret(mapOf(VALUE), { paramBytes: PARAM_BYTES, level });
    expect(fn.paramBytes).toBe(PARAM_BYTES);
    const { results } = await run(mapOf(VALUE), 10, 1);
    expect(results[3]).toBe(6);
  });
});

/** x rounded by the scale that a table begins with. */
const rounded = (table: readonly [number, number], operation = ROUND): Code => ({
  slots: [[INPUT, 0], table, [REGISTER, 0]],
  instructions: [[operation, 2, 0, 1, -1]],
  roots: [2],
  registers: 1,
});

/** A constant, copied by an instruction. */
const copied = (instruction: Code['instructions'][number]): Code => ({
  slots: [
    [CONSTANT, 0],
    [INPUT, 0],
    [REGISTER, 0],
  ],
  instructions: [instruction],
  roots: [2],
  registers: 1,
});

const changed = (change: Partial<Code>): TileProgram => mapOf({ ...VALUE, ...change });
const [less, sum, product, choice] = VALUE.instructions;

describe('a malformed program is refused:', () => {
  const none = [less, sum, product, choice] as Code['instructions'];
  it.each<[string, TileProgram]>([
    ['no words', { words: [], constants: [] }],
    ['another version', { words: [1, ...mapOf(VALUE).words.slice(1)], constants: [1] }],
    ['no known family', { words: [VERSION, 99, 0, 0, 0], constants: [] }],
    ['the family behind the last', { words: [VERSION, 4, 0, 0, 0], constants: [] }],
    [
      'another data type',
      { words: [VERSION, MAP, 2, ...mapOf(VALUE).words.slice(3)], constants: [1] },
    ],
    ['words behind the end', { words: [...mapOf(VALUE).words, 0], constants: [1] }],
    ['a slot of no known kind', changed({ slots: [[9, 0], ...VALUE.slots.slice(1)] })],
    ['an input that there is not', changed({ slots: [[INPUT, 2], ...VALUE.slots.slice(1)] })],
    ['an input with two slots', changed({ slots: [[INPUT, 1], ...VALUE.slots.slice(1)] })],
    ['an input before the first', changed({ slots: [[INPUT, -1], ...VALUE.slots.slice(1)] })],
    ['a constant that there is not', changed({ slots: [[CONSTANT, 1], ...VALUE.slots.slice(1)] })],
    [
      'a value of the launch that there is not',
      changed({ slots: [[UNIFORM, 1], ...VALUE.slots.slice(1)] }),
    ],
    ['a register behind the last', changed({ registers: 3 })],
    ['too many registers', changed({ registers: 1 << 20 })],
    ['no known operation', changed({ instructions: [[999, 3, 0, 1, -1], ...none.slice(1)] })],
    [
      'an operand that is no slot',
      changed({ instructions: [[LESS, 3, 0, 77, -1], ...none.slice(1)] }),
    ],
    [
      'an operand before the first slot',
      changed({ instructions: [[LESS, 3, -5, 1, -1], ...none.slice(1)] }),
    ],
    ['an operand of a copy that is no slot', mapOf(copied([COPY, 2, 0, 1e9, -1]))],
    ['an operand of a copy that is a slot', mapOf(copied([COPY, 2, 0, 1, -1]))],
    ['a third operand of a copy', mapOf(copied([COPY, 2, 0, -1, 0]))],
    ['an operand of a copy before the first slot', mapOf(copied([COPY, 2, 0, -2, -1]))],
    [
      'a third operand of a sum',
      changed({ instructions: [less as never, [ADD, 4, 0, 1, 5], ...none.slice(2)] }),
    ],
    [
      'an operand of a launch value',
      mapOf(VALUE, { ...SCALE, instructions: [[COPY, 2, 0, 1, -1]] }),
    ],
    [
      'an operand that is not written yet',
      changed({ instructions: [[LESS, 3, 4, 1, -1], ...none.slice(1)] }),
    ],
    [
      'a result that is an input',
      changed({ instructions: [[LESS, 0, 0, 1, -1], ...none.slice(1)] }),
    ],
    [
      'a result that is no slot',
      changed({ instructions: [[LESS, 70, 0, 1, -1], ...none.slice(1)] }),
    ],
    ['a slot that is written twice', changed({ instructions: [...none, none[1] as never] })],
    [
      'a comparison as a number',
      changed({ instructions: [...none.slice(0, 2), [MUL, 5, 0, 3, -1], none[3] as never] }),
    ],
    [
      'a number as a comparison',
      changed({ instructions: [...none.slice(0, 3), [SELECT, 6, 4, 4, 5]] }),
    ],
    ['a comparison as the result', changed({ roots: [3] })],
    ['an input as the result', changed({ roots: [0] })],
    ['no result', changed({ roots: [] })],
    ['two results', changed({ roots: [6, 5] })],
    [
      'an operand that was overwritten',
      changed({ slots: [...VALUE.slots.slice(0, 5), [REGISTER, 1], [REGISTER, 3]] }),
    ],
    [
      'a result in a register that is written again',
      changed({ slots: [...VALUE.slots.slice(0, 6), [REGISTER, 1]] }),
    ],
    ['a function of the launch', mapOf(VALUE, { ...SCALE, instructions: [[FLOOR, 2, 0, -1, -1]] })],
    ['a table behind the last constant', mapOf(rounded([TABLE, 1]))],
    ['a table that is too short', mapOf(rounded([TABLE, 0], ROUND + 1))],
    ...[1e9, -1, 0.5, NaN].map((order): [string, TileProgram] => [
      `a Bessel function that repeats its recurrence ${order} times`,
      {
        words: mapOf(rounded([TABLE, 0], BESSEL)).words,
        constants: [0, order, ...Array<number>(160).fill(0)],
      },
    ]),
    ['a value as a table', mapOf(rounded([CONSTANT, 0]))],
    ['a table as a value', mapOf(rounded([TABLE, 0], ADD))],
    ['too few settings', mapOf(VALUE, SCALE, [1, 1, 2, 0, 1, 1, 1])],
    ['a rank of 0', mapOf(VALUE, SCALE, [0, 1, 2, 0, 1, 1, 1, 1])],
    ['a rank of 9', mapOf(VALUE, SCALE, [9, 1, 2, 0, 1, 1, 1, 1])],
    ['no results', mapOf(VALUE, SCALE, [1, 0, 2, 0, 1, 1, 1])],
    ['more results than values', mapOf(VALUE, SCALE, [1, 2, 2, 0, 1, 1, 1, 1, 1])],
    ['an element type that there is not', mapOf(VALUE, SCALE, [1, 1, 2, 0, 1, 8, 1, 1])],
    ['a launch without the values that are read', mapOf(VALUE, NO_VALUES)],
    ['words that are no whole numbers', { words: [1.5], constants: [] }],
    ['words beyond 32 bits', { words: [2 ** 31], constants: [] }],
    ['constants that are no numbers', { words: mapOf(VALUE).words, constants: ['1'] as never }],
  ])('%s', (_, program) => {
    expect(() => make(program)).toThrow(code('INVALID_ARGUMENT'));
  });

  it('cut anywhere', () => {
    const { words: all, constants } = mapOf(VALUE);
    for (let length = 0; length < all.length; length++) {
      expect(() => make({ words: all.slice(0, length), constants })).toThrow(
        code('INVALID_ARGUMENT'),
      );
    }
  });

  it('with parameters of another size, at once and at the launch', () => {
    expect(() => interpret(mapOf(VALUE), { paramBytes: 56 })).toThrow(code('INVALID_ARGUMENT'));
    const fn = make(mapOf(VALUE));
    const geometry = { tasks: 1, chunk: 1, scratchBytes: 0 };
    expect(() => {
      fn.launch(geometry, cpu.defaultStream, new Uint8Array(8));
    }).toThrow(code('INVALID_ARGUMENT'));
  });

  it('for a level that the processor lacks, or that there is not', () => {
    const options = { paramBytes: PARAM_BYTES, level: 'x86-64-v9' as never };
    expect(() => interpret(mapOf(VALUE), options)).toThrow(code('UNSUPPORTED_CPU'));
  });

  it('or is run: words of codes changed at random never crash', async () => {
    const { words: all, constants } = mapOf(VALUE);
    const first = 4 + 7; // what is before the codes decides which memory is read
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(
            fc.integer({ min: first, max: all.length - 1 }),
            fc.integer({ min: -2, max: 40 }),
          ),
          {
            minLength: 1,
            maxLength: 3,
          },
        ),
        async (changes) => {
          const mutated = [...all];
          for (const [at, value] of changes) mutated[at] = value;
          try {
            await run({ words: mutated, constants }, 100, 1);
            accepted++;
          } catch (error) {
            expect(error).toEqual(code('INVALID_ARGUMENT'));
          }
        },
      ),
      { numRuns: 2000 },
    );
    expect(accepted).toBeGreaterThan(20);
  });
});

it('a function reads its table', async () => {
  const { xs, results } = await run(mapOf(rounded([TABLE, 0])), 600, 1);
  expect(results.subarray(0, 600)).toEqual(xs.subarray(0, 600));
});

it('a program of one instruction copies', async () => {
  const copy: Code = {
    slots: [
      [INPUT, 1],
      [REGISTER, 0],
    ],
    instructions: [[COPY, 1, 0, -1, -1]],
    roots: [1],
    registers: 1,
  };
  const { ys, results } = await run(mapOf(copy), 600, 1);
  expect(results.subarray(0, 600)).toEqual(ys.subarray(0, 600));
});
