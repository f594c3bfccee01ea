import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { defaultKernels } from '../default-kernels.test-support.js';
import { defaultElementwisePlans } from '../elementwise/default-elementwise.test-support.js';
import { emitCopy, emitSum, planSum } from '../elementwise/index.js';
import type { BuiltinKernel } from '../emitted-kernel.js';
import type { KernelParam } from '../kernel-param.js';
import { parameterisedProblems } from '../pairwise/default-parameterised.test-support.js';
import { emitPairwise } from '../pairwise/emit.js';
import { planPairwise } from '../pairwise/plan.js';
import { emitRowsGradient, planRowsGradient } from '../rows/index.js';
import { cpuArgSortKernel, cpuCumSumKernel } from '../along-rows/along-rows.js';
import { cpuRandomKernel } from '../random/cpu-random.js';
import { cpuReduceKernel } from '../reduce/index.js';
import { rowsProblems } from '../rows/default-rows.test-support.js';
import { emitRows, planRows } from '../rows/index.js';
import { scatterPrograms } from '../scatter/default-scatter.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { argumentsStruct, parameterList, SHORT_INTEGERS, snakeCase } from './parameter-text.js';

const size = (name: string): KernelParam => ({ name, kind: 'scalar', type: 'int64' });
const PARAMS: readonly KernelParam[] = [
  { name: 'x', kind: 'pointer', dtype: 'float32', access: 'read' },
  { name: 'y', kind: 'pointer', dtype: 'float32', access: 'read' },
  { name: 'index', kind: 'pointer', dtype: 'int32', access: 'readwrite' },
  ...['n0', 'n1', 'rowStride'].map(size),
  { name: 'p', kind: 'scalar', type: 'float64' },
];

describe('the text of parameters', () => {
  it('is a list in CUDA C++', () => {
    expect(parameterList(PARAMS, { lines: ['n0'], restricts: (name) => name !== 'index' })).toBe(
      `const float* __restrict__ x, const float* __restrict__ y, int* index,
    long long n0, long long n1, long long rowStride, double p`,
    );
  });

  it('is a struct in host C++', () => {
    const spelling = { integers: SHORT_INTEGERS, dtypeOfT: 'float32', nameOf: snakeCase } as const;
    expect(argumentsStruct(PARAMS, { ...spelling, inLines: true, arrays: ['n'] })).toBe(
      `struct Args {
  const T *x, *y;
  i32* index;
  i64 n[2], row_stride;
  double p;
};`,
    );
    expect(argumentsStruct(PARAMS, { ...spelling, apart: ({ name }) => name !== 'n1' })).toBe(
      'struct Args { const T* x; const T* y; i32* index; i64 n0, n1; i64 row_stride; double p; };',
    );
  });

  it('needs a type for bytes', () => {
    const bytes: KernelParam = { name: 'w', kind: 'pointer', dtype: 'byte', access: 'write' };
    expect(() => parameterList([bytes])).toThrow(TypeError);
    expect(parameterList([bytes], { elements: { w: 'u32' } })).toBe('u32* __restrict__ w');
  });
});

/** The structs of the runtime's kernels without a formula, by the names of the built-in functions. */
const STRUCTS: Readonly<Record<string, string>> = {
  copy: 'Copy',
  fill: 'Fill',
  sum: 'Sum',
  reduce: 'Reduce',
  scatter_add: 'Scatter',
  scatter_add_sorted: 'ScatterSorted',
  count_rows: 'CountRows',
  gather_rows: 'GatherRows',
  prepare_rows: 'Rows',
  rows_gradient: 'RowsGradient',
  diagonal: 'Diagonal',
  random: 'Random',
  arg_sort: 'ArgSort',
  cum_sum: 'CumSum',
};

/** Every kind of built-in function, with every parameter that a plan may have or not. */
function builtinKernels(): BuiltinKernel[] {
  const limits = { kind: 'cpu', level: 'x86-64-v3', cores: 4, l1Bytes: 0, l2Bytes: 0 } as const;
  const programs = [
    ...rowsProblems().map((problem) => emitRows(planRows(problem, limits))),
    ...scatterPrograms(limits),
    ...parameterisedProblems().map((problem) => emitPairwise(planPairwise(problem, limits))),
    emitRowsGradient(planRowsGradient({ dtype: 'float64', normalise: true, target: 'x' }, limits)),
  ];
  return [
    ...programs.flatMap(({ steps }) => steps.map(({ kernel }) => kernel)),
    ...defaultElementwisePlans().map((plan) => emitCopy(plan, 'cpu')),
    emitSum(planSum({ from: 'float32', to: 'float64', outputs: 3, count: 5 }), 'cpu'),
    cpuReduceKernel('sum', 'float32', 'float64'),
    cpuReduceKernel('argMax', 'float64', 'float64'),
    cpuRandomKernel({ kind: 'normal', bits: 32, to: 'float16' }),
    cpuArgSortKernel('int64', true),
    cpuCumSumKernel('float16', 'float32'),
  ].filter((kernel) => kernel.dialect === 'builtin');
}

const SCALARS: Readonly<Record<string, string>> = {
  'long long': 'int64',
  i64: 'int64',
  int64_t: 'int64',
  int32_t: 'int32',
  int: 'int32',
  i32: 'int32',
  double: 'float64',
  float: 'float32',
};

/** What a launch packs, in the words of `wordsOf`. */
const packed = (params: readonly KernelParam[]): string[] =>
  params.map((param) => {
    if (param.kind === 'scalar') return param.type;
    return param.kind === 'pointer' && param.access === 'read' ? 'const pointer' : 'pointer';
  });

/** The same of a declaration such as `const T *a, *b` or `i64 n[2]`. */
function wordsOf(declaration: string): string[] {
  const pointers = declaration.split('*').length - 1;
  if (pointers > 0) {
    const isConst = declaration.trim().startsWith('const ');
    return Array.from({ length: pointers }, () => (isConst ? 'const pointer' : 'pointer'));
  }
  const [, type = '', names = ''] = /^\s*(long long|\w+) (.*)$/s.exec(declaration) ?? [];
  return names.split(',').flatMap((name) => {
    const length = Number(/\[(\d+)\]/.exec(name)?.[1] ?? 1);
    return Array.from({ length }, () => SCALARS[type] ?? type);
  });
}

/** The words of the members of a struct. */
const membersOf = (members: string): string[] =>
  members
    .split(';')
    .filter((text) => text.trim() !== '')
    .flatMap(wordsOf);

describe('every kernel reads what a launch packs', () => {
  it('in CUDA C++', () => {
    for (const { name, kernel } of defaultKernels(H200)) {
      const [, list = ''] =
        /__global__ void (?:__launch_bounds__\([^)]*\))?\s*\w+\(([^)]*)\)/.exec(kernel.source) ??
        [];
      expect(list.split(',').flatMap(wordsOf), name).toEqual(packed(kernel.params));
    }
  });

  it('in host C++', () => {
    const limits = { kind: 'cpu', level: 'x86-64-v3', cores: 64 } as const;
    const kernels = defaultKernels({ ...limits, l1Bytes: 32_768, l2Bytes: 1_048_576 });
    for (const { kernel } of kernels) {
      const [, members = ''] = /struct Args \{(.*?)\};/s.exec(kernel.source) ?? [];
      expect(membersOf(members), kernel.name).toEqual(packed(kernel.params));
    }
  });

  it('as a built-in function', () => {
    const file = new URL('../../../cpu-runtime/native/kernels/kernels.h', import.meta.url);
    const text = readFileSync(file, 'utf8')
      .replaceAll('alignas(8) ', '')
      .replaceAll('kMostDims', '8')
      .replaceAll(/ *\/\/.*/g, '');
    const structs = new Map(
      [...text.matchAll(/struct (\w+)Args \{(.*?)\n\};/gs)].map(([, name = '', body = '']) => [
        name,
        body,
      ]),
    );
    const wordsOfStruct = (name: string): string[] => {
      const body = structs.get(name) ?? '';
      const [, inner] = /(\w+)Args \w+;/.exec(body) ?? [];
      const own = membersOf(body.replace(/\w+Args \w+;/, ''));
      return inner === undefined ? own : [...wordsOfStruct(inner), ...own];
    };
    const met = new Set<string>();
    for (const kernel of builtinKernels()) {
      const struct = STRUCTS[kernel.entry] ?? '';
      met.add(struct);
      // pointers that a plan has not are passed as the number 0
      const size = (word: string): string => (word === 'const pointer' ? 'pointer' : word);
      const isNull = (at: number): boolean =>
        kernel.constants?.[kernel.params[at]?.name ?? ''] === 0;
      const given = packed(kernel.params).map(size);
      const words = wordsOfStruct(struct).map(size);
      expect(given, kernel.name).toEqual(
        words.map((word, at) => (isNull(at) && given[at] === 'int64' ? 'int64' : word)),
      );
    }
    expect([...met].sort()).toEqual([...structs.keys()].sort());
  });
});
