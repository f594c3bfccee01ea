import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilers, machines, runnableLevels } from '../testing/cpu-harness.test-support.js';
import { covering } from '../../../formula/test/covering.mjs';
import {
  build,
  check,
  cutSmall,
  launch,
  LAYOUTS,
  Matrices,
  norm,
  NORMS,
  planFor,
  random,
  type Layouts,
  type Shape,
} from '../testing/pairwise-check.test-support.js';

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

  // Every norm meets one dtype here, both of them above.
  const bounded = covering(
    NORMS.flatMap((n) => (['float32', 'float64'] as const).map((t) => [n.name, t, n] as const)),
    0,
  );
  it.each(bounded)(
    '%s %s: within the published bound on normal, uniform and offset data',
    (_, dtype, chosen) => {
      const plan = planFor(chosen, rows, dtype, level);
      const library = build(plan, compiler);
      const normal = (): number =>
        Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
      const sizes = { m: 3, n: 18, k: 1024, batch: 1 };
      check(plan, library, sizes, chosen, normal);
      check(plan, library, sizes, chosen, random);
      if (chosen.p > 0.6) check(plan, library, sizes, chosen, () => 100 + normal());
    },
  );

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

describe('pairwise on random shapes and strides', () => {
  const shape: fc.Arbitrary<Shape> = fc.record({
    m: fc.nat(30),
    n: fc.nat(70),
    k: fc.oneof({ weight: 1, arbitrary: fc.constant(0) }, { weight: 5, arbitrary: fc.nat(40) }),
    batch: fc.nat(3),
    gap: fc.nat(9),
    shared: fc.constantFrom('none', 'a', 'b', 'both'),
  });

  it('agrees with float64 and leaves everything else alone', () => {
    const level = runnableLevels().at(-1) ?? 'x86-64-v2';
    const counts: Record<string, number> = { empty: 0, 'empty sum': 0, unpadded: 0 };
    const count = (key: string): number => (counts[key] = (counts[key] ?? 0) + 1);
    LAYOUTS.forEach((layouts, i) => {
      const dtype = i % 3 === 0 ? 'float64' : 'float32';
      const chosen = NORMS[i % 4] ?? norm(2);
      const plan = cutSmall(planFor(chosen, layouts, dtype, level));
      const library = build(plan, compilers()[0] ?? 'c++');
      fc.assert(
        fc.property(shape, (drawn) => {
          for (const key of [layouts.join(' '), dtype, chosen.name, `shared ${drawn.shared}`])
            count(key);
          if (drawn.m * drawn.n * drawn.batch === 0) count('empty');
          else if (drawn.k === 0) count('empty sum');
          if (drawn.gap === 0) count('unpadded');
          check(plan, library, drawn, chosen);
        }),
        { numRuns: 25, seed: 7 },
      );
    });
    console.log(`random shapes: ${JSON.stringify(counts)}`);
    expect(Object.keys(counts)).toHaveLength(3 + 8 + 2 + 4 + 4);
    for (const [key, times] of Object.entries(counts)) expect(times, key).toBeGreaterThan(0);
  });
});
