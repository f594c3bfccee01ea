import { abs, add, evaluate, exp, log, max, mul, neg, sqrt, sub, variable } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import type { CpuKernel } from '../emitted-kernel.js';
import { packParams } from '../kernel-param.js';
import { lanesOf, type CpuLevel } from '../emit/cpu-vector.js';
import {
  compileKernel,
  machines,
  compilers,
  runKernel,
  runnableLevels,
} from '../testing/cpu-harness.test.helper.js';
import { emitPairwiseCpu } from './cpu-emit.js';
import { planPairwiseCpu, type CpuPairwisePlan } from './cpu-plan.js';
import { fromJson } from './expression-json.js';
import { normExpressions } from './norm-expressions.js';
import type { Layout, PairwiseDType, PairwiseProblem } from './problem.js';

const [a, b, s] = [variable('a'), variable('b'), variable('s')];

/** The expressions of a case, and p where they read it. */
interface Norm {
  readonly name: string;
  readonly expressions: Pick<PairwiseProblem, 'inner' | 'outer' | 'reduce'>;
  readonly p: number;
}

const norm = (p: number, runtime = false): Norm => ({
  name: `p = ${String(p)}${runtime ? ' at run time' : ''}`,
  expressions: normExpressions(runtime ? 'runtime' : p),
  p,
});

const NORMS: readonly Norm[] = [
  norm(2),
  norm(1),
  norm(Infinity),
  norm(1.3, true),
  norm(0.5),
  norm(3),
  norm(0.7, true),
  { name: 'squared', expressions: normExpressions(2, { skipEpilogue: true }), p: 2 },
  { name: 'gauss', expressions: { ...normExpressions(2), outer: exp(neg(s)) }, p: 2 },
  { name: 'product', expressions: { inner: mul(a, b), outer: s, reduce: 'sum' }, p: 1 },
  {
    name: 'signed maximum',
    expressions: { inner: sub(a, b), outer: sub(s, 0.5), reduce: 'max' },
    p: 1,
  },
  {
    name: 'several operations',
    expressions: {
      inner: log(add(1, max(abs(sub(a, b)), mul(2, mul(a, a))))),
      outer: sqrt(s),
      reduce: 'sum',
    },
    p: 1,
  },
];

/** One layout of both inputs and the output. */
type Layouts = readonly [a: Layout, b: Layout, out: Layout];
const LAYOUTS: readonly Layouts[] = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) => [
  bits & 1 ? 'column' : 'row',
  bits & 2 ? 'column' : 'row',
  bits & 4 ? 'column' : 'row',
]);

interface Shape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
  /** Elements between rows beyond what they need. */
  readonly gap?: number;
  /** Operands that all batches share. */
  readonly shared?: 'a' | 'b' | 'both';
}

const SHAPES: readonly Shape[] = [
  { m: 1, n: 1, k: 1, batch: 1 },
  { m: 3, n: 5, k: 7, batch: 2, gap: 3 },
  { m: 13, n: 33, k: 37, batch: 1, gap: 1 },
  { m: 32, n: 70, k: 16, batch: 1 },
  { m: 1, n: 150, k: 9, batch: 1, gap: 2 },
  { m: 150, n: 1, k: 9, batch: 1 },
  // Rows of the output that are aligned to every vector, in both orders.
  { m: 64, n: 64, k: 5, batch: 1 },
  { m: 9, n: 23, k: 20, batch: 3, shared: 'a', gap: 5 },
  { m: 19, n: 23, k: 3, batch: 2, shared: 'b' },
  { m: 5, n: 6, k: 2, batch: 2, shared: 'both' },
  { m: 4, n: 9, k: 0, batch: 2 },
  { m: 0, n: 9, k: 4, batch: 1 },
  { m: 4, n: 0, k: 4, batch: 1 },
  { m: 4, n: 4, k: 4, batch: 0 },
];

type Values = Float32Array | Float64Array;
const arrayOf = (dtype: PairwiseDType, length: number): Values =>
  dtype === 'float32' ? new Float32Array(length) : new Float64Array(length);
const bytesOf = (values: Values): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

let seed = 1;
const random = (): number => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;

/** A batch of matrices with a gap between rows; `at` gives the position of an element. */
class Matrices {
  readonly ld: number;
  readonly stride: number;
  readonly values: Values;

  constructor(
    readonly layout: Layout,
    dtype: PairwiseDType,
    rows: number,
    columns: number,
    batch: number,
    gap: number,
    shared: boolean,
    fill: () => number,
  ) {
    const [outer, inner] = layout === 'row' ? [rows, columns] : [columns, rows];
    this.ld = inner + gap;
    const size = outer === 0 || inner === 0 ? 0 : (outer - 1) * this.ld + inner;
    this.stride = shared ? 0 : size + gap;
    this.values = arrayOf(dtype, batch === 0 ? 0 : size + this.stride * (batch - 1)).map(fill);
  }

  at(batch: number, row: number, column: number): number {
    const inside = this.layout === 'row' ? row * this.ld + column : column * this.ld + row;
    return batch * this.stride + inside;
  }
}

/** Runs a plan on random data and compares every output, and what lies between them. */
function check(
  plan: CpuPairwisePlan,
  library: string,
  shape: Shape,
  { p, name }: Norm,
  value = random,
): void {
  const { m, n, k, batch, gap = 0, shared } = shape;
  const { dtype } = plan;
  const A = new Matrices(
    plan.layoutA,
    dtype,
    m,
    k,
    batch,
    gap,
    shared === 'a' || shared === 'both',
    value,
  );
  const B = new Matrices(
    plan.layoutB,
    dtype,
    n,
    k,
    batch,
    2 * gap,
    shared === 'b' || shared === 'both',
    value,
  );
  const untouched = -12345.5;
  const out = new Matrices(plan.layoutOut, dtype, m, n, batch, gap, false, () => untouched);
  const got = launch(plan, library, { m, n, k, batch, p }, A, B, out);
  const written = new Set<number>();
  for (let l = 0; l < batch; l++) {
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        const position = out.at(l, i, j);
        written.add(position);
        const pairs = Array.from({ length: k }, (_, t) => ({
          a: A.values[A.at(l, i, t)] as number,
          b: B.values[B.at(l, j, t)] as number,
        }));
        const { wanted, bound } = oracle(plan, pairs, p);
        const actual = got[position] as number;
        const close = Object.is(actual + 0, wanted + 0) || Math.abs(actual - wanted) <= bound;
        if (!close) {
          throw new Error(
            `${name} ${plan.summary} ${JSON.stringify(shape)} at ${[l, i, j].join(', ')}: ` +
              `${String(actual)}, not ${String(wanted)} within ${String(bound)}`,
          );
        }
      }
    }
  }
  got.forEach((v, position) => {
    if (!written.has(position)) expect(v, `output position ${String(position)}`).toBe(untouched);
  });
}

function launch(
  plan: CpuPairwisePlan,
  library: string,
  sizes: { m: number; n: number; k: number; batch: number; p: number },
  A: Matrices,
  B: Matrices,
  out: Matrices,
): Values {
  const kernel = emitPairwiseCpu(plan).steps[0]?.kernel as CpuKernel;
  const scalars: Record<string, number> = {
    ...sizes,
    ...{ lda: A.ld, ldb: B.ld, ldo: out.ld },
    ...{ batchStrideA: A.stride, batchStrideB: B.stride, batchStrideOut: out.stride },
  };
  const packed = packParams(kernel.params);
  const view = new DataView(new ArrayBuffer(packed.bytes));
  kernel.params.forEach((param, i) => {
    if (param.kind !== 'scalar') return;
    const offset = packed.offsets[i] as number;
    const value = scalars[param.name] as number;
    if (param.type === 'float64') view.setFloat64(offset, value, true);
    else view.setBigInt64(offset, BigInt(value), true);
  });
  const geometry = kernel.geometry(scalars);
  const raw = runKernel({
    ...{ library, entry: kernel.entry, params: new Uint8Array(view.buffer) },
    ...{ a: bytesOf(A.values), b: bytesOf(B.values), out: bytesOf(out.values) },
    ...{ elementBytes: plan.dtype === 'float32' ? 4 : 8, ...geometry },
  });
  return plan.dtype === 'float32' ? new Float32Array(raw.buffer) : new Float64Array(raw.buffer);
}

/** The exact value in float64 and the published bound of its error. */
function oracle(
  plan: CpuPairwisePlan,
  pairs: readonly { a: number; b: number }[],
  p: number,
): { wanted: number; bound: number } {
  const inner = fromJson(plan.inner);
  const outer = fromJson(plan.outer);
  const u = plan.dtype === 'float32' ? 2 ** -24 : 2 ** -53;
  const terms = pairs.map((pair) => evaluate(inner, { ...pair, p }));
  // u per term: the difference is rounded, then raised: (6 + 1.5 p |log2 |d||) u.
  const termError = pairs.reduce((sum, pair, i) => {
    const d = Math.abs(pair.a - pair.b);
    const units = 8 + 1.5 * Math.abs(p === Infinity || d === 0 ? 0 : p * Math.log2(d));
    return sum + units * u * Math.abs(terms[i] as number);
  }, 0);
  const size = terms.reduce((sum, term) => sum + Math.abs(term), 0);
  const total =
    terms.length === 0
      ? 0
      : plan.reduce === 'sum'
        ? terms.reduce((sum, term) => sum + term, 0)
        : terms.reduce((most, term) => Math.max(most, term));
  const wanted = evaluate(outer, { s: total, p });
  const sumError = (2 * Math.sqrt(pairs.length) + 4) * u * size + termError;
  // How the outer function carries the error of the sum on, by its slope.
  const slope =
    total === 0
      ? 1
      : Math.abs(evaluate(outer, { s: total * (1 + 1e-6), p }) - wanted) / (Math.abs(total) * 1e-6);
  const root = 1.5 * Math.abs(Math.log2(Math.max(Math.abs(total), 1e-300)) / p);
  const bound =
    slope * sumError * 1.001 +
    (8 + (total === 0 ? 0 : root)) * u * (Math.abs(wanted) + (plan.reduce === 'max' ? 1 : 0));
  // Exponentials are 0 below the normal range.
  const smallest = plan.dtype === 'float32' ? 2 ** -126 : 2 ** -1022;
  return { wanted, bound: Number.isFinite(bound) ? bound + smallest : 0 };
}

function planFor(
  { expressions, p }: Norm,
  [layoutA, layoutB, layoutOut]: Layouts,
  dtype: PairwiseDType,
  level: CpuLevel,
  sizes: { m: number; n: number; k: number } = { m: 40, n: 150, k: 64 },
): CpuPairwisePlan {
  return planPairwiseCpu(
    {
      ...{ ...expressions, dtype, ...sizes, batch: 1, p, layoutA, layoutB, layoutOut },
      ...{ alignedA: false, alignedB: false, alignedOut: false },
    },
    { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 },
  );
}

/** The same plan cut so small that every loop over blocks and tiles runs several times. */
function cutSmall(plan: CpuPairwisePlan): CpuPairwisePlan {
  const tileColumns = plan.tileVectors * lanesOf(plan.level, plan.dtype);
  return {
    ...plan,
    blockRows: 2 * plan.tileRows,
    blockColumns: 2 * tileColumns,
    blockDepth: 16,
    streamBytes: 0,
  };
}

const build = (plan: CpuPairwisePlan, compiler: string): string =>
  compileKernel(compiler, emitPairwiseCpu(plan).steps[0]?.kernel.source ?? '', plan.level);

// Every machine meets every layout; the dtypes alternate and the norms rotate, so that together all
// layouts meet both dtypes and all norms meet both dtypes.
const covered = machines().flatMap(([compiler, level], machine) =>
  LAYOUTS.map((layouts, i) => {
    const dtype = (i + (i >> 1) + (i >> 2) + machine) % 2 === 0 ? 'float32' : 'float64';
    const chosen = NORMS[(i * 5 + machine * 8) % NORMS.length] ?? norm(2);
    return [compiler, level, layouts.join(' '), dtype, chosen.name, layouts, chosen] as const;
  }),
);

describe('pairwise, every shape', () => {
  it.each(covered)('%s %s, %s, %s, %s', (compiler, level, _, dtype, __, layouts, chosen) => {
    const plan = cutSmall(planFor(chosen, layouts, dtype, level));
    const library = build(plan, compiler);
    for (const shape of SHAPES) check(plan, library, shape, chosen);
  });
});

describe('pairwise on this machine', () => {
  const level = runnableLevels().at(-1) ?? 'x86-64-v2';
  const compiler = compilers()[0] ?? 'c++';
  const rows: Layouts = ['row', 'row', 'row'];

  it.each(
    NORMS.flatMap((n) => (['float32', 'float64'] as const).map((t) => [n.name, t, n] as const)),
  )('%s %s: within the published bound on normal, uniform and offset data', (_, dtype, chosen) => {
    const plan = planFor(chosen, rows, dtype, level);
    const library = build(plan, compiler);
    const normal = (): number =>
      Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const sizes = { m: 3, n: 18, k: 1024, batch: 1 };
    check(plan, library, sizes, chosen, normal);
    check(plan, library, sizes, chosen, random);
    if (chosen.p > 0.6) check(plan, library, sizes, chosen, () => 100 + normal());
  });

  it('gives exactly 0 for equal rows and keeps NaN and infinity', () => {
    for (const chosen of NORMS.slice(0, 8)) {
      for (const dtype of ['float32', 'float64'] as const) {
        const plan = planFor(chosen, rows, dtype, level);
        const library = build(plan, compiler);
        const k = 5;
        const rowsOfA = [
          [1, 2, 3, 4, 5],
          [1, NaN, 3, 4, 5],
          [1, Infinity, 3, 4, 5],
          [NaN, 0, 0, 0, Infinity],
        ];
        const A = new Matrices('row', dtype, 4, k, 1, 0, false, () => 0);
        A.values.set(rowsOfA.flat());
        const B = new Matrices('row', dtype, 2, k, 1, 0, false, () => 0);
        B.values.set([1, 2, 3, 4, 5, 1, Infinity, 3, 4, 5]);
        const out = new Matrices('row', dtype, 4, 2, 1, 0, false, () => -1);
        const got = launch(plan, library, { m: 4, n: 2, k, batch: 1, p: chosen.p }, A, B, out);
        expect([...got], `${chosen.name} ${dtype}`).toEqual([
          ...[0, Infinity],
          ...[NaN, NaN],
          ...[Infinity, NaN],
          ...[NaN, NaN],
        ]);
      }
    }
  });

  it('swaps the operands where the output or the shape asks for it', () => {
    const flat = planFor(norm(2), rows, 'float32', level, { m: 3000, n: 1, k: 64 });
    expect(flat.swapped).toBe(true);
    expect(planFor(norm(2), ['row', 'row', 'column'], 'float32', level).swapped).toBe(true);
    expect(planFor(norm(2), rows, 'float32', level).swapped).toBe(false);
    const library = build(flat, compiler);
    check(flat, library, { m: 300, n: 1, k: 33, batch: 2, gap: 1 }, norm(2));
    check(flat, library, { m: 30, n: 21, k: 33, batch: 1 }, norm(2));
  });

  it('gives the same bits in every process', () => {
    const chosen = norm(1.3, true);
    const plan = cutSmall(planFor(chosen, rows, 'float32', level));
    const library = build(plan, compiler);
    const A = new Matrices('row', 'float32', 50, 60, 1, 0, false, random);
    const B = new Matrices('row', 'float32', 70, 60, 1, 0, false, random);
    const out = new Matrices('row', 'float32', 50, 70, 1, 0, false, () => 0);
    const sizes = { m: 50, n: 70, k: 60, batch: 1, p: 1.3 };
    expect(launch(plan, library, sizes, A, B, out)).toEqual(
      launch(plan, library, sizes, A, B, out),
    );
  });
});
