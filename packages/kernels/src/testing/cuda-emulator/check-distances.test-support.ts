import { expect } from 'vitest';
import { emitPairwise } from '../../pairwise/emit.js';
import type { CudaPairwisePlan } from '../../pairwise/plan-types.js';
import type { PairwiseProblem } from '../../pairwise/problem.js';
import { runCudaProgram } from '../cuda-emulator.test-support.js';
import { Matrices, random, type Shape } from '../pairwise-check.test-support.js';
import type { LaunchOptions } from './launch.test-support.js';

type Values = Float32Array | Float64Array;
const UNTOUCHED = -12345.5;

/**
 * Runs the plan of a norm on random data: every distance within its published bound, nothing between them touched.
 * A list of exponents goes to device memory, one for each batch entry.
 */
export function checkDistances(
  plan: CudaPairwisePlan,
  problem: PairwiseProblem,
  p: number | readonly number[],
  { m, n, k, batch, shared = 'none' }: Shape,
  options: LaunchOptions = {},
): void {
  const { dtype } = problem;
  const width = dtype === 'float32' ? 4 : 2;
  // whole vectors from row to row where the plan counts on them, and nothing of the kind elsewhere
  const gap = (aligned: boolean, inner: number): number =>
    aligned ? width - (inner % width) : 1 + (inner % 2);
  const value = (): number => 4 * random() - 2;
  const [innerA, innerB, innerOut] = [
    problem.layoutA === 'row' ? k : m,
    problem.layoutB === 'row' ? k : n,
    problem.layoutOut === 'row' ? n : m,
  ];
  const gaps = [gap(problem.alignedA, innerA), gap(problem.alignedB, innerB)] as const;
  const isShared = (name: string): boolean => shared === name || shared === 'both';
  const A = new Matrices(problem.layoutA, dtype, m, k, batch, gaps[0], isShared('a'), value);
  const B = new Matrices(problem.layoutB, dtype, n, k, batch, gaps[1], isShared('b'), value);
  const gapOut = gap(problem.alignedOut, innerOut);
  const out = new Matrices(
    ...([problem.layoutOut, dtype, m, n, batch, gapOut, false, () => UNTOUCHED] as const),
  );
  const got = placed(out.values, problem.alignedOut);
  const single = typeof p === 'number' ? p : undefined;
  const exponentOf = (layer: number): number =>
    single ?? Math.fround((p as readonly number[])[layer]!);
  runCudaProgram(emitPairwise(plan), {
    scalars: {
      m,
      n,
      k,
      batch,
      p: single ?? NaN,
      pStride: 1,
      pValue: NaN,
      lda: A.ld,
      ldb: B.ld,
      ldo: out.ld,
      batchStrideA: A.stride,
      batchStrideB: B.stride,
      batchStrideOut: out.stride,
    },
    pointers: {
      a: placed(A.values, problem.alignedA),
      b: placed(B.values, problem.alignedB),
      out: got,
      pAt: typeof p === 'number' ? null : Float32Array.from(p),
    },
    options,
  });
  const written = new Set<number>();
  for (let l = 0; l < batch; l += 1) {
    for (let i = 0; i < m; i += 1) {
      for (let j = 0; j < n; j += 1) {
        const differences = Array.from({ length: k }, (_, t) =>
          Math.abs(A.values[A.at(l, i, t)]! - B.values[B.at(l, j, t)]!),
        );
        const { wanted, bound } = distance(
          differences,
          exponentOf(l),
          dtype === 'float32' ? 2 ** -24 : 2 ** -53,
        );
        const position = out.at(l, i, j);
        written.add(position);
        if (!(Math.abs(got[position]! - wanted) <= bound)) {
          throw new Error(
            `${plan.summary}, ${[m, n, k, batch].join(' x ')} at ${[l, i, j].join(', ')}: ` +
              `${got[position]}, not ${wanted} within ${bound}`,
          );
        }
      }
    }
  }
  got.forEach((v, position) => {
    if (!written.has(position)) expect(v, `output position ${position}`).toBe(UNTOUCHED);
  });
}

/** The same values at an address of whole vectors, or one element behind it. */
function placed(values: Values, aligned: boolean): Values {
  if (aligned) return values;
  const room = new ArrayBuffer(values.byteLength + values.BYTES_PER_ELEMENT);
  const moved =
    values instanceof Float32Array ? new Float32Array(room, 4) : new Float64Array(room, 8);
  moved.set(values);
  return moved;
}

/** A distance in float64 and the published bound of its error. */
function distance(
  differences: readonly number[],
  p: number,
  unit: number,
): { wanted: number; bound: number } {
  if (p === Infinity) {
    const wanted = differences.reduce((x, y) => Math.max(x, y), 0);
    return { wanted, bound: unit * wanted };
  }
  let total = 0;
  let weighted = 0;
  for (const d of differences) {
    if (d === 0) continue;
    const term = d ** p;
    total += term;
    weighted += term * (p === 1 || p === 2 ? 3 : 6 + 1.5 * p * Math.abs(Math.log2(d)));
  }
  if (total === 0) return { wanted: 0, bound: 0 };
  const sum = 2 * Math.sqrt(differences.length) + 4 + weighted / total;
  const units = p === 1 ? sum : sum / p + 6 + (1.5 * Math.abs(Math.log2(total))) / p;
  const wanted = total ** (1 / p);
  return { wanted, bound: units * unit * wanted };
}
