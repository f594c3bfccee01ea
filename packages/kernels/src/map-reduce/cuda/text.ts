import { cudaLiteral, cudaType } from '../../emit/literals.js';
import { cudaHelpers, type CudaHelper } from '../../emit/cuda-math.js';
import { lines } from '../../emit/text.js';
import type { ListSpelling } from '../../emit/parameter-text.js';
import { halfLoads, halfTypes } from '../half-storage.js';
import type { LaunchedPlan } from '../launched-plan.js';
import { rowNames } from '../params.js';
import type { CudaMapReducePlan } from '../plan-types.js';
import {
  type Reducer,
  type ReducerDialect,
  type Accumulator,
  accumulatorWords,
  wordsOf,
} from '../reducers/reducer.js';
import {
  outputNames,
  runningResult,
  type RunningOutput,
  type RunningResult,
} from '../reducers/running-result.js';

/** How CUDA C++ writes values `V` of the data type; what it calls goes into `called`. */
export function cudaReducerDialect(
  { dtype }: Pick<CudaMapReducePlan, 'dtype'>,
  called: Set<CudaHelper>,
): ReducerDialect {
  const isFloat = dtype === 'float32';
  const call = (float: string, double: string) => (x: string) =>
    `${isFloat ? float : double}(${x})`;
  return {
    lit: (value) => cudaLiteral(value, dtype),
    exp: (x) => {
      // an exponential stands beside the larger exponent
      called.add('max');
      if (isFloat) called.add('expApproximate');
      return call('exp_approximate', 'exp')(x);
    },
    log: call('logf', 'log'),
    abs: call('fabsf', 'fabs'),
    larger: (x, y) => {
      called.add('max');
      return `max_nan(${x}, ${y})`;
    },
    scalar: undefined,
    vector: undefined,
  };
}

/** The same where a thread has one value at a time, and rows of a single reduction are added several at a time. */
export function cudaScalarDialect(
  { dtype }: Pick<CudaMapReducePlan, 'dtype'>,
  called: Set<CudaHelper>,
): ReducerDialect {
  const dialect = cudaReducerDialect({ dtype }, called);
  if (dtype !== 'float32') return dialect;
  return {
    ...dialect,
    scalar: {
      smaller: (x, y) => {
        called.add('min');
        return `min_nan(${x}, ${y})`;
      },
      fma: (x, y, z) => `fmaf(${x}, ${y}, ${z})`,
      exp2: (x) => {
        called.add('exp2Approximate');
        return `exp2_approximate(${x})`;
      },
      round: (x) => `rintf(${x})`,
      either: (condition, other) => `${condition} || ${other}`,
      always: (condition) => condition,
      lowestBit: (bits) => `__ffs((int)${bits}) - 1`,
    },
  };
}

/** A running result in CUDA C++. */
export interface CudaRunningResult extends RunningResult {
  /** What its text calls. */
  readonly needs: ReadonlySet<CudaHelper>;
  /** The same with what its statements call, of those that have been asked for. */
  readonly called: ReadonlySet<CudaHelper>;
}

/** The running result of reductions whose dialect has `called`. */
export function cudaRunningResult(
  reducers: readonly Reducer[],
  called: ReadonlySet<CudaHelper>,
): CudaRunningResult {
  const running = runningResult(reducers);
  return { ...running, needs: new Set(called), called };
}

/** What both steps begin with, and, where inputs are read, how 16 bits are and the helpers of a formula. */
export function cudaPrelude(
  plan: LaunchedPlan,
  running: CudaRunningResult,
  wanted?: ReadonlySet<CudaHelper>,
): string {
  const { dtype, inputs } = plan;
  const helpers = new Set([...(wanted ?? []), ...running.needs]);
  const type = cudaType(dtype);
  const lane = dtype === 'float32' ? 'int' : 'long long';
  return lines(
    wanted ? halfLoads(inputs, 'cuda') : halfTypes(inputs, 'cuda'),
    '#define INLINE __device__ __forceinline__',
    '#define UNUSED',
    `typedef ${type} V;`,
    `typedef ${lane} I;`,
    'INLINE I number(I x) { return x; }',
    'INLINE V real(I x) { return (V)x; }',
    'INLINE bool any(I x) { return x != 0; }',
    plan.sums?.inFloat64 &&
      lines(
        'typedef double W;',
        'INLINE W wide(V x) { return (W)x; }',
        'INLINE V narrow(W x) { return (V)x; }',
        'INLINE W choose(I which, W a, W b) { return which ? a : b; }',
      ),
    cudaHelpers(helpers, dtype),
    running.text,
  );
}

/** How the parameters of a kernel are spelled. */
export const spelling = ({ dtype }: Pick<LaunchedPlan, 'dtype'>): ListSpelling => ({
  elements: { workspace: cudaType(dtype) },
});

/**
 * Statements that put a running result into the workspace and take it out again, word by word, so that
 * neighbouring rows lie side by side; `layer`, `part`, `row` and `kept` are in scope.
 */
export function stateWords(
  { dtype, splits }: Pick<CudaMapReducePlan, 'dtype' | 'splits'>,
  { accumulators }: Pick<RunningResult, 'accumulators'>,
): { readonly store: (state: string) => string; readonly load: (state: string) => string } {
  const [toReal, toNumber] =
    dtype === 'float32'
      ? ['__int_as_float', '__float_as_int']
      : ['__longlong_as_double', '__double_as_longlong'];
  const words = wordsOf(accumulators, dtype);
  const at = (word: number): string =>
    `workspace[((layer * ${splits} + part) * ${words} + ${word}) * kept + row]`;
  const places = accumulators.map((_, n) => wordsOf(accumulators.slice(0, n), dtype));
  const each = (one: (accumulator: Accumulator, place: number) => string): string =>
    lines(...accumulators.map((accumulator, n) => one(accumulator, places[n] ?? 0)));
  const isPair = (accumulator: Accumulator): boolean => accumulatorWords(accumulator, dtype) === 2;
  return {
    store: (state) =>
      each((accumulator, word) => {
        const value = `${state}.${accumulator.name}`;
        if (isPair(accumulator)) {
          const bits = `__double_as_longlong(${value})`;
          return `${at(word)} = __int_as_float((int)${bits}); ${at(word + 1)} = __int_as_float((int)(${bits} >> 32));`;
        }
        return `${at(word)} = ${accumulator.type === 'I' ? `${toReal}(${value})` : value};`;
      }),
    load: (state) =>
      each((accumulator, word) => {
        const [low, high] = [at(word), at(word + 1)];
        if (isPair(accumulator)) {
          return `${state}.${accumulator.name} = __longlong_as_double(((long long)__float_as_int(${high}) << 32) | (unsigned int)__float_as_int(${low}));`;
        }
        return `${state}.${accumulator.name} = ${accumulator.type === 'I' ? `${toNumber}(${low})` : low};`;
      }),
  };
}

/** Statements that write the results of the state `s`; `layer`, `row` and `kept` are in scope, with ranges `seen`. */
export function outputText(
  { axis, ranges }: Pick<CudaMapReducePlan, 'axis' | 'ranges'>,
  { value, index, readsCount }: Pick<RunningOutput, 'value' | 'index' | 'readsCount'>,
  names: RunningOutput['names'] = outputNames(0),
): string {
  const store = (to: string, results: readonly string[], type: string): string =>
    results
      .map(
        (result, c) =>
          `${to}[(layer * kept + row) * ${results.length} + ${c}] = (${type})(${result});`,
      )
      .join('\n');
  return lines(
    readsCount && `const V count = (V)${ranges ? 'seen' : rowNames(axis).reduced};`,
    store(names.value, value, 'V'),
    store(names.index, index, 'int'),
  );
}

/** The same for all reductions of `state`. */
export function allOutputsText(
  plan: Pick<LaunchedPlan, 'axis' | 'ranges'>,
  { outputs }: RunningResult,
  state: string,
): string {
  const several = outputs.length > 1;
  return lines(
    ...outputs.map((output) =>
      lines(
        several && '{',
        output.bind(state),
        outputText(plan, output, output.names),
        several && '}',
      ),
    ),
  );
}
