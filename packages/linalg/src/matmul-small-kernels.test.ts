import { readFileSync } from 'node:fs';
import { device } from '@mercer/tensor';
import { beforeAll, it } from 'vitest';
import { matmulSuite } from './matmul-suite.test-support.js';

/** What OpenBLAS's kernels for Skylake-X take. */
const NEEDED = ['avx512f', 'avx512bw', 'avx512dq', 'avx512vl', 'fma'];

function canRun(): boolean {
  try {
    const flags = /^flags\s*:(.*)$/m.exec(readFileSync('/proc/cpuinfo', 'utf8'))?.[1]?.split(' ');
    return NEEDED.every((flag) => flags?.includes(flag) === true);
  } catch {
    return false;
  }
}

// They have kernels of their own for small matrices, which other processors do not take by themselves.
beforeAll(() => {
  process.env['OPENBLAS_CORETYPE'] = 'SKYLAKEX';
});

if (canRun()) {
  matmulSuite("with OpenBLAS's kernels for AVX-512", () => device('cpu'), {
    scatters: true,
    runs: 40,
  });
} else {
  it.skip("OpenBLAS's kernels for AVX-512: this processor has none", () => undefined);
}
