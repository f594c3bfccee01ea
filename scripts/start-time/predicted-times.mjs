// What packages/tensor/src/predicted-times.ts predicts, beside what kernels take: the compiler by the length of a text, the interpreter by the
// operations of a program. `node scripts/start-time/predicted-times.mjs [--rounds N]`, after `pnpm build`; the machine should have nothing else to do.
import { pathToFileURL } from 'node:url';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { importPackage, root } from '../lib/workspace.mjs';

process.env['MERCER_CPU'] = 'interpreted';
/** @type {any} */
const core = await importPackage('core');
/** @type {any} */
const kernels = await importPackage('kernels');
const { predictedCompileMs, predictedInterpreterMs } = await import(
  pathToFileURL(path.join(root, 'packages/tensor/dist/predicted-times.js')).href
);
const { cpu, device, genred, tensor } = core;
const { limits } = device('cpu');
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const rounds = Number(values.rounds);

/** The least of some times. */
async function least(/** @type {() => Promise<unknown>} */ work) {
  let found = Infinity;
  for (let round = 0; round < rounds; round++) {
    const from = performance.now();
    await work();
    found = Math.min(found, performance.now() - from);
  }
  return found;
}

const ms = (/** @type {number} */ x) => `${x.toFixed(x < 10 ? 1 : 0)} ms`;
const points = (/** @type {number} */ rows, /** @type {number} */ dim) =>
  tensor(
    Float64Array.from({ length: rows * dim }, (_, n) => Math.sin(n * n)),
    { device: 'cpu', dtype: 'float32', shape: [rows, dim] },
  );

const FORMULAS = {
  'squared distance': 'SqDist(x, y)',
  Gaussian: 'Exp(-SqDist(x, y))',
  Cauchy: 'Inv(IntCst(1) + SqDist(x, y))',
  'sine of a distance': 'Sin(SqDist(x, y))',
  gradient: 'Grad(Exp(-SqDist(x, y)), x, IntCst(1))',
};

console.log(
  '| sums of | D | characters | compiler | predicted | interpreter, 2000 x 2000 | predicted |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- |');
for (const [name, formula] of Object.entries(FORMULAS)) {
  for (const dim of [3, 16, 64]) {
    const [x, y] = [await points(2000, dim), await points(2000, dim)];
    const variables = [`x = Vi(${dim})`, `y = Vj(${dim})`];
    const call = genred(formula, variables, { reduction: 'Sum', axis: 'j' });
    const problem = { reduction: call.reduction.reduction, dtype: 'float32' };
    const sizes = { rowsI: 2000, rowsJ: 2000, batch: 1 };
    const emitted = (/** @type {object} */ more) =>
      kernels.emitMapReduce(
        kernels.planMapReduce({ ...problem, ...sizes }, { ...limits, ...more }),
      );
    const compiled = emitted({}).steps[0].kernel;
    const { source, options } = compiled;
    const flags = core.hostCompileOptions?.(options) ?? [];
    const compileMs = await least(() =>
      cpu.compile({ source, options: flags, level: limits.level }),
    );
    const interpreterMs = await least(async () => (await call(x, y)).toTypedArray());
    const program = emitted({ interpreted: true }).steps[0].kernel;
    console.log(
      `| ${name} | ${dim} | ${source.length} | ${ms(compileMs)} | ${ms(predictedCompileMs(compiled))} | ${ms(interpreterMs)} | ${ms(predictedInterpreterMs(program, 4e6, limits))} |`,
    );
  }
}
