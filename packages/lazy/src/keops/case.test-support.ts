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
import { upload, type Numbers } from '../reference.test-support.js';
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
}

/** Placeholders of rows of i, of rows of j, and of one vector. */
export const I = (position: number, dim: number): LazyTensor => lazyI({ position, dim });
export const J = (position: number, dim: number): LazyTensor => lazyJ({ position, dim });
export const P = (position: number, dim: number): LazyTensor => param({ position, dim });

/** Runs every case on the device. */
export function describeCases(
  what: string,
  device: () => Device,
  cases: () => readonly Case[],
): void {
  describe(what, () => {
    for (const one of cases()) {
      it(one.name, async () => {
        const { value, index } = await compute(one, device());
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
