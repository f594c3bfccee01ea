import { add, eq, gt, lt, mul, ne, select, variable, type RealExpr } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import { sizeOfShape } from '../checked-size.js';
import { patternOf } from '../elementwise.js';
import { rowMajorStrides } from '../layout.js';
import { addFormula, addMap } from '../map-kernel.js';
import type { CallSteps, CallView } from '../operation/call-steps.js';

const [a, b] = [variable('a'), variable('b')];
const [lowOfA, lowOfB] = [variable('lowOfA'), variable('lowOfB')];
const [placeOfA, placeOfB] = [variable('placeOfA'), variable('placeOfB')];
const x = variable('x');
const place = variable('place');

const isNaN = (value: RealExpr) => ne(value, value);

/** 1 where equal keys are out of order: the one that was first stays first. */
const byPlace = select(lt(placeOfB, placeOfA), 1, 0);
/** 1 where one number comes before another, `equal` where they are equal. */
const before = (first: RealExpr, second: RealExpr, equal: RealExpr): RealExpr =>
  select(lt(first, second), 1, select(eq(first, second), equal, 0));
/** Whether b comes before a. NaN comes behind all numbers. */
const ofNumbers = gt(
  select(isNaN(b), select(isNaN(a), byPlace, 0), select(isNaN(a), 1, before(b, a, byPlace))),
  0,
);
/** The same of whole numbers in two words. */
const ofWords = gt(before(b, a, before(lowOfB, lowOfA, byPlace)), 0);

/** Both of a pair that is put in order: the smaller first. */
const ordered = (exchanged: typeof ofNumbers, first: RealExpr, last: RealExpr) =>
  [select(exchanged, last, first), select(exchanged, first, last)] as const;
const OF_NUMBERS = [...ordered(ofNumbers, a, b), ...ordered(ofNumbers, placeOfA, placeOfB)];
const OF_WORDS = [
  ...ordered(ofWords, a, b),
  ...ordered(ofWords, lowOfA, lowOfB),
  ...ordered(ofWords, placeOfA, placeOfB),
];

/** The low word of a whole number, which is read as a number with a sign. */
const low = select(lt(x, 0), add(x, 2 ** 32), x);

/** What is compared, of a view of all and of one of low words. */
const ASCENDING = [x, low];
const DESCENDING = [mul(x, -1), mul(low, -1)];

/** Whole numbers below it are exact in float32. */
const FLOAT32_PLACES = 2 ** 24;

/** What rows are sorted by, and the places where it was. */
interface Sorted {
  readonly keys: readonly CallView[];
  readonly places: CallView;
}

/** What is compared: float64 where float32 has not every value. */
const keyDType = (dtype: DType): 'float32' | 'float64' =>
  dtype === 'float64' || dtype === 'int32' ? 'float64' : 'float32';

/**
 * Adds to a call where the elements of a view come from along its last axis once they are sorted, as int32. Elements of equal value keep
 * their order, which makes the order total, and NaN comes last.
 *
 * Batcher's bitonic network ("Sorting networks and their applications", AFIPS 1968), a map for each of its steps, over rows that are filled up
 * with NaN to a power of two.
 *
 * @param from (...outer, n), any strides: of int64 the high words and the low words, as int32
 */
export function addBitonicSort(
  steps: CallSteps,
  from: readonly [CallView, CallView?],
  isDescending: boolean,
): CallView {
  const [high, lows] = from;
  const outer = high.shape.slice(0, -1);
  const n = high.shape.at(-1) ?? 0;
  const length = 2 ** Math.ceil(Math.log2(Math.max(n, 1)));
  const rows = sizeOfShape(outer);
  const dtype = keyDType(high.dtype);
  const formulas = isDescending ? DESCENDING : ASCENDING;
  const views = lows === undefined ? [high] : [high, lows];
  const made = (): Sorted => ({
    keys: views.map(() => steps.scratchMemory({ shape: [...outer, length], dtype })),
    places: steps.scratchMemory({ shape: [...outer, length], dtype: 'int32' }),
  });
  let [now, next] = [made(), made()];
  const computesIn = length > FLOAT32_PLACES ? 'float64' : undefined;
  const strides = rowMajorStrides(now.places.shape);
  // no word is infinite
  const end = patternOf(lows === undefined ? NaN : Infinity, dtype, 'the end of a row');
  for (const [k, key] of now.keys.entries()) {
    const filled = { ...key, shape: [...outer, n], strides };
    const view = views[k] as CallView;
    addFormula(steps, formulas[k] as RealExpr, { inputs: { x: view }, to: filled });
    steps.fill({ ...filled, shape: [...outer, length - n], offset: n }, end);
  }
  addFormula(steps, place, { inputs: {}, to: now.places, indices: { place: -1 }, computesIn });
  const results = lows === undefined ? OF_NUMBERS : OF_WORDS;
  const keyNames = [
    ['a', 'b'],
    ['lowOfA', 'lowOfB'],
  ].slice(0, views.length);
  const names = [...keyNames, ['placeOfA', 'placeOfB']].flat();
  /** One step: pairs of a block are ordered, the smaller one to `first`. */
  const order = (
    blocks: number,
    first: readonly number[],
    last: readonly number[],
    at: number,
  ): void => {
    const shape = [blocks, (first[0] ?? 0) / 2];
    const pairsOf = ({ keys, places }: Sorted): readonly CallView[] =>
      [...keys, places].flatMap((view) => [
        { ...view, shape, strides: first, offset: 0 },
        { ...view, shape, strides: last, offset: at },
      ]);
    const [pairs, to] = [pairsOf(now), pairsOf(next)];
    addMap(
      steps,
      {
        results: results.map((expr, k) => ({ expr, to: to[k] as CallView })),
        shape,
        inputs: pairs.map((view, k) => ({
          name: names[k] ?? '',
          dtype: view.dtype,
          strides: view.strides,
        })),
        views: pairs,
        computesIn,
      },
      () => NO_NUMBERS,
    );
    [now, next] = [next, now];
  };
  for (let size = 2; size <= length; size *= 2) {
    const blocks = (rows * length) / size;
    // each pair of sorted halves, one of them backwards, is one bitonic row
    order(blocks, [size, 1], [size, -1], size - 1);
    for (let block = size / 2; block > 1; block /= 2) {
      order((rows * length) / block, [block, 1], [block, 1], block / 2);
    }
  }
  return { ...now.places, shape: [...outer, n], strides };
}

const NO_NUMBERS = Object.freeze({});
