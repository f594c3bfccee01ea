import { describe, expect, test } from 'vitest';
import type { CpuKernel } from '../emitted-kernel.js';
import {
  compileKernel,
  compilers,
  cpuTestLimits,
  runnableLevels,
} from '../testing/cpu-harness.test-support.js';
import { runCpuKernel, runInterpreted } from '../testing/cpu-program.test-support.js';
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

const level = runnableLevels().at(-1) ?? 'x86-64-v2';

/** Rows that tasks begin in the middle of, short and long. */
const OF_SEVERAL_TASKS: Readonly<Record<string, BroadcastCase>> = {
  'rows of three, in tasks': {
    shape: [12_000, 3],
    x: { strides: [3, 1] },
    y: { strides: [0, 1] },
    out: { strides: [3, 1] },
  },
  'columns of long rows, in tasks': {
    shape: [90, 784],
    x: { strides: [1, 0] },
    y: { strides: [0, 1] },
    out: { strides: [784, 1] },
  },
  'short rows of many planes, in tasks': {
    shape: [700, 7, 10],
    x: { strides: [10, 0, 1] },
    y: { strides: [0, 1, 0] },
    out: { strides: [70, 10, 1] },
  },
};

function run(one: BroadcastCase, how: 'compiled' | 'interpreted') {
  const { plan, scalars, inputs, outOffsets } = planMap(problemOf(one), cpuTestLimits(level));
  const operands = operandsOf(one);
  const memory = memoryOf(one);
  const from = (k: number, offset: number): Memory =>
    memory[k]?.subarray((operands[k]?.start ?? 0) + offset) as Memory;
  const names = outOffsets.map((_, r) => (outOffsets.length === 1 ? 'out' : `out${r}`));
  const pointers = Object.fromEntries([
    ...inputs.map(({ index, offset }, k) => [`x${k}`, from(index, offset)] as const),
    ...outOffsets.map((offset, r) => [names[r] ?? '', from(2 + r, offset)] as const),
  ]);
  const kernel = emitMap(plan) as CpuKernel;
  if (how === 'interpreted') runInterpreted(kernel, level, { scalars, pointers });
  else {
    const library = compileKernel(compilers()[0] ?? 'c++', kernel.source, level);
    runCpuKernel(kernel, library, { scalars, pointers });
  }
  return memory;
}

describe('maps with broadcast and strided operands', () => {
  // a launch of these tests is given no memory before a pointer, as negative strides need
  const cases = Object.entries({ ...BROADCAST_CASES, ...OF_SEVERAL_TASKS }).filter(([, one]) =>
    operandsOf(one).every(({ strides }) => Math.min(...strides) >= 0),
  );

  test.each(cases)('%s, compiled', (_, one) => {
    expect(run(one, 'compiled')).toEqual(wanted(one));
  });

  test.each(cases)('%s, interpreted', (_, one) => {
    expect(run(one, 'interpreted')).toEqual(wanted(one));
  });
});
