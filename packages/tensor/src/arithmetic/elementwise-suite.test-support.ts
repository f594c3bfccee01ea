import { DTYPES, type DType } from '@mercer/kernels';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tensor, type Device, type Tensor } from '../index.js';
import { castOracle } from '../testing/cast-oracle.test-support.js';
import { LAYOUTS, viewOf, type LayoutName } from '../testing/view-layouts.test-support.js';
import { CountTable } from '../testing/count-table.test-support.js';
import { elementwise } from './elementwise.js';
import { resultDType } from './dtype-rules.js';
import { MEANINGS } from './operator-meanings.test-support.js';
import { OPERATORS, type Operator, type OperatorName } from './operators.js';

type Values = readonly number[];

const NAMES = Object.keys(OPERATORS) as OperatorName[];

const FRACTIONS = [0.1, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 7.25, 20.5, 60, 1e-10, 1e10, Infinity, 0];
const signed = (values: Values): Values => [NaN, ...values, ...values.map((x) => -x)];

const SINGLE = signed([
  ...FRACTIONS,
  1.4e-45,
  1e-40,
  1.1754943508222875e-38,
  3.4028234663852886e38,
]);
const DOUBLE = signed([...FRACTIONS, 5e-324, 1e-310, 2.2250738585072014e-308, Number.MAX_VALUE]);
const HALF = signed([...FRACTIONS, 6e-8, 6.2e-5, 65504]);
const INT32 = [0, 1, 2, 3, 7, 13, 100, 255, 46341, 2 ** 24 + 1, 2 ** 31 - 1].flatMap((x) => [
  x,
  -x,
]);

/** Special values, ends and usual ones of each dtype. */
const SAMPLES: Readonly<Record<DType, Values>> = {
  float64: DOUBLE,
  float32: SINGLE,
  float16: HALF,
  bfloat16: SINGLE,
  int64: [...INT32, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 2 ** 62, -(2 ** 63)],
  int32: [...INT32, -(2 ** 31)],
  uint8: [0, 1, 2, 3, 7, 100, 127, 128, 254, 255],
  bool: [0, 1],
};

/** Whole numbers of float64 are exact up to here. */
const EXACT = 2 ** 53;

/** An operand as numbers. */
interface Operand {
  readonly given: Tensor | number;
  readonly dtype: DType | 'number';
  readonly values: Values;
}

async function make(
  dtype: DType,
  values: Values,
  shape: readonly number[],
  device: Device,
): Promise<Tensor> {
  const data = dtype === 'int64' ? BigInt64Array.from(values, BigInt) : Float64Array.from(values);
  return tensor(data, { dtype, shape, device });
}

const read = async (x: Tensor): Promise<Values> => Array.from(await x.toTypedArray(), Number);

/** What an operation of such operands computes in and gives. */
function expectedDType(
  name: OperatorName,
  operands: readonly Operand[],
): ReturnType<typeof resultDType> {
  const { rule, conditions, arithmetic }: Operator = OPERATORS[name];
  const dtypes = operands.slice(conditions ?? 0).map(({ dtype, values: [value] }) => {
    if (dtype !== 'number') return dtype;
    return Number.isInteger(value) ? ('whole number' as const) : ('number' as const);
  });
  return resultDType(rule, dtypes, arithmetic);
}

/** Undefined where a result is what it should be, else what is wrong. */
function fault(
  name: OperatorName,
  operands: Values,
  found: number,
  { dtype, computesIn }: ReturnType<typeof resultDType>,
): string | undefined {
  const { value, bound, size = Math.abs, distance, anyZero } = MEANINGS[name];
  const isSingle = computesIn === 'float32';
  const inner = isSingle ? operands.map(Math.fround) : operands;
  const exact = value(...inner);
  const said = `${name}(${operands.join(', ')}) in ${computesIn} to ${dtype} is ${found}, not ${exact}`;
  if (dtype === 'bool' || !dtype.startsWith('float')) {
    // whole numbers that float64 cannot hold, and remainders of such
    if (name === 'mod' && inner.reduce((sum, x) => sum + Math.abs(x), 0) > EXACT) return undefined;
    const stored = Number(castOracle(isSingle ? Math.fround(exact) : exact, dtype));
    return stored === found ? undefined : said;
  }
  const wanted = isSingle ? Math.fround(exact) : exact;
  if (Object.is(wanted, found)) return undefined;
  if (anyZero === true && wanted === 0 && found === 0) return undefined;
  if (bound === undefined || Number.isNaN(wanted) || Number.isNaN(found)) return said;
  const u = isSingle ? 2 ** -24 : 2 ** -53;
  const smallest = isSingle ? 2 ** -126 : 2 ** -1022;
  const allowed = bound[isSingle ? 0 : 1] * u * size(exact, ...inner);
  // an infinity where the value is as near to the largest number as the bound
  const top = isSingle ? 3.4028234663852886e38 : Number.MAX_VALUE;
  const near = Math.max(-top, Math.min(top, found));
  const target = Math.max(-top, Math.min(top, exact));
  const off = distance?.(near, target, ...inner) ?? Math.abs(near - target);
  // below the normal range precision is lost, and a GPU's roots and powers may give 0
  return off <= allowed + smallest ? undefined : `${said}: off by ${off}, allowed ${allowed}`;
}

/** The first faults of a result; `at` gives the operands of an element. */
function faults(
  name: OperatorName,
  found: Values,
  at: (index: number) => Values,
  dtypes: ReturnType<typeof resultDType>,
): readonly string[] {
  return found.flatMap((one, index) => fault(name, at(index), one, dtypes) ?? []).slice(0, 8);
}

/** Shapes that broadcast, of two operands. */
const SHAPES: Readonly<Record<string, readonly [Values, Values]>> = {
  'the same': [
    [5, 7],
    [5, 7],
  ],
  row: [[5, 7], [7]],
  'row and column': [
    [5, 1],
    [1, 7],
  ],
  'no axes': [[], [5, 7]],
  'no axes at all': [[], []],
  'an empty axis': [[0, 7], [7]],
  'an axis of 1 beside an empty one': [
    [5, 0],
    [5, 1],
  ],
  'more axes': [
    [2, 3, 4],
    [3, 1],
  ],
  long: [[70, 33], [33]],
};

/** Usual values of a dtype, none of them special. */
const usual = (dtype: DType): Values =>
  dtype === 'bool'
    ? [0, 1]
    : dtype === 'uint8'
      ? [1, 2, 5, 9]
      : dtype.startsWith('int')
        ? [-3, -1, 1, 2, 8]
        : [-2.5, -1, 0.25, 1, 3];

/** Options of {@link elementwiseSuite}. */
export interface ElementwiseSuiteOptions {
  /** Every operation with every dtype; else each with float32 and one of the others in turn. */
  readonly whole: boolean;
}

/** Every elementwise operation on a device, against its meaning in float64. */
export function elementwiseSuite(where: () => Device, { whole }: ElementwiseSuiteOptions): void {
  it('every operation has a meaning', () => {
    expect(Object.keys(MEANINGS).sort()).toEqual([...NAMES].sort());
  });

  describe.each(NAMES)('%s', (name) => {
    const { arity }: Operator = OPERATORS[name];
    const others = DTYPES.filter((dtype) => dtype !== 'float32');
    const inTurn = others[NAMES.indexOf(name) % others.length] ?? 'float64';
    const dtypes = whole ? DTYPES : (['float32', inTurn] as const);

    it.each(dtypes)('means what it says for special values and usual ones of %s', async (dtype) => {
      const device = where();
      const samples = SAMPLES[dtype];
      const flat = await make(dtype, samples, [samples.length], device);
      const stored = await read(flat);
      const tensors = [flat];
      if (arity > 1) tensors.unshift(flat.reshape([samples.length, 1]));
      // the condition of a choice
      if (arity > 2)
        tensors.unshift(await make('float64', [0, 1, NaN, -0, 0.5], [5, 1, 1], device));
      const result = await elementwise(name, tensors);
      const operands = tensors.map((one): Operand => ({
        given: one,
        dtype: one.dtype,
        values: stored,
      }));
      const expected = expectedDType(name, operands);
      expect(result.dtype).toBe(expected.dtype);
      const found = await read(result);
      const n = stored.length;
      expect(found).toHaveLength(arity === 1 ? n : arity === 2 ? n * n : 5 * n * n);
      const element = (index: number): Values => {
        const last = stored[index % n] ?? NaN;
        if (arity === 1) return [last];
        const first = stored[Math.floor(index / n) % n] ?? NaN;
        if (arity === 2) return [first, last];
        return [[0, 1, NaN, -0, 0.5][Math.floor(index / n / n)] ?? NaN, first, last];
      };
      expect(faults(name, found, element, expected)).toEqual([]);
      for (const one of [...tensors, result]) one.dispose();
    });
  });

  it('broadcasts operands of all dtypes and layouts', { timeout: 600_000 }, async () => {
    const device = where();
    const kinds = [...DTYPES, 'number'] as const;
    const counts = new CountTable()
      .expect('operands', ['1', '2', '3'])
      .expect('first dtype', DTYPES)
      .expect('second dtype', kinds)
      .expect('shapes', Object.keys(SHAPES))
      .expect('first layout', LAYOUTS)
      .expect('second layout', LAYOUTS);
    const cases = fc.record({
      // one of three operands more often than among all
      name: fc.oneof(
        { weight: 9, arbitrary: fc.constantFrom(...NAMES) },
        fc.constant('where' as const),
      ),
      dtypes: fc.tuple(fc.constantFrom(...DTYPES), fc.constantFrom(...kinds)),
      shapes: fc.constantFrom(...Object.keys(SHAPES)),
      layouts: fc.tuple(fc.constantFrom(...LAYOUTS), fc.constantFrom(...LAYOUTS)),
      number: fc.constantFrom(2, -3, 0.5, 1.25),
      seed: fc.integer({ min: 1, max: 1000 }),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ name, dtypes, shapes, layouts, number, seed }) => {
        const { arity }: Operator = OPERATORS[name];
        const [first, second] = SHAPES[shapes] ?? [[], []];
        const operand = async (
          dtype: DType | 'number',
          shape: Values,
          layout: LayoutName,
        ): Promise<Operand> => {
          if (dtype === 'number') return { given: number, dtype, values: [number] };
          const view = viewOf(dtype, shape, layout, device);
          const list = usual(dtype);
          const values = Array.from(
            { length: view.size },
            (_, k) => list[((k + 1) * seed) % list.length] ?? 0,
          );
          using source = await make(dtype, values, shape, device);
          await view.copyFrom(source);
          return { given: view, dtype, values: await read(source) };
        };
        const two = [
          await operand(dtypes[0], first, layouts[0]),
          await operand(dtypes[1], second, layouts[1]),
        ];
        const condition = arity === 3 ? [await operand('bool', second, 'plain')] : [];
        const operands = [...condition, ...two.slice(0, Math.min(arity, 2))];
        const result = await elementwise(
          name,
          operands.map(({ given }) => given),
        );
        const tensors = operands.flatMap(({ given }) => (typeof given === 'number' ? [] : [given]));
        const rank = Math.max(...tensors.map((one) => one.rank));
        const shape = Array.from({ length: rank }, (_, axis) => {
          const all = tensors.map((one) => one.shape[one.rank - rank + axis] ?? 1);
          return all.includes(0) ? 0 : Math.max(...all);
        });
        expect(result.shape).toEqual(shape);
        const expected = expectedDType(name, operands);
        expect(result.dtype).toBe(expected.dtype);
        const at = (index: number): Values => {
          const place = shape.map(() => 0);
          for (let axis = rank - 1, rest = index; axis >= 0; axis--) {
            place[axis] = rest % (shape[axis] ?? 1);
            rest = Math.floor(rest / (shape[axis] ?? 1));
          }
          return operands.map(({ given, values }) => {
            if (typeof given === 'number') return given;
            const own = given.shape.reduce(
              (sum, extent, axis) =>
                sum * extent + (extent === 1 ? 0 : (place[rank - given.rank + axis] ?? 0)),
              0,
            );
            return values[own] ?? NaN;
          });
        };
        expect(faults(name, await read(result), at, expected)).toEqual([]);
        counts.add('operands', String(arity));
        counts.add('first dtype', dtypes[0]);
        counts.add('shapes', shapes);
        counts.add('first layout', layouts[0]);
        if (arity > 1) {
          counts.add('second dtype', dtypes[1]);
          if (dtypes[1] !== 'number') counts.add('second layout', layouts[1]);
        }
        for (const one of [...tensors, result]) one.dispose();
      }),
      { numRuns: whole ? 600 : 100, seed: 5 },
    );
    expect(counts.report(`elementwise operations on ${device.id}`)).toEqual([]);
  });
}
