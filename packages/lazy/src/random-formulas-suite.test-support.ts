import { REDUCTION_KINDS, traitsOf, type ReductionKind } from '@mercer/formula';
import { isTensor, type Device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import type { Algebra } from './bounded.test-support.js';
import { jointReduction, type LazyDType } from './index.js';
import {
  expectResult,
  lazyReduction,
  numbers,
  reference,
  uniform,
  upload,
  type Meaning,
  type Variable,
} from './reference.test-support.js';
import { byName } from './reductions-suite.test-support.js';

/** Operations on one and two vectors; arguments stay where functions are smooth. */
const UNARY: readonly (<T extends Algebra<T>>(x: T) => T)[] = [
  (x) => x.neg(),
  (x) => x.abs(),
  (x) => x.square(),
  (x) => x.tanh().exp(),
  (x) => x.abs().add(0.5).sqrt(),
  (x) => x.tanh().sin(),
  (x) => x.tanh(),
  (x) => x.relu(),
  (x) => x.mul(0.75).add(-2),
];
const BINARY: readonly (<T extends Algebra<T>>(x: T, y: T) => T)[] = [
  (x, y) => x.add(y),
  (x, y) => x.sub(y),
  (x, y) => x.mul(y),
  (x, y) => x.div(y.abs().add(1)),
  (x, y) => x.minimum(y),
  (x, y) => x.maximum(y),
];
const PAIRED: readonly (<T extends Algebra<T>>(x: T, y: T) => T)[] = [
  (x, y) => x.sqdist(y),
  (x, y) => x.dot(y),
];

interface Step {
  readonly make: <T extends Algebra<T>>(all: readonly T[]) => T;
  readonly dim: number;
}

const DIMS = [3, 3, 1, 1];
const WEIGHTED: readonly ReductionKind[] = ['SumSoftMaxWeight', 'MaxSumShiftExp'];

/** A random tree, in which parts are shared, of variables of these dims. */
function randomFormula(seed: number, isScalar: boolean): Meaning['formula'] {
  const random = uniform(seed);
  const pick = (count: number): number => Math.min(count - 1, Math.floor(random() * count));
  const dims = [...DIMS];
  const steps: Step[] = [];
  // the newest more often: trees grow deep
  const operand = (): number =>
    random() < 0.6 ? dims.length - 1 - pick(Math.min(3, dims.length)) : pick(dims.length);
  for (let step = 0, count = 3 + pick(7); step < count; step++) {
    const [a, b, kind] = [operand(), operand(), random()];
    const [dimA = 1, dimB = 1] = [dims[a], dims[b]];
    if (kind < 0.35) {
      const of = UNARY[pick(UNARY.length)]!;
      steps.push({ make: (all) => of(all[a]!), dim: dimA });
    } else if (kind < 0.5 && dimA === dimB && dimA > 1) {
      const of = PAIRED[pick(PAIRED.length)]!;
      steps.push({ make: (all) => of(all[a]!, all[b]!), dim: 1 });
    } else if (kind < 0.55 && dimA > 1) {
      const component = pick(dimA);
      steps.push({ make: (all) => all[a]!.elem(component), dim: 1 });
    } else {
      const of = BINARY[pick(BINARY.length)]!;
      steps.push({ make: (all) => of(all[a]!, all[b]!), dim: Math.max(dimA, dimB) });
    }
    dims.push(steps.at(-1)!.dim);
  }
  return <T extends Algebra<T>>(...variables: readonly T[]): T => {
    const all = [...variables];
    for (const { make } of steps) all.push(make(all));
    // every variable, so that inputs keep their places
    const last = all.at(-1)!.add(variables.reduce((sum, one) => sum.add(one.mul(0.125))));
    return isScalar ? last.sum().tanh() : last;
  };
}

/** Formulas that nobody chose, against loops over what their methods mean. */
export function describeRandomFormulas(device: () => Device, { trees = 4 } = {}): void {
  describe('random formulas', () => {
    const groups = Array.from({ length: trees }, (_, group) => group);
    it.each(groups)('are what their methods mean, group %i', async (group) => {
      const dtype: LazyDType = group % 2 === 0 ? 'float32' : 'float64';
      const axis = group % 4 < 2 ? 'j' : 'i';
      const variables: Variable[] = [
        { data: numbers(4 * group + 1, 11, 3), side: 'i' },
        { data: numbers(4 * group + 2, 13, 3), side: 'j' },
        { data: numbers(4 * group + 3, 1, 1), side: 'parameter' },
        { data: numbers(4 * group + 4, 11, 1), side: 'i' },
      ];
      const tensors = await Promise.all(variables.map(({ data }) => upload(data, dtype, device())));
      const kinds = REDUCTION_KINDS.filter((_, at) => at % 4 === group % 4);
      const meanings = Object.fromEntries(
        kinds.map((kind, n): readonly [string, Meaning] => [
          kind,
          {
            kind,
            axis,
            variables,
            ...(traitsOf(kind).takesK && { k: 3 }),
            formula: randomFormula(100 * group + n, traitsOf(kind).isExponential),
            ...(WEIGHTED.includes(kind) && { weight: (x) => x.square().add(0.5) }),
          },
        ]),
      );
      const joint = jointReduction(
        Object.fromEntries(
          Object.entries(meanings).map(([kind, one]) => [kind, lazyReduction(one, tensors)]),
        ),
      );
      const found = await joint.call();
      let close = 0;
      for (const [kind, meaning] of Object.entries(meanings)) {
        const wanted = reference(meaning, dtype);
        await expectResult(byName(found[kind]), wanted).catch((error: unknown) => {
          throw new Error(`${kind} over ${axis} in ${dtype}`, { cause: error });
        });
        // a bound that says nothing would hold anything
        const digits = dtype === 'float32' ? 1e-3 : 1e-11;
        for (const { value, error } of wanted.value ?? []) {
          if (error <= digits * Math.max(Math.abs(value), 0.1)) close++;
        }
        const results = found[kind];
        if (isTensor(results)) results.dispose();
      }
      expect(close).toBeGreaterThan(50);
      for (const one of tensors) one.dispose();
    });
  });
}
