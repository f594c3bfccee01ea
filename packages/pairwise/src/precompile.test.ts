import { add, exp, neg, variable } from '@mercer/formula';
import { device } from '@mercer/tensor';
import { describe, expect, it, vi } from 'vitest';
import { customKernel } from './custom-kernel.js';
import { kernelDescriptor } from './kernel-descriptor.js';
import { precompile } from './precompile.js';
import { describePrecompile } from './precompile-suite.test-support.js';

describe('on the CPU', () => {
  describePrecompile(() => device('cpu'));

  it('kernels that take the compiler too long are left to the interpreter', async () => {
    const cpu = device('cpu');
    const before = cpu.compileTimeoutMs;
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    cpu.compileTimeoutMs = 1;
    try {
      // a number that is in no cache
      const kernel = customKernel(exp(neg(add(variable('d'), Math.random()))));
      const descriptor = kernelDescriptor({
        innerOperator: 'diff',
        innerPower: 'square',
        outerPower: 'none',
        kernel,
      });
      const report = await precompile([descriptor], {
        device: cpu,
        layouts: [['row', 'row', 'row']],
        sizes: [{ m: 10, n: 10, k: 3 }],
      });
      expect(report.kernels).toBeGreaterThan(0);
      expect(warned).toHaveBeenCalledWith(expect.stringMatching(/interpreter computes/), {
        type: 'MercerNotice',
        code: 'MERCER_COMPILE_TIMEOUT',
      });
    } finally {
      cpu.compileTimeoutMs = before;
      warned.mockRestore();
    }
  });
});
