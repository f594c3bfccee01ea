import { cudaLiteral } from '../emit/literals.js';
import type { DType, PairwiseDType } from '../dtype.js';
import type { ReduceKind } from './plan-reduce.js';

/**
 * How a reduction is accumulated, in CUDA C++ where T is what is computed in: a struct `Accumulator` with the functions `none`, `add` (a
 * value and its place among the elements), `merge` (an accumulator of elements behind) and `result`.
 */
export interface AccumulatorText {
  readonly text: string;
  /** Of one accumulator. */
  readonly bytes: number;
  /** What `result` gives. */
  readonly result: DType;
}

const METHOD = '__device__ __forceinline__';

/** Products and sums are taken in float64 and rounded once. */
function inFloat64(
  dtype: PairwiseDType,
  none: string,
  operator: '+' | '*',
  result: string,
): AccumulatorText {
  return {
    text: `struct Accumulator {
  double total;
  static ${METHOD} Accumulator none() { return {${none}}; }
  ${METHOD} void add(T value, i64) { total = total ${operator} (double)value; }
  ${METHOD} void merge(const Accumulator& other) { total = total ${operator} other.total; }
  ${METHOD} T result(double divisor) const { return (T)(${result}); }
};`,
    bytes: 8,
    result: dtype,
  };
}

/** NaN where one is. */
function extreme(dtype: PairwiseDType, none: number, before: '<' | '>'): AccumulatorText {
  return {
    text: `struct Accumulator {
  T best;
  static ${METHOD} Accumulator none() { return {${cudaLiteral(none, dtype)}}; }
  ${METHOD} void add(T value, i64) { if (value ${before} best || value != value) best = value; }
  ${METHOD} void merge(const Accumulator& other) { add(other.best, 0); }
  ${METHOD} T result(double) const { return best; }
};`,
    bytes: dtype === 'float64' ? 8 : 4,
    result: dtype,
  };
}

/** The first place of the extreme, or of NaN where one is; -1 of no elements. */
function place(before: '<' | '>'): AccumulatorText {
  return {
    text: `struct Accumulator {
  T best;
  i64 place;
  static ${METHOD} Accumulator none() { return {(T)0, -1}; }
  ${METHOD} void add(T value, i64 at) {
    const bool isNaN = value != value, wasNaN = best != best, first = at < place;
    const bool better = isNaN ? !wasNaN || first : !wasNaN && (value ${before} best || (value == best && first));
    if (at >= 0 && (place < 0 || better)) { best = value; place = at; }
  }
  ${METHOD} void merge(const Accumulator& other) { add(other.best, other.place); }
  ${METHOD} i64 result(double) const { return place; }
};`,
    bytes: 16,
    result: 'int64',
  };
}

/** NaN is true. */
function truth(none: 0 | 1, operator: '|' | '&'): AccumulatorText {
  return {
    text: `struct Accumulator {
  int holds;
  static ${METHOD} Accumulator none() { return {${none}}; }
  ${METHOD} void add(T value, i64) { holds ${operator}= value != (T)0; }
  ${METHOD} void merge(const Accumulator& other) { holds ${operator}= other.holds; }
  ${METHOD} u8 result(double) const { return (u8)holds; }
};`,
    bytes: 4,
    result: 'bool',
  };
}

/**
 * The sum of exponentials, as the largest and the sum of `exp(x - largest)` (Milakov and Gimelshein, "Online normalizer calculation for softmax",
 * 2018, arXiv:1805.02867). Where the largest is infinite, or NaN, `finished` subtracts 0: e to the power of what is left is then infinite, or 0, or NaN.
 */
function exponentials(dtype: PairwiseDType, result: string): AccumulatorText {
  const [exp, log] = dtype === 'float64' ? ['exp', 'log'] : ['expf', 'logf'];
  const least = cudaLiteral(-Infinity, dtype);
  return {
    text: `struct Accumulator {
  T most;
  double total;
  static ${METHOD} Accumulator none() { return {${least}, 0.0}; }
  ${METHOD} void join(T at, double sum) {
    if (at == most) total += sum;
    else if (at < most) total += sum * (double)${exp}(at - most);
    else { total = (at > most ? total * (double)${exp}(most - at) : 0.0) + sum; most = most != most ? most : at; }
  }
  ${METHOD} void add(T value, i64) { join(value, value == ${least} ? 0.0 : 1.0); }
  ${METHOD} void merge(const Accumulator& other) { join(other.most, other.total); }
  ${METHOD} Accumulator finished() const {
    return most - most == (T)0 ? *this : Accumulator{(T)0, (double)${exp}(most)};
  }
  ${METHOD} T result(double) const { const Accumulator all = finished(); return all.most + ${log}((T)all.total); }
  ${METHOD} T of(T value) const { return ${result}; }
};`,
    bytes: 16,
    result: dtype,
  };
}

/** By the kind of reduction. */
export const ACCUMULATORS: {
  readonly [K in ReduceKind]: (dtype: PairwiseDType) => AccumulatorText;
} = {
  sum: (dtype) => inFloat64(dtype, '0.0', '+', 'total / divisor'),
  prod: (dtype) => inFloat64(dtype, '1.0', '*', 'total'),
  min: (dtype) => extreme(dtype, Infinity, '<'),
  max: (dtype) => extreme(dtype, -Infinity, '>'),
  argMin: () => place('<'),
  argMax: () => place('>'),
  any: () => truth(0, '|'),
  all: () => truth(1, '&'),
  logSumExp: (dtype) => exponentials(dtype, 'value'),
  softmax: (dtype) =>
    exponentials(
      dtype,
      `(T)((double)${dtype === 'float64' ? 'exp' : 'expf'}(value - most) / total)`,
    ),
  logSoftmax: (dtype) =>
    exponentials(dtype, `value - most - ${dtype === 'float64' ? 'log' : 'logf'}((T)total)`),
};
