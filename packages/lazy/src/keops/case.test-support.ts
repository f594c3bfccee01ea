import { planMapReduce } from '@mercer/kernels';
import type { Device, Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import {
  lazyI,
  lazyJ,
  param,
  type LazyDType,
  type LazyReduction,
  type LazyTensor,
} from '../index.js';
import { reference, upload, type Numbers } from '../reference.test-support.js';
import { byName } from '../reductions-suite.test-support.js';
import { expectClose, type Tolerance } from './oracle.test-support.js';

/** A reduction of placeholders, data for each, and what loops over pairs of rows give in float64. */
export interface Case extends Tolerance {
  readonly name: string;
  readonly reduction: LazyReduction;
  readonly data: readonly Numbers[];
  readonly dtype: LazyDType;
  readonly value?: Float64Array;
  readonly index?: readonly number[];
  /** Planners refuse it, so far: it needs loops over components, or functions that have no kernel text. */
  readonly mayBeRefused?: boolean;
}

/** A case that planners may refuse, so far. */
export const unlessRefused = (one: Case): Case => ({ ...one, mayBeRefused: true });

/** Placeholders of rows of i, of rows of j, and of one vector. */
export const I = (position: number, dim: number): LazyTensor => lazyI({ position, dim });
export const J = (position: number, dim: number): LazyTensor => lazyJ({ position, dim });
export const P = (position: number, dim: number): LazyTensor => param({ position, dim });

/**
 * Runs every case on the device. Of those that may be refused, what the device's planner does refuse is computed by the
 * evaluator of formulas instead, which tests all but the kernel; the name of the test says so, and why.
 */
export function describeCases(
  what: string,
  device: () => Device,
  cases: () => readonly Case[],
): void {
  describe(what, () => {
    for (const one of cases()) {
      const refusal = one.mayBeRefused ? refusalOf(one, device()) : undefined;
      const how = refusal === undefined ? '' : ` (no kernel, by the evaluator: ${refusal})`;
      it(`${one.name}${how}`, async () => {
        const { value, index } =
          refusal === undefined ? await compute(one, device()) : evaluate(one);
        expect([value !== undefined, index !== undefined]).toEqual([
          one.value !== undefined,
          one.index !== undefined,
        ]);
        if (value !== undefined) expectClose(value, one.value ?? [], one);
        if (index !== undefined) expect(Array.from(index)).toEqual(one.index);
      });
    }
  });
}

interface Numbered {
  readonly value?: ArrayLike<number> | undefined;
  readonly index?: ArrayLike<number> | undefined;
}

/** The data of every input of the reduction: the numbers of placeholders count arguments, those of inputs places. */
const byPlace = ({ reduction, data }: Case): readonly Numbers[] =>
  reduction.inputs.flatMap(({ source }) =>
    source.kind === 'placeholder' ? (data[source.position] ?? []) : [],
  );

const rowsOf = (one: Case, category: 'i' | 'j'): number =>
  byPlace(one).find((_, place) => one.reduction.inputs[place]?.category === category)?.rows ?? 1;

function refusalOf(one: Case, { limits }: Device): string | undefined {
  const { reduction, dtype } = one;
  const sizes = { rowsI: rowsOf(one, 'i'), rowsJ: rowsOf(one, 'j'), batch: 1 };
  try {
    planMapReduce({ reduction: reduction.reduction, dtype, ...sizes }, limits);
    return undefined;
  } catch (error) {
    if (error instanceof RangeError) return error.message.replace(/^.*?: (.*?)\. .*$/s, '$1');
    throw error;
  }
}

async function compute(one: Case, device: Device): Promise<Numbered> {
  const { reduction, data, dtype } = one;
  const places = byPlace(one);
  const tensors: Tensor[] = [];
  for (const numbers of data) {
    const x = await upload(numbers, dtype, device);
    const { category } = reduction.inputs[places.indexOf(numbers)] ?? {};
    tensors.push(category === 'parameter' ? x.reshape([...numbers.batch, numbers.dim]) : x);
  }
  const { value, index } = byName(await reduction.call(tensors));
  return {
    value: await (value as Tensor<LazyDType> | undefined)?.toTypedArray(),
    index: await (index as Tensor<'int32'> | undefined)?.toTypedArray(),
  };
}

function evaluate(one: Case): Numbered {
  const counts = { rowsI: rowsOf(one, 'i'), rowsJ: rowsOf(one, 'j') };
  return reference(one.reduction.reduction, byPlace(one), counts);
}
