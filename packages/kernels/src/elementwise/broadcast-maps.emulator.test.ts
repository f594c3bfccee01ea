import { describe, expect, test } from 'vitest';
import type { CudaKernel } from '../emitted-kernel.js';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import {
  BROADCAST_CASES,
  memoryOf,
  operandsOf,
  problemOf,
  wanted,
  type BroadcastCase,
  type Memory,
} from './broadcast-cases.test-support.js';
import { emitMap } from './emit.js';
import { planMap } from './plan-map.js';
import type { MapPlan } from './map-plan-types.js';
import { otherWalks } from './map-walk.js';

/** The same by the kernel of its plan or of another, and in blocks of so many rows. */
function run(one: BroadcastCase, other?: MapPlan, span?: number): Memory[] {
  const { plan, scalars, inputs, outOffsets } = planMap(problemOf(one), H200);
  const operands = operandsOf(one);
  const memory = memoryOf(one);
  const starts = [
    ...inputs.map(({ index, offset }) => (operands[index]?.start ?? 0) + offset),
    ...outOffsets.map((offset, r) => (operands[2 + r]?.start ?? 0) + offset),
  ];
  const kernel = emitMap(other ?? plan) as CudaKernel;
  // an emulated pointer reaches nothing before it: where strides are negative the text steps to the first element
  const isBackwards = operands.some(({ strides }) => Math.min(...strides) < 0);
  const steps = isBackwards
    ? starts.map((start, k) => `${k < 2 ? `x${k}` : 'out'} += ${start};`)
    : [];
  const source = kernel.source.replace(/(mercer_map\(.*\) \{)/, `$1 ${steps.join(' ')}`);
  runCudaKernel(
    { ...kernel, source },
    {
      scalars: span === undefined ? scalars : { ...scalars, span },
      pointers: memory.map((own, k) => (isBackwards ? own : own.subarray(starts[k]))),
    },
  );
  return memory;
}

describe('maps with broadcast and strided operands, as CUDA', () => {
  test.each(Object.entries(BROADCAST_CASES))('%s', (_, one) => {
    expect(planMap(problemOf(one), H200).plan.mode).toBe('strided');
    expect(run(one)).toEqual(wanted(one));
  });

  test.each(Object.entries(BROADCAST_CASES))('%s, by the kernels of other sizes', (_, one) => {
    const others = otherWalks(planMap(problemOf(one), H200).plan);
    expect(others).toHaveLength(2);
    for (const other of others) expect(run(one, other)).toEqual(wanted(one));
  });

  test.each(['outer products of odd rows', 'rows of three', 'a transposed matrix'])(
    '%s, in blocks of many rows, and of an odd number',
    (name) => {
      const one = BROADCAST_CASES[name] as BroadcastCase;
      for (const span of [1000, 7]) expect(run(one, undefined, span)).toEqual(wanted(one));
    },
  );

  test('in place, where a pack has an element twice', () => {
    const one = BROADCAST_CASES['a column and a matrix, of odd rows'] as BroadcastCase;
    const { plan, scalars } = planMap(problemOf(one), H200);
    const memory = memoryOf(one);
    const pointers = [memory[0], memory[1], memory[0]] as Memory[];
    runCudaKernel(emitMap(plan) as CudaKernel, { scalars, pointers });
    expect(memory[0]).toEqual(wanted(one)[2]);
  });
});
