import {
  build,
  constant,
  OPS,
  print,
  SIGNATURES,
  variable,
  type ApplyOp,
  type Expr,
} from '@mercer/formula/plan';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { emitMap } from '../elementwise/emit.js';
import { planOne } from '../elementwise/one-result.test-support.js';
import { runnableLevels } from '../testing/cpu-harness.test-support.js';
import { runInterpreted } from '../testing/cpu-program.test-support.js';
import { plainOperation } from './operations.js';
import { boundedEvaluate } from './bounded-evaluate.test-support.js';

const LEVELS = runnableLevels();
const APPLIED = OPS.filter((op): op is ApplyOp => op === 'pow' || plainOperation(op) !== undefined);
const REAL = APPLIED.filter((op) => SIGNATURES[op].type === 'real');
const BOOL = APPLIED.filter((op) => SIGNATURES[op].type === 'bool');

/** Formulas of x, y, an index i and a parameter p, in which parts are shared. */
const formula: fc.Arbitrary<Expr> = fc
  .array(fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.nat(), fc.nat()), {
    minLength: 1,
    maxLength: 24,
  })
  .map((steps) => {
    const numbers: Expr[] = ['x', 'y', 'i', 'p'].map((name) => variable(name));
    numbers.push(constant(0.75), constant(-2));
    const choices: Expr[] = [];
    const pick = (from: readonly Expr[], n: number): Expr =>
      // the newest more often: trees grow deep
      from[n % 3 === 0 ? n % from.length : Math.max(0, from.length - 1 - (n % 4))] as Expr;
    for (const [kind, op, a, b, c] of steps) {
      if (kind % 5 === 0) {
        const node = BOOL[op % BOOL.length] as (typeof BOOL)[number];
        choices.push(build(node, [pick(numbers, a), pick(numbers, b)]));
        continue;
      }
      const node = REAL[op % REAL.length] as (typeof REAL)[number];
      if (node === 'select' && choices.length === 0) continue;
      const args = SIGNATURES[node].args.map((type, n) =>
        pick(type === 'bool' ? choices : numbers, [a, b, c][n] ?? 0),
      );
      numbers.push(build(node, args));
    }
    return numbers.at(-1) as Expr;
  });

const values = fc.double({ min: -4, max: 4, noNaN: true, noDefaultInfinity: true });

it('random formulas mean what the evaluator says, on every level and tail of a tile', () => {
  const met = { compared: 0, unknown: 0 };
  const property = fc.property(
    formula,
    fc.constantFrom('float32' as const, 'float64' as const),
    fc.constantFrom(...LEVELS),
    fc.constantFrom(1, 2, 63, 64, 65, 255, 511, 513, 1100),
    fc.array(values, { minLength: 7, maxLength: 31 }),
    values,
    (expr, dtype, level, count, seed, p) => {
      const Values = dtype === 'float32' ? Float32Array : Float64Array;
      const [x, y] = [3, 5].map(
        (step) =>
          new Values(Array.from({ length: count }, (_, i) => seed[(i * step) % seed.length] ?? 0)),
      ) as [Float32Array, Float32Array];
      const operand = (name: string) => ({ name, dtype, strides: [1] });
      const { plan, scalars, inputs } = planOne(
        {
          expr,
          shape: [count],
          inputs: [operand('x'), operand('y')],
          out: { dtype, strides: [1] },
          parameters: { p },
          indices: { i: 0 },
        },
        { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 },
      );
      const out = new Values(count);
      const pointers = Object.fromEntries(
        inputs.map(({ index }, k) => [`x${k}`, index === 0 ? x : y]),
      );
      runInterpreted(emitMap(plan), level, { scalars, pointers: { ...pointers, out } });
      const unit = dtype === 'float32' ? 2 ** -24 : 2 ** -53;
      const points = new Set([
        ...Array.from({ length: Math.min(count, 40) }, (_, i) => i),
        count - 1,
      ]);
      for (const i of points) {
        const point = { x: x[i] ?? 0, y: y[i] ?? 0, i, p };
        // the evaluator itself rounds, and the parameter is rounded where it meets values
        const { value, error } = boundedEvaluate(expr, point, 2 * unit);
        if (Number.isNaN(value) || Number.isNaN(error)) {
          met.unknown++;
          continue;
        }
        met.compared++;
        const got = out[i] ?? NaN;
        if (!(Math.abs(got - value) <= 2 * error + 1e-37)) {
          throw new Error(
            `${print(expr)} at ${JSON.stringify(point)}, ${dtype}, ${level}: ${got}, not ${value} within ${error}`,
          );
        }
      }
    },
  );
  fc.assert(property, { numRuns: 600, seed: 20 });
  expect(met.compared).toBeGreaterThan(5000);
});
