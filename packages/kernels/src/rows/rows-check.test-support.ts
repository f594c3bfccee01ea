import { expect } from 'vitest';
import type { DeviceLimits } from '../device-limits.js';
import type { LaunchableKernel, KernelProgram } from '../emitted-kernel.js';
import type { ProgramLaunch } from '../testing/cpu-program.test-support.js';
import { Matrices, random } from '../testing/pairwise-check.test-support.js';
import { emitRows } from './emit-rows.js';
import { planRows, type RowsProblem } from './plan-rows.js';

/** How the scale of a launch is given. */
export type ScaleForm = 'number' | 'feature' | 'batch and feature' | 'batch';

/** Runs a plan on random data, with a row of zeros, and compares each output with float64. */
export function checkRows(
  problem: RowsProblem,
  form: ScaleForm,
  limits: DeviceLimits,
  run: (program: KernelProgram<LaunchableKernel>, launch: ProgramLaunch) => void,
  fill?: () => number,
): void {
  const { program, launch, verify } = rowsLaunch(problem, form, limits, fill);
  run(program, launch);
  verify();
}

/** A launch of a plan on random data, and what checks its outputs. */
export function rowsLaunch(
  problem: RowsProblem,
  form: ScaleForm,
  limits: DeviceLimits,
  fill: () => number = () => random() - 0.5,
): {
  readonly program: KernelProgram<LaunchableKernel>;
  readonly launch: ProgramLaunch;
  readonly verify: () => void;
} {
  const { dtype, m, k, batch, layout, normalise } = problem;
  const plan = planRows(problem, limits);
  const arrayOf = dtype === 'float32' ? Float32Array : Float64Array;
  const X = new Matrices(layout, dtype, m, k, batch, 2, false, fill);
  for (let c = 0; m > 1 && batch > 0 && c < k; c += 1) X.values[X.at(0, 1, c)] = 0;
  const untouched = -12345.5;
  const Y = new Matrices('row', dtype, m, k, batch, 3, false, () => untouched);
  const norms = new arrayOf(m * batch).fill(untouched);
  const perFeature = form === 'feature' || form === 'batch and feature';
  const layers = form === 'batch' || form === 'batch and feature' ? batch : 1;
  const scales = new arrayOf(layers * (perFeature ? k : 1)).map(() => 0.5 + random());
  const number = 1.7;
  const [batchStride, stride] = [layers === 1 ? 0 : perFeature ? k : 1, perFeature ? 1 : 0];
  const inMemory = form !== 'number';
  const launch = {
    scalars: {
      m,
      k,
      batch,
      ldx: X.ld,
      ldo: Y.ld,
      batchStrideX: X.stride,
      batchStrideOut: Y.stride,
      scaleBatchStride: inMemory ? batchStride : 1e6,
      scaleStride: inMemory ? stride : 1e6,
      scaleValue: inMemory ? NaN : number,
    },
    pointers: { x: X.values, out: Y.values, norms, scaleAt: inMemory ? scales : null },
  };
  const verify = (): void => {
    const unit = dtype === 'float32' ? 2 ** -24 : 2 ** -53;
    const written = new Set<number>();
    for (let l = 0; l < batch; l += 1) {
      for (let i = 0; i < m; i += 1) {
        const row = Array.from({ length: k }, (_, c) => {
          const scale = inMemory ? (scales[l * batchStride + c * stride] ?? NaN) : number;
          return (X.values[X.at(l, i, c)] ?? NaN) * (problem.scale ? scale : 1);
        });
        const norm = Math.hypot(...row);
        const close = (got: number | undefined, wanted: number, what: string): void => {
          const bound = (4 + (dtype === 'float64' ? k / 8 : 0)) * unit * Math.abs(wanted);
          if (!Object.is(got, wanted) && !(Math.abs((got ?? NaN) - wanted) <= bound)) {
            throw new Error(
              `${plan.summary}, scale by ${form}, ${what} ${[l, i].join(', ')}: ${got}, not ${wanted}`,
            );
          }
        };
        if (problem.norms === true) close(norms[l * m + i], norm, 'norm');
        row.forEach((v, c) => {
          const position = Y.at(l, i, c);
          written.add(position);
          close(Y.values[position], normalise && norm !== 0 ? v / norm : v, `step ${c} of`);
        });
      }
    }
    Y.values.forEach((value, position) => {
      if (!written.has(position)) expect(value, `output ${position}`).toBe(untouched);
    });
  };
  return { program: emitRows(plan), launch, verify };
}

/** The cases that both dialects meet: every layout, data type, way of scaling and part. */
export const ROWS_CASES: readonly (readonly [RowsProblem, ScaleForm])[] = (
  ['float32', 'float64'] as const
).flatMap((dtype, d) =>
  (['row', 'column'] as const).flatMap((layout, o) =>
    (['number', 'feature', 'batch and feature', 'batch'] as const).map((form, f) => {
      const [m, k, batch] = [
        [37, 70, 3],
        [5, 300, 2],
        [70, 3, 2],
        [33, 33, 1],
      ][(f + d + o) % 4] as [number, number, number];
      const normalise = (f + o) % 3 !== 0;
      const scale = (f + d) % 4 !== 3;
      return [{ dtype, m, k, batch, layout, scale, normalise, norms: f % 2 === 0 }, form] as const;
    }),
  ),
);
