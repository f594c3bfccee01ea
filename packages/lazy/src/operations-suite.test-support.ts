import { parseFormula } from '@mercer/formula';
import type { Device } from '@mercer/tensor';
import { assert, describe, expect, it } from 'vitest';
import { lazyI, lazyJ, LazyTensor, param, type LazyDType } from './index.js';
import {
  OPERATION_CASES,
  VARIABLES,
  type OperationCase,
  type VariableName,
} from './operation-cases.test-support.js';
import { numbers, upload, type Numbers } from './reference.test-support.js';
import { meaningOf } from './text-meaning.test-support.js';
import { UNIT } from './bounded.test-support.js';
import { ownSize } from './keops/own-size.test-support.js';

const [M, N] = ownSize([4, 5], [300, 500]);
/** How far an operation may be off, in units of rounding of what it adds. The worst seen on a CPU is 10, of Sinc. */
const MOST_UNITS = 32;
const NAMES = Object.keys(VARIABLES) as VariableName[];

function dataOf(name: VariableName): Numbers {
  const [category, dim, low, high] = VARIABLES[name];
  const rows = { i: M, j: N, parameter: 1 }[category];
  const some = numbers(100 + NAMES.indexOf(name), rows, dim, { low, high });
  return name === 'knots' ? { ...some, values: some.values.sort() } : some;
}

const DATA = Object.fromEntries(NAMES.map((name) => [name, dataOf(name).values])) as Record<
  VariableName,
  Float64Array
>;

/** The numbers of a variable for a pair of rows. */
function rowOf(name: VariableName, i: number, j: number): readonly number[] {
  const [category, dim] = VARIABLES[name];
  const row = { i, j, parameter: 0 }[category];
  return [...DATA[name].subarray(row * dim, (row + 1) * dim)];
}

async function variableOf(
  name: VariableName,
  dtype: LazyDType,
  device: Device,
): Promise<LazyTensor> {
  const [category, dim] = VARIABLES[name];
  const data = await upload(dataOf(name), dtype, device);
  if (category === 'i') return lazyI(data, { name });
  return category === 'j' ? lazyJ(data, { name }) : param(data.reshape([dim]), { name });
}

/** Every method is the operation that it says, and computes it. */
export function describeOperations(device: () => Device): void {
  describe('operations', () => {
    it('has a case for every method that makes a formula', () => {
      const methods = new Set<string>();
      for (
        let prototype = LazyTensor.prototype as object;
        prototype !== Object.prototype;
        prototype = Object.getPrototypeOf(prototype) as object
      ) {
        for (const name of Object.getOwnPropertyNames(prototype)) methods.add(name);
      }
      const others = new Set([
        ...[
          'constructor',
          'derive',
          'apply',
          'combined',
          'binary',
          'unary',
          'reduction',
          'describe',
        ],
        ...[
          'reduce',
          'either',
          'toString',
          't',
          'rows',
          'matmul',
          'toDense',
          'diag',
          'var',
          'nonzero',
          'reduceMany',
          'histogram',
          'operation',
        ],
        ...['dim', 'rowsI', 'rowsJ', 'batchShape', 'shape', 'dtype', 'device'],
        ...['prod', 'mean', 'any', 'all', 'count', 'minArgMin', 'maxArgMax', 'logSumExp'],
        ...['kMin', 'argKMin', 'kMinArgKMin', 'kMax', 'argKMax', 'kMaxArgKMax', 'sumSoftMaxWeight'],
      ]);
      const tested = OPERATION_CASES.map(({ method }) => method);
      expect([...methods].filter((name) => !others.has(name)).sort()).toEqual(
        [...new Set(tested)].sort(),
      );
    });

    it.each(OPERATION_CASES)('$method is $text', async ({ variables, build, text }) => {
      const all = await Promise.all(variables.map((name) => variableOf(name, 'float64', device())));
      const kinds = { i: 'Vi', j: 'Vj', parameter: 'Pm' };
      const aliases = variables.map((name) => {
        const [category, dim] = VARIABLES[name];
        return `${name} = ${kinds[category]}(${dim})`;
      });
      const built = build(...all);
      expect(built.formula).toBe(parseFormula(text, aliases));
      expect(built.shape.slice(0, -1)).toEqual([
        variables.some((name) => VARIABLES[name][0] === 'i') ? M : 1,
        variables.some((name) => VARIABLES[name][0] === 'j') ? N : 1,
      ]);
    });

    it.each(['float32', 'float64'] as const)(
      'values in %s',
      { timeout: 120_000 },
      async (dtype) => {
        const variables = Object.fromEntries(
          await Promise.all(
            NAMES.map(async (name) => [name, await variableOf(name, dtype, device())]),
          ),
        ) as Record<VariableName, LazyTensor>;
        const build = ({ variables: names, build }: OperationCase): LazyTensor =>
          build(...names.map((name) => variables[name]));
        const built = OPERATION_CASES.map((one) => ({
          text: one.text,
          meant: one.derived ?? one.text,
          lazy: build(one),
        }));
        // Many operations side by side in few kernels.
        const groups: (typeof built)[] = [[]];
        for (const one of built) {
          const dim = (groups.at(-1) ?? []).reduce((sum, { lazy }) => sum + lazy.dim, 0);
          if (dim + one.lazy.dim > 60) groups.push([]);
          groups.at(-1)?.push(one);
        }
        for (const group of groups) {
          const [first, ...rest] = group.map(({ lazy }) => lazy);
          assert(first !== undefined, 'a group has a member');
          // With a variable of either side the matrix has all its rows.
          const whole = first.concat(...rest, variables.c, variables.d);
          const dense = (await (await whole.toDense()).toTypedArray()) as Float64Array;
          expect(dense).toHaveLength(M * N * whole.dim);
          // of many pairs some, of every row
          for (let pair = 0; pair < M * N; pair += ownSize(1, 97)) {
            const [i, j] = [Math.floor(pair / N), pair % N];
            const own = Object.fromEntries(NAMES.map((name) => [name, rowOf(name, i, j)]));
            let at = 0;
            for (const { text, meant, lazy } of group) {
              const wanted = meaningOf(meant, own);
              expect(wanted, text).toHaveLength(lazy.dim);
              for (const { value, size } of wanted) {
                const got = dense[pair * whole.dim + at++] ?? NaN;
                const isNear = Math.abs(got - value) <= MOST_UNITS * UNIT[dtype] * size;
                assert(isNear, `${text}: ${got}, not ${value}`);
              }
            }
          }
        }
      },
    );
  });
}
