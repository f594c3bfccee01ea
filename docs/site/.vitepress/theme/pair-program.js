// The program of the playground: a formula over all pairs in Mercer, and the same in loops of JavaScript.

/** Formulas: as Mercer reads them, what they add up over components (of `a`, `b` and `d`, their difference), and what becomes of that sum `s`. */
export const FORMULAS = [
  { name: 'Gaussian', formula: 'Exp(-SqDist(x, y))', component: 'd * d', value: 'Math.exp(-s)' },
  {
    name: 'Laplacian',
    formula: 'Exp(-Norm2(x - y))',
    component: 'd * d',
    value: 'Math.exp(-Math.sqrt(s))',
  },
  { name: 'Cauchy', formula: '1 / (1 + SqDist(x, y))', component: 'd * d', value: '1 / (1 + s)' },
  { name: 'Manhattan', formula: 'Sum(Abs(x - y))', component: 'Math.abs(d)', value: 's' },
  { name: 'Dot product', formula: '(x | y)', component: 'a * b', value: 's' },
];

/** Reductions over j: where a loop starts, its step with `value` and `j`, and the result of row `i`. */
export const REDUCTIONS = {
  Sum: { start: '0', step: 'kept += value;', end: 'kept' },
  Mean: { start: '0', step: 'kept += value;', end: 'kept / N' },
  Min: { start: 'Infinity', step: 'kept = Math.min(kept, value);', end: 'kept' },
  Max: { start: '-Infinity', step: 'kept = Math.max(kept, value);', end: 'kept' },
  LogSumExp: { start: '0', step: 'kept += Math.exp(value);', end: 'Math.log(kept)' },
};

/**
 * @param {{ formula: string, component: string, value: string, reduction: keyof typeof REDUCTIONS, m: number, n: number, d: number }} wanted
 * @returns {string}
 */
export function pairProgram({ formula, component, value, reduction, m, n, d }) {
  const { start, step, end } = REDUCTIONS[reduction];
  return `import { genred, tensor } from '@mercer/core';

const [M, N, D] = [${m}, ${n}, ${d}]; // rows of x, rows of y, components
const x = Float32Array.from({ length: M * D }, () => Math.random());
const y = Float32Array.from({ length: N * D }, () => Math.random());

// In Mercer: a formula over all pairs of rows, reduced over the rows of y.
const reduce = genred(${JSON.stringify(formula)}, ['x = Vi(${d})', 'y = Vj(${d})'], {
  reduction: '${reduction}',
  axis: 'j',
});
const points = [await tensor(x, { shape: [M, D] }), await tensor(y, { shape: [N, D] })];
const mercer = async () => (await reduce(...points)).toTypedArray();

// In plain JavaScript.
function plain() {
  const result = new Float64Array(M);
  for (let i = 0; i < M; i++) {
    let kept = ${start};
    for (let j = 0; j < N; j++) {
      let s = 0;
      for (let k = 0; k < D; k++) {
        const [a, b] = [x[i * D + k], y[j * D + k]];
        const d = a - b;
        s += ${component};
      }
      const value = ${value};
      ${step}
    }
    result[i] = ${end};
  }
  return result;
}

async function timed(what, call) {
  await call(); // the first call plans
  const start = performance.now();
  const result = await call();
  const ms = performance.now() - start;
  console.log(what.padEnd(16), ms.toFixed(1).padStart(8), 'ms');
  return { result, ms };
}
const loops = await timed('plain JavaScript', plain);
const ours = await timed('Mercer', mercer);

const differences = ours.result.map((one, i) => Math.abs(one - loops.result[i]) / (1e-30 + Math.abs(loops.result[i])));
console.log('Mercer is', (loops.ms / ours.ms).toFixed(1), 'times as fast.');
console.log('largest relative difference', Math.max(...differences).toExponential(1));
`;
}
