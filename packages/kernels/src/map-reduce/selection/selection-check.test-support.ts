import { indexJ, inputsOf, ops, vectorEvaluator, vi, type Category } from '@mercer/formula';
import { expect } from 'vitest';
import type { DeviceLimits } from '../../device-limits.js';
import type { KernelProgram } from '../../emitted-kernel.js';
import type { ProgramLaunch } from '../../testing/cpu-program.test-support.js';
import { wholeNumber } from '../map-reduce-check.test-support.js';
import type { KeptRanges } from '../ranges/ranges.js';
import { planRanges } from '../ranges/plan-ranges.js';
import { emitSelection, emitSelectionCounts } from './emit-selection.js';
import { planSelection, type SelectionProblem } from './plan-selection.js';

const UNTOUCHED = -12345;

/** Selects pairs among points with whole coordinates, and compares every one of them with loops in float64. */
export function checkSelection(
  problem: SelectionProblem,
  limits: DeviceLimits,
  run: (program: KernelProgram, launch: ProgramLaunch) => void,
  ranges?: KeptRanges,
): void {
  const { mask, values, axis = 1, dtype, rowsI, rowsJ, batch } = problem;
  const plan = planSelection(problem, limits);
  const arrayOf = dtype === 'float32' ? Float32Array : Float64Array;
  const data: Record<string, Float32Array | Float64Array> = {};
  const scalars: Record<string, number> = { rowsI, rowsJ, batch };
  const roots = [mask, ...(values === undefined ? [] : [values])];
  const inputs = inputsOf(...roots);
  const rowsOf = (category: Category): number =>
    ({ i: rowsI, j: rowsJ, pair: rowsI * rowsJ, parameter: 1 })[category];
  for (const { position, category, dim } of inputs) {
    const stride = rowsOf(category) * dim;
    data[`x${position}`] = new arrayOf(Array.from({ length: batch * stride }, wholeNumber));
    scalars[`ld${position}`] = category === 'pair' ? rowsJ * dim : dim;
    if (category === 'pair') scalars[`columnStride${position}`] = dim;
    scalars[`batchStride${position}`] = stride;
  }
  const evaluators = roots.map(vectorEvaluator);
  const inputsOfBatch = Array.from({ length: batch }, (_, z) => {
    const rows: number[][] = [];
    for (const { position, category, dim } of inputs) {
      const length = rowsOf(category) * dim;
      rows[position] = [...(data[`x${position}`]?.subarray(z * length, (z + 1) * length) ?? [])];
    }
    return rows;
  });
  const at = (which: 0 | 1, z: number, i: number, j: number): number[] => [
    ...(evaluators[which]?.(inputsOfBatch[z] ?? [], i, j, rowsJ) ?? []),
  ];
  const [kept, reduced] = axis === 1 ? [rowsI, rowsJ] : [rowsJ, rowsI];
  const allowed = allowedRows(ranges, kept, reduced);
  const offsets: bigint[] = [];
  const wantedRows: number[] = [];
  const wantedCounts: number[] = [];
  const wantedValues: number[] = [];
  for (let z = 0; z < batch; z++) {
    for (let own = 0; own < kept; own++) {
      const before = wantedRows.length;
      offsets.push(BigInt(before));
      for (let other = 0; other < reduced; other++) {
        const [i, j] = axis === 1 ? [own, other] : [other, own];
        if (!allowed(own, other) || at(0, z, i, j)[0] === 0) continue;
        wantedRows.push(other);
        if (values !== undefined) wantedValues.push(...at(1, z, i, j));
      }
      wantedCounts.push(wantedRows.length - before);
    }
  }
  const rows = new Int32Array(wantedRows.length + 1).fill(UNTOUCHED);
  const written = new arrayOf(wantedValues.length + 1).fill(UNTOUCHED);
  const pointers: ProgramLaunch['pointers'] = {
    ...data,
    offsets: BigInt64Array.from([...offsets, BigInt(wantedRows.length)]),
    rows,
    ...(values !== undefined && { values: written }),
  };
  checkCounts(problem, limits, run, { scalars, pointers: data }, wantedCounts, ranges);
  const launch = { scalars, pointers };
  if (ranges !== undefined) {
    const { tasks, spans, taskCount } = planRanges(plan.pass, ranges, kept, reduced);
    Object.assign(launch, {
      scalars: { ...scalars, taskCount },
      pointers: { ...pointers, tasks, spans },
    });
  }
  run(emitSelection(plan), launch);
  expect([...rows]).toEqual([...wantedRows, UNTOUCHED]);
  expect([...written]).toEqual([...wantedValues, UNTOUCHED]);
}

/** The counts that the offsets are made from. */
function checkCounts(
  problem: SelectionProblem,
  limits: DeviceLimits,
  run: (program: KernelProgram, launch: ProgramLaunch) => void,
  { scalars, pointers }: ProgramLaunch,
  wanted: readonly number[],
  ranges: KeptRanges | undefined,
): void {
  const { axis = 1, dtype, rowsI, rowsJ } = problem;
  const plan = planSelection(problem, limits);
  const out = new (dtype === 'float32' ? Float32Array : Float64Array)(wanted.length);
  const launch = { scalars: { ...scalars }, pointers: { ...pointers, out } };
  if (ranges !== undefined) {
    const [kept, reduced] = axis === 1 ? [rowsI, rowsJ] : [rowsJ, rowsI];
    const { tasks, spans, taskCount } = planRanges(plan.counts, ranges, kept, reduced);
    Object.assign(launch.scalars, { taskCount });
    Object.assign(launch.pointers, { tasks, spans });
  }
  run(emitSelectionCounts(plan), launch);
  expect([...out]).toEqual(wanted);
}

function allowedRows(
  ranges: KeptRanges | undefined,
  kept: number,
  reduced: number,
): (own: number, other: number) => boolean {
  if (ranges === undefined) return () => true;
  const seen = Array.from({ length: kept }, () => new Uint8Array(reduced));
  ranges.rangesI.forEach(([from, to], k) => {
    const spans = ranges.redrangesJ.slice(k === 0 ? 0 : ranges.slicesI[k - 1], ranges.slicesI[k]);
    for (let own = from; own < to; own++) for (const [a, b] of spans) seen[own]?.fill(1, a, b);
  });
  return (own, other) => seen[own]?.[other] === 1;
}

/** Every pair is wanted and a row has room for one: the first is written, and nothing beyond. */
export function checkRoom(
  limits: DeviceLimits,
  run: (program: KernelProgram, launch: ProgramLaunch) => void,
): void {
  const sizes = { rowsI: 3, rowsJ: 5, batch: 1 };
  const mask = ops.add(ops.square(vi(0, 1)), 1);
  const plan = planSelection({ mask, values: indexJ, dtype: 'float32', ...sizes }, limits);
  const rows = new Int32Array(5).fill(UNTOUCHED);
  const values = new Float32Array(5).fill(UNTOUCHED);
  const offsets = BigInt64Array.of(0n, 1n, 2n, 3n);
  run(emitSelection(plan), {
    scalars: { ...sizes, ld0: 1, batchStride0: 3 },
    pointers: { x0: new Float32Array(3), offsets, rows, values },
  });
  for (const found of [rows, values]) {
    expect([...found]).toEqual([0, 0, 0, UNTOUCHED, UNTOUCHED]);
  }
}
