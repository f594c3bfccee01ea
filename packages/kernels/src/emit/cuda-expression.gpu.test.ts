import { cuda, nvrtc } from '@mercer/cuda-runtime';
import { describe, expect, test } from 'vitest';
import { useNvrtc } from '../../../cuda-runtime/test/find-nvrtc.mjs';
import { packParams } from '../kernel-param.js';
import { everyOpKernel } from './every-op-kernel.test-support.js';
import { ALL, compare, expected, SCALARS } from './every-op.test-support.js';

useNvrtc();
const indices = cuda.isAvailable() ? [0] : [];

if (indices.length === 0) {
  test.skip('GPU tests: no CUDA device', () => undefined);
}

describe.each(indices)('expressions on cuda:%i', (index) => {
  const device = cuda.device(index);
  const stream = device.defaultStream;

  test.each([
    ['float32', false],
    ['float32', true],
    ['float64', false],
  ] as const)(
    'mean what the evaluator says, %s, approximate roots and exponentials %s',
    async (dtype, approximate) => {
      const kernel = everyOpKernel(dtype, approximate);
      const { x, y } = expected(dtype);
      const values = dtype === 'float32' ? Float32Array : Float64Array;
      const out = new values(ALL.length * x.length);
      const { binary } = await nvrtc.compile({
        source: kernel.source,
        options: [`--gpu-architecture=${device.arch}`],
      });
      const module = await device.loadModuleAsync(binary);
      const buffers = [new values(x), new values(y), out].map((array) => {
        const buffer = device.allocate(array.byteLength, stream);
        void stream.copyToDevice(buffer, 0, array);
        return buffer;
      });
      const { offsets, bytes } = packParams(kernel.params);
      const packed = new DataView(new ArrayBuffer(bytes));
      buffers.forEach(({ address }, i) => {
        packed.setBigUint64(offsets[i] ?? 0, address, true);
      });
      packed.setBigInt64(offsets[3] ?? 0, BigInt(x.length), true);
      packed.setFloat64(offsets[4] ?? 0, SCALARS.p, true);
      packed.setFloat64(offsets[5] ?? 0, SCALARS.q, true);
      module
        .function(kernel.entry)
        .launch(
          kernel.geometry({ n: x.length }),
          stream,
          new Uint8Array(packed.buffer),
          Uint32Array.from(offsets),
        );
      await stream.copyToHost(out, buffers[2] as (typeof buffers)[number]);
      for (const buffer of buffers) buffer.free();
      module.dispose();
      const denormals = approximate ? 'roots' : 'powers';
      expect(compare(dtype, out, { denormals, roots: 2 }).slice(0, 20)).toEqual([]);
    },
  );
});
