import { describe, expect, it } from 'vitest';
import { defaultKernels } from '../default-kernels.test-support.js';
import { fixedTexts } from '../interpret/fixed-texts.js';
import type { KernelParam } from '../kernel-param.js';
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

const SCALARS: Readonly<Record<string, string>> = {
  'long long': 'int64',
  i64: 'int64',
  int64_t: 'int64',
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
    for (const { name, params, source } of [
      ...kernels.map(({ kernel }) => kernel),
      ...fixedTexts(),
    ]) {
      const [, members = ''] = /struct Args \{(.*?)\};/s.exec(source) ?? [];
      const words = members
        .split(';')
        .filter((text) => text.trim() !== '')
        .flatMap(wordsOf);
      expect(words, name).toEqual(packed(params));
    }
  });
});
