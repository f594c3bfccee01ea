import { eq, gt, lt, mul, ne, select, variable, type RealExpr } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import { sizeOfShape } from '../checked-size.js';
import { patternOf } from '../elementwise.js';
import { rowMajorStrides } from '../layout.js';
import { addFormula, addMap } from '../map-kernel.js';
import type { CallSteps, CallView } from '../operation/call-steps.js';

const [a, b] = [variable('a'), variable('b')];
const [placeOfA, placeOfB] = [variable('placeOfA'), variable('placeOfB')];
const x = variable('x');
const place = variable('place');

const isNaN = (value: RealExpr) => ne(value, value);

/** 1 where equal keys are out of order: the one that was first stays first. */
const byPlace = select(lt(placeOfB, placeOfA), 1, 0);
const ofNumbers = select(lt(b, a), 1, select(eq(a, b), byPlace, 0));
/** Whether b comes before a. NaN comes behind all numbers. */
const exchanged = gt(
  select(isNaN(b), select(isNaN(a), byPlace, 0), select(isNaN(a), 1, ofNumbers)),
  0,
);
const RESULTS = [
  select(exchanged, b, a),
  select(exchanged, a, b),
  select(exchanged, placeOfB, placeOfA),
  select(exchanged, placeOfA, placeOfB),
] as const;
const negated = mul(x, -1);

/** Whole numbers below it are exact in float32. */
const FLOAT32_PLACES = 2 ** 24;

/** Keys of rows that are sorted, and the places where they were. */
interface Sorted {
  readonly keys: CallView;
  readonly places: CallView;
}

/** What is compared: float64 where float32 has not every value. */
const keyDType = (dtype: DType): 'float32' | 'float64' =>
  dtype === 'float64' || dtype === 'int64' || dtype === 'int32' ? 'float64' : 'float32';

/**
 * Adds to a call where the elements of a view come from along its last axis once they are sorted, as int32. Elements of equal value keep
 * their order, which makes the order total, and NaN comes last.
 *
 * Batcher's bitonic network ("Sorting networks and their applications", AFIPS 1968), a map for each of its steps, over rows that are filled up
 * with NaN to a power of two.
 *
 * @param from (...outer, n), any strides
 */
export function addArgSort(steps: CallSteps, from: CallView, isDescending: boolean): CallView {
  const outer = from.shape.slice(0, -1);
  const n = from.shape.at(-1) ?? 0;
  const length = 2 ** Math.ceil(Math.log2(Math.max(n, 1)));
  const rows = sizeOfShape(outer);
  const dtype = keyDType(from.dtype);
  const made = (): Sorted => ({
    keys: steps.scratchMemory({ shape: [...outer, length], dtype }),
    places: steps.scratchMemory({ shape: [...outer, length], dtype: 'int32' }),
  });
  let [now, next] = [made(), made()];
  const computesIn = length > FLOAT32_PLACES ? 'float64' : undefined;
  const strides = rowMajorStrides(now.keys.shape);
  const filled = { ...now.keys, shape: [...outer, n], strides };
  addFormula(steps, isDescending ? negated : x, { inputs: { x: from }, to: filled });
  const rest = { ...filled, shape: [...outer, length - n], offset: n };
  steps.fill(rest, patternOf(NaN, dtype, 'the end of a row'));
  addFormula(steps, place, { inputs: {}, to: now.places, indices: { place: -1 }, computesIn });
  /** One step: pairs of a block are ordered, the smaller one to `first`. */
  const ordered = (
    blocks: number,
    first: readonly number[],
    last: readonly number[],
    at: number,
  ): void => {
    const shape = [blocks, (first[0] ?? 0) / 2];
    const firstOf = (view: CallView): CallView => ({ ...view, shape, strides: first, offset: 0 });
    const lastOf = (view: CallView): CallView => ({ ...view, shape, strides: last, offset: at });
    const views = [firstOf(now.keys), lastOf(now.keys), firstOf(now.places), lastOf(now.places)];
    const to = [firstOf(next.keys), lastOf(next.keys), firstOf(next.places), lastOf(next.places)];
    const names = ['a', 'b', 'placeOfA', 'placeOfB'];
    addMap(
      steps,
      {
        results: RESULTS.map((expr, k) => ({ expr, to: to[k] as CallView })),
        shape,
        inputs: views.map((view, k) => ({
          name: names[k] ?? '',
          dtype: view.dtype,
          strides: view.strides,
        })),
        views,
        computesIn,
      },
      () => NO_NUMBERS,
    );
    [now, next] = [next, now];
  };
  if (rows * n > 0) {
    for (let size = 2; size <= length; size *= 2) {
      const blocks = (rows * length) / size;
      // each pair of sorted halves, one of them backwards, is one bitonic row
      ordered(blocks, [size, 1], [size, -1], size - 1);
      for (let block = size / 2; block > 1; block /= 2) {
        ordered((rows * length) / block, [block, 1], [block, 1], block / 2);
      }
    }
  }
  return { ...now.places, shape: [...outer, n], strides };
}

const NO_NUMBERS = Object.freeze({});
