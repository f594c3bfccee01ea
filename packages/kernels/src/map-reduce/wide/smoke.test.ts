import { ops, reduction, vi, vj, pm } from '@mercer/formula';
import { expect, test } from 'vitest';
import { runnableLevels } from '../../testing/cpu-harness.test.helper.js';
import { runCpuProgram } from '../../testing/cpu-program.test.helper.js';
import { checkMapReduce } from '../map-reduce-check.test.helper.js';
import { emitMapReduce } from '../emit.js';
import { planMapReduce } from '../plan.js';
import { writeFileSync } from 'node:fs';
import { runCudaProgram } from '../../testing/cuda-emulator.test.helper.js';
import { H200 } from '../../testing/h200.test.helper.js';


const level = runnableLevels().at(-1) ?? 'x86-64-v2';
const limits = { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 } as const;
const gauss = (d: number) => ops.exp(ops.neg(ops.div(ops.sqDist(vi(0, d), vj(1, d)), d)));
test.each([
  ['sum', reduction('Sum', ops.mul(gauss(200), vj(2, 1)))],
  ['columns', reduction('Sum', ops.mul(gauss(3), vj(2, 300)))],
  ['both', reduction('Sum', ops.mul(gauss(150), vj(2, 70)))],
  ['argmin columns', reduction('ArgMin', ops.sub(vi(0, 990), vj(1, 990)))],
  ['kmin', reduction('KMinArgKMin', ops.sub(vi(0, 205), vj(1, 205)), { k: 2, axis: 0 })],
  ['softmax', reduction('SumSoftMaxWeight', ops.div(ops.dot(vi(0, 130), vj(1, 130)),20), { weight: ops.add(ops.abs(vj(2, 131)),1) })],
  ['maxsum', reduction('MaxSumShiftExp', ops.div(ops.dot(vi(0, 130), vj(1, 130)),20), { weight: ops.add(ops.abs(vj(2, 131)),1) })],
  ['lse', reduction('LogSumExp', ops.mul(pm(3,1), ops.dot(vi(0, 130), vj(1, 130))))],
  ['matvec', reduction('Sum', ops.matVecMult(vj(1, 40 * 30), vi(0, 30)))],
  ['normal', reduction('Sum', ops.mul(ops.normalize(vi(0, 150)), ops.normalize(vj(1, 150))))],
])('%s', (name, one) => {
  const plan = planMapReduce({ reduction: one, dtype: 'float32', rowsI: 1000, rowsJ: 1000, batch: 1 }, limits);
  const src = emitMapReduce(plan).steps[0]!.kernel.source;
  writeFileSync(`/tmp/wide-${name.replace(' ', '-')}.cpp`, src);
  console.log(plan.summary, src.length);
  expect('form' in plan).toBe(true);
  const gplan = planMapReduce({ reduction: one, dtype: 'float32', rowsI: 300, rowsJ: 10000, batch: 1 }, H200);
  console.log(gplan.summary);
  writeFileSync(`/tmp/wide-${name.replace(' ', '-')}.cu`, emitMapReduce(gplan).steps[0]!.kernel.source);
  for (const dtype of ['float32'] as const)
    for (const planned of [{ rowsI: 300, rowsJ: 10000 }, { rowsI: 100000, rowsJ: 10000 }])
    for (const sizes of [{ rowsI: 17, rowsJ: 41 }, { rowsI: 5, rowsJ: 0 }, { rowsI: 3, rowsJ: 300, batch: 2 }])
      checkMapReduce({ reduction: one, dtype, ...sizes, units: 60, planned }, H200, (p, l) => { if ((one.axis === 1 ? sizes.rowsI : sizes.rowsJ) > 0) runCudaProgram(p, l); });
  for (const dtype of ['float32'] as const)
    for (const sizes of [{ rowsI: 37, rowsJ: 41 }, { rowsI: 5, rowsJ: 0 }, { rowsI: 3, rowsJ: 300, batch: 2 }])
      checkMapReduce({ reduction: one, dtype, ...sizes, units: 60, planned: { rowsI: 1000, rowsJ: 1000 } }, limits, runCpuProgram);
});
