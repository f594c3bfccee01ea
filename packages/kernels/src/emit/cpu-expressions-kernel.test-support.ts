import type { RealExpr } from '@mercer/formula';
import type { PairwiseDType } from '../dtype.js';
import { compileKernel, interpretedLevel, runKernel } from '../testing/cpu-harness.test-support.js';
import { emitCpuExpression } from './cpu-expression.js';
import { cpuHelpers, type CpuHelper } from './cpu-math.js';
import { vectorPrelude, type CpuLevel } from './cpu-vector.js';
import { runInterpretedExpressions } from './interpreted-expressions.test-support.js';

/** A kernel that applies expression i of a and b, p and q to pairs of inputs, one after the other. */
export function cpuExpressionsSource(
  exprs: readonly RealExpr[],
  dtype: PairwiseDType,
  level: CpuLevel,
): string {
  const functions = exprs.map((expr, i) =>
    emitCpuExpression(expr, {
      dtype,
      name: `f${i}`,
      parameters: ['a', 'b'],
      uniforms: { p: 'p', q: 'q' },
    }),
  );
  const helpers = new Set<CpuHelper>(functions.flatMap((f) => [...f.helpers]));
  const uniforms = functions.flatMap((f) => f.uniforms);
  return `${vectorPrelude(level, dtype)}
${cpuHelpers(helpers, dtype, level)}
${functions.map((f) => f.text).join('\n')}
struct Args { const T *a, *b; T* out; int64_t n; double p, q; };
extern "C" void apply(const void* args, int64_t begin, int64_t end, void*) {
  const Args& g = *(const Args*)args;
  UNUSED const double p = g.p, q = g.q;
${uniforms
  .map(
    ({ name, value }) => `  const double ${name}_wide = ${value};
  const V ${name} = splat((T)${name}_wide), ${name}_low = splat((T)(${name}_wide - (double)(T)${name}_wide));
  (void)${name}_low;`,
  )
  .join('\n')}
  for (int64_t t = begin; t < end; t++) {
    for (int64_t i = 0; i < g.n; i += LANES) {
      UNUSED const V x = *(const VU*)(g.a + i), y = *(const VU*)(g.b + i);
      V r = x;
      switch (t) {
${functions.map((f, i) => `        case ${i}: r = ${f.call('x', 'y')}; break;`).join('\n')}
      }
      *(VU*)(g.out + t * g.n + i) = r;
    }
  }
}
`;
}

/** What the expressions give at pairs of values, a multiple of 16 of them: one row for each expression. */
export function runCpuExpressions(
  exprs: readonly RealExpr[],
  on: { readonly compiler: string; readonly level: CpuLevel; readonly dtype: PairwiseDType },
  { x, y }: { readonly x: readonly number[]; readonly y: readonly number[] },
  { p, q }: { readonly p: number; readonly q: number } = { p: 0, q: 0 },
): Float32Array | Float64Array {
  const { compiler, level, dtype } = on;
  const library = compileKernel(compiler, cpuExpressionsSource(exprs, dtype, level), level);
  if (interpretedLevel(library) !== undefined) {
    return runInterpretedExpressions(exprs, { level, dtype, scalars: { p, q } }, { x, y });
  }
  const Values = dtype === 'float32' ? Float32Array : Float64Array;
  const params = new Uint8Array(48);
  const view = new DataView(params.buffer);
  view.setBigInt64(24, BigInt(x.length), true);
  view.setFloat64(32, p, true);
  view.setFloat64(40, q, true);
  const out = new Values(exprs.length * x.length);
  runKernel({
    library,
    entry: 'apply',
    params,
    buffers: [
      { at: 0, memory: new Values(x), written: false },
      { at: 8, memory: new Values(y), written: false },
      { at: 16, memory: out, written: true },
    ],
    tasks: exprs.length,
    chunk: 1,
    scratchBytes: 64,
  });
  return out;
}
