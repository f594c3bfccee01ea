import { nvrtc } from '@mercer/cuda-runtime';
import { variable } from '@mercer/formula';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import type { CpuKernel, CudaKernel, EmittedKernel } from '../emitted-kernel.js';
import {
  compileKernel,
  compilers,
  compilerVerdict,
  cpuTestLimits,
  machines,
  runnableLevels,
} from '../testing/cpu-harness.test-support.js';
import {
  runCpuKernel,
  runInterpreted,
  type ProgramLaunch,
} from '../testing/cpu-program.test-support.js';
import { runCudaKernel } from '../testing/cuda-emulator.test-support.js';
import { emittedText } from '../testing/emitted-text.test-support.js';
import { H200 } from '../testing/h200.test-support.js';
import { complaints } from '../testing/nvrtc-complaints.test-support.js';
import { emitMap } from './emit.js';
import { planMap } from './plan-map.js';
import {
  SEVERAL_CASES,
  severalMemory,
  severalProblem,
  severalWanted,
  type SeveralCase,
} from './several-results.test-support.js';

const level = runnableLevels().at(-1) ?? 'x86-64-v2';

function runCompiled(kernel: EmittedKernel, launch: ProgramLaunch): void {
  const library = compileKernel(compilers()[0] ?? 'c++', kernel.source, level);
  runCpuKernel(kernel as CpuKernel, library, launch);
}

/** A case on a CPU: its results as the kernel writes them. */
function onCpu(one: SeveralCase, interpreted: boolean): readonly unknown[] {
  const { plan, scalars, inputs } = planMap(severalProblem(one), cpuTestLimits(level));
  const { x, y, outs } = severalMemory(one);
  const pointers = {
    ...Object.fromEntries(inputs.map(({ index }, k) => [`x${k}`, index === 0 ? x : y])),
    ...Object.fromEntries(outs.map((out, r) => [`out${r}`, out])),
  };
  const kernel = emitMap(plan);
  if (interpreted) runInterpreted(kernel, level, { scalars, pointers });
  else runCompiled(kernel, { scalars, pointers });
  return outs;
}

describe('maps with several results', () => {
  test.each(SEVERAL_CASES)('%s, compiled', (_, one) => {
    expect(onCpu(one, false)).toEqual(severalWanted(one));
  });

  test.each(SEVERAL_CASES)('%s, interpreted', (_, one) => {
    expect(onCpu(one, true)).toEqual(severalWanted(one));
  });

  test.each(SEVERAL_CASES)('%s, as CUDA', (_, one) => {
    const { plan, scalars, inputs } = planMap(severalProblem(one), H200);
    const { x, y, outs } = severalMemory(one);
    const pointers = [...inputs.map(({ index }) => (index === 0 ? x : y)), ...outs];
    runCudaKernel(emitMap(plan) as CudaKernel, { scalars, pointers });
    expect(outs).toEqual(severalWanted(one));
  });

  test.each(['compiled', 'interpreted', 'as CUDA'])('two inputs change places, %s', (how) => {
    const layout = { dtype: 'float32', strides: [1] } as const;
    const [a, b] = [new Float32Array(1030), new Float32Array(1030)];
    for (let i = 0; i < 1030; i++) [a[i], b[i]] = [i, -i];
    const { plan, scalars } = planMap(
      {
        shape: [1030],
        results: [
          { expr: variable('b'), ...layout },
          { expr: variable('a'), ...layout },
        ],
        inputs: [
          { name: 'a', ...layout },
          { name: 'b', ...layout },
        ],
      },
      how === 'as CUDA' ? H200 : cpuTestLimits(level),
    );
    const kernel = emitMap(plan);
    const pointers = { x0: a, x1: b, out0: a, out1: b };
    if (how === 'as CUDA') {
      runCudaKernel(kernel as CudaKernel, { scalars, pointers: [a, b, a, b] });
    } else if (how === 'interpreted') runInterpreted(kernel, level, { scalars, pointers });
    else runCompiled(kernel, { scalars, pointers });
    expect([a[0], a[7], a[1029], b[7], b[1029]]).toEqual([-0, -7, -1029, 7, 1029]);
  });

  test('are text that reads like this', () => {
    const [, one] = SEVERAL_CASES[1] as (typeof SEVERAL_CASES)[number];
    const { plan } = planMap(severalProblem(one), H200);
    expect(emitMap(plan).name).toMatchInlineSnapshot(
      `"map f32 i32 -> f64 bool i32 linear: x * y - scale; x < y; x + y"`,
    );
    expect(emittedText(emitMap(plan), 'kernel')).toMatchInlineSnapshot(`
      "extern "C" __global__ void __launch_bounds__(256)
      mercer_map(const float* x0, const i32* x1, double* out0, u8* out1, i32* out2, i64 n0, i64 d0_0, i64 d1_0, i64 d2_0, i64 s0_0, i64 s1_0, double p0) {
        const double tu1_wide = p0;
        const double tu1 = (double)tu1_wide;
        const auto value = [&](double x0, double x1) {
          const double t0 = x0 * x1;
          const double t2 = t0 - tu1;
          const double t3 = (x0 < x1) ? 1.0 : 0.0;
          const double t4 = x0 + x1;
          return Values{store_f64(t2), store_bool(t3), store_i32(t4)};
        };
        const double same_x1 = load_i32(*x1);
        const i64 first = (i64)blockIdx.x * 256 + threadIdx.x;
        const i64 step = (i64)gridDim.x * 256;
        i64 done = 0;
        if (((u64)x0 % sizeof(Pack_f32) | (u64)out0 % sizeof(Pack_f64) | (u64)out1 % sizeof(Pack_bool) | (u64)out2 % sizeof(Pack_i32)) == 0) {
          const i64 packs = n0 / 2;
          for (i64 i = first; i < packs; i += step) {
            const Pack_f32 in_x0 = reinterpret_cast<const Pack_f32*>(x0)[i];
            Pack_f64 result0;
            Pack_bool result1;
            Pack_i32 result2;
      #pragma unroll
            for (int j = 0; j < 2; ++j) { const Values v = value(load_f32(in_x0.v[j]), same_x1); result0.v[j] = v.v0; result1.v[j] = v.v1; result2.v[j] = v.v2; }
            reinterpret_cast<Pack_f64*>(out0)[i] = result0;
            reinterpret_cast<Pack_bool*>(out1)[i] = result1;
            reinterpret_cast<Pack_i32*>(out2)[i] = result2;
          }
          done = packs * 2;
        }
        for (i64 i = done + first; i < n0; i += step) { const Values v = value(load_f32(x0[i]), same_x1); out0[i] = v.v0; out1[i] = v.v1; out2[i] = v.v2; }
      }
      "
    `);
  });

  test.each(machines())(
    'compile for a host without a warning: %s, %s',
    (compiler, level) => {
      const logs = SEVERAL_CASES.map(([, one]) => {
        const { plan } = planMap(severalProblem(one), cpuTestLimits(level));
        return compilerVerdict(compiler, emitMap(plan).source, level).log;
      });
      expect(logs.filter((log) => log !== '')).toEqual([]);
    },
    120_000,
  );
});

useNvrtc();
describe.skipIf(!nvrtc.isAvailable())(
  'through NVRTC (skipped only where none is found: set MERCER_CUDA_HOME or fill .nvrtc)',
  () => {
    test.each(['sm_90a', 'sm_120', 'sm_80'])('compile for %s without a spill', async (arch) => {
      const kernels = SEVERAL_CASES.map(([name, one]) => {
        const { plan } = planMap(severalProblem(one), H200);
        return { name, kernel: emitMap(plan) };
      });
      expect(await complaints(kernels, arch)).toEqual([]);
    });
  },
);
