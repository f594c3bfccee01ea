import { expect } from 'vitest';
import type { PairwiseDType } from '../dtype.js';
import { runCpuProgram } from '../testing/cpu-program.test-support.js';
import { runCudaProgram } from '../testing/cuda-emulator.test-support.js';
import { random } from '../testing/pairwise-check.test-support.js';
import type { CpuLevel } from '../emit/cpu-vector.js';
import { emitCdistGrad } from './emit.js';
import { isSpecialisedDerivative, normDerivative } from './norm-derivative.js';
import type { CdistGradPlan } from './plan-types.js';
import type { CdistGradProblem } from './problem.js';

/** Sizes, strides and sharing of one launch. */
export interface GradShape {
  readonly m: number;
  readonly n: number;
  readonly o: number;
  readonly k: number;
  readonly batch?: number;
  /** Elements between lines beyond what they need. */
  readonly gap?: number;
  /** Operands that all batch entries share. */
  readonly shared?: readonly OperandName[];
  /** Elements before the first one, which spoil the alignment. */
  readonly offset?: number;
}

type OperandName = 'a' | 'b' | 'c' | 'd';
type Values = Float32Array | Float64Array;

/** The problem of a launch at a norm; `memory` leaves p unknown to the plan. */
export function gradProblem(
  dtype: PairwiseDType,
  p: number,
  shape: GradShape,
  { aligned = false, memory = false }: { aligned?: boolean; memory?: boolean } = {},
): CdistGradProblem {
  const runtime = memory || !isSpecialisedDerivative(p);
  return {
    dtype,
    m: shape.m,
    n: shape.n,
    o: shape.o,
    k: shape.k,
    batch: shape.batch ?? 1,
    phi: normDerivative(runtime ? 'runtime' : p),
    ...(memory ? {} : { p }),
    alignedA: aligned,
    alignedB: aligned,
    alignedC: aligned,
    alignedOut: aligned,
  };
}

/** Normal values, the same in every run. */
export const normal = (): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());

/** A batch of matrices, each line with a gap. */
class Lines {
  readonly ld: number;
  readonly stride: number;
  readonly values: Values;
  readonly #offset: number;

  constructor(
    dtype: PairwiseDType,
    batch: number,
    lines: number,
    length: number,
    { gap = 0, offset = 0 }: GradShape,
    shared: boolean,
    fill: () => number,
  ) {
    this.ld = length + gap;
    this.stride = shared ? 0 : lines * this.ld;
    const room = offset + this.ld * lines * (shared ? 1 : batch);
    const Kind = dtype === 'float32' ? Float32Array : Float64Array;
    this.values = new Kind(room).fill(NaN);
    this.#offset = offset;
    for (let l = 0; l < (shared ? 1 : batch); l++)
      for (let i = 0; i < lines; i++)
        for (let j = 0; j < length; j++) this.values[this.place(l, i, j)] = fill();
  }

  place(l: number, line: number, column: number): number {
    return this.#offset + l * this.stride + line * this.ld + column;
  }

  at(l: number, line: number, column: number): number {
    return this.values[this.place(l, line, column)] as number;
  }

  get view(): Values {
    return this.values.subarray(this.#offset);
  }
}

const UNTOUCHED = -12345.5;

/** How a check differs from random normal data with p as a launch scalar. */
export interface GradCheck {
  /** One p for each batch entry, in device memory. */
  readonly memory?: readonly number[];
  readonly values?: (operand: OperandName) => number;
  readonly level?: CpuLevel;
  /** How a host program runs, if not compiled. */
  readonly run?: typeof runCpuProgram;
}

/**
 * Runs a plan and compares every output with float64, and what lies between the outputs. Returns the
 * largest error as a share of the published bound.
 */
export function checkCdistGrad(
  plan: CdistGradPlan,
  shape: GradShape,
  p: number,
  { memory, values = normal, level, run = runCpuProgram }: GradCheck = {},
): number {
  const { m, n, o, k, batch = 1, shared = [] } = shape;
  const { dtype } = plan;
  const make = (name: OperandName, lines: number, length: number): Lines =>
    new Lines(dtype, batch, lines, length, shape, shared.includes(name), () => values(name));
  const [A, B, C, D] = [make('a', k, m), make('b', n, k), make('c', o, k), make('d', n, m)];
  const out = new Lines(dtype, batch, o * n, m, shape, false, () => UNTOUCHED);
  out.values.fill(UNTOUCHED);
  const Kind = dtype === 'float32' ? Float32Array : Float64Array;
  const scalars = {
    m,
    n,
    o,
    k,
    batch,
    lda: A.ld,
    ldb: B.ld,
    ldc: C.ld,
    ldd: D.ld,
    ldo: out.ld,
    strideO: n * out.ld,
    batchStrideA: A.stride,
    batchStrideB: B.stride,
    batchStrideC: C.stride,
    batchStrideD: D.stride,
    batchStrideOut: out.stride,
    pStride: memory !== undefined && memory.length > 1 ? 1 : 0,
    pValue: p,
  };
  const pointers = {
    a: A.view,
    b: B.view,
    c: C.view,
    d: D.view,
    out: out.view,
    pAt: memory === undefined ? null : Kind.from(memory),
  };
  const program = emitCdistGrad(plan);
  if (plan.kind === 'cpu') run(program, { scalars, pointers }, level);
  else runCudaProgram(program, { scalars, pointers, options: { blocks: 'shuffled' } });

  const u = (dtype === 'float32' ? 2 ** -24 : 2 ** -52) * 1.0001;
  let written = 0;
  let worst = 0;
  for (let l = 0; l < batch; l++) {
    const norm = Kind.of(memory?.[memory.length > 1 ? l : 0] ?? p)[0] as number;
    const exponent = (memory === undefined ? p : norm) - 1;
    for (let r = 0; r < o; r++)
      for (let i = 0; i < n; i++)
        for (let j = 0; j < m; j++) {
          let wanted = 0;
          let size = 0;
          let weighted = 0;
          for (let t = 0; t < k; t++) {
            const delta = D.at(l, i, j) - B.at(l, i, t);
            if (delta === 0) continue;
            const factor = Math.sign(delta) * Math.abs(delta) ** exponent;
            const term = C.at(l, r, t) * A.at(l, t, j) * factor;
            const units = Math.abs(exponent) * (1 + 1.5 * Math.abs(Math.log2(Math.abs(delta))));
            wanted += term;
            size += Math.abs(term);
            weighted += Math.abs(term) * units;
          }
          const got = out.at(l, r * n + i, j);
          const bound = u * ((2 * Math.sqrt(k) + 24) * size + weighted);
          if (!(Math.abs(got - wanted) <= bound)) {
            throw new Error(
              `${plan.summary} ${JSON.stringify(shape)} p=${exponent + 1} at [${[l, r, i, j].join(', ')}]: ` +
                `${got}, not ${wanted} within ${bound}`,
            );
          }
          worst = Math.max(worst, bound === 0 ? 0 : Math.abs(got - wanted) / bound);
          written += 1;
        }
  }
  const touched = [...out.values].filter((value) => value !== UNTOUCHED).length;
  expect(touched, `${plan.summary}: outputs and what lies between them`).toBeLessThanOrEqual(
    written,
  );
  return worst;
}
