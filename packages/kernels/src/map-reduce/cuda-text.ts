import { cudaType } from '../emit/cuda-literal.js';
import { lines } from '../emit/indent.js';
import type { KernelParam } from '../kernel-param.js';
import type { PairwiseDType } from '../pairwise/problem.js';
import type { CudaMapReducePlan } from './plan.js';
import type { Reducer } from './reducers/reducer.js';

/** The parameters of a kernel as its signature has them; the workspace holds words of the data type. */
export function parameterList(params: readonly KernelParam[], dtype: PairwiseDType): string {
  return params
    .map((param) => {
      if (param.kind !== 'pointer') return `long long ${param.name}`;
      const type = param.dtype === 'int32' ? 'int' : cudaType(dtype);
      return `${param.access === 'read' ? 'const ' : ''}${type}* __restrict__ ${param.name}`;
    })
    .join(', ');
}

/**
 * Statements that put a running result into the workspace and take it out again, word by word, so that
 * neighbouring rows lie side by side; `layer`, `part`, `row` and `kept` are in scope.
 */
export function stateWords(
  { dtype, splits }: Pick<CudaMapReducePlan, 'dtype' | 'splits'>,
  { slots }: Reducer,
): { readonly store: (state: string) => string; readonly load: (state: string) => string } {
  const [toReal, toNumber] =
    dtype === 'float32'
      ? ['__int_as_float', '__float_as_int']
      : ['__longlong_as_double', '__double_as_longlong'];
  const at = (word: number): string =>
    `workspace[((layer * ${String(splits)} + part) * ${String(slots.length)} + ${String(word)}) * kept + row]`;
  return {
    store: (state) =>
      lines(
        ...slots.map(({ name, type }, word) => {
          const value = `${state}.${name}`;
          return `${at(word)} = ${type === 'I' ? `${toReal}(${value})` : value};`;
        }),
      ),
    load: (state) =>
      lines(
        ...slots.map(
          ({ name, type }, word) =>
            `${state}.${name} = ${type === 'I' ? `${toNumber}(${at(word)})` : at(word)};`,
        ),
      ),
  };
}

/** Statements that write the results of the state `s`; `layer`, `row` and `kept` are in scope. */
export function outputText(
  { axis }: Pick<CudaMapReducePlan, 'axis'>,
  { value, index }: Reducer,
): string {
  const store = (to: string, results: readonly string[], type: string): string =>
    results
      .map(
        (result, c) =>
          `${to}[(layer * kept + row) * ${String(results.length)} + ${String(c)}] = (${type})(${result});`,
      )
      .join('\n');
  return lines(
    value.some((text) => text.includes('count')) &&
      `const V count = (V)${axis === 1 ? 'rowsJ' : 'rowsI'};`,
    store('out', value, 'V'),
    store('index', index, 'int'),
  );
}
