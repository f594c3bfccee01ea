import { describe, expect, it } from 'vitest';
import {
  compileKernel,
  compilers,
  interpretedLevel,
  runKernel,
  runnableLevels,
} from './cpu-harness.test-support.js';

const level = runnableLevels().find((one) => one !== 'x86-64-v2');

describe.skipIf(level === undefined || compilers().length === 0)(
  'host kernels of the tests (skipped without a compiler, and on processors that cannot fuse a product and a sum)',
  () => {
    it('fuse products and sums as those of users do, with whatever flags their text gets', () => {
      const x = Float64Array.from({ length: 15 }, (_, k) => 1 + (k + 1) * 2 ** -30);
      const squares = x.map((value) => value * value);
      // what rounding took off each square: by a fused step, and nothing without
      const wanted = x.map(
        (value) =>
          ((value - 1) * 2 ** 30) ** 2 * 2 ** -60 - (value * value - (1 + 2 * (value - 1))),
      );
      expect(wanted.every((one) => one !== 0)).toBe(true);
      for (let text = 0; text < 12; text++) {
        const source = `// ${text}
#include <stdint.h>
struct Args { const double* x; const double* squares; double* out; };
extern "C" void residuals(const void* args, int64_t begin, int64_t end, void*) {
  const Args& a = *static_cast<const Args*>(args);
  for (int64_t i = begin; i < end; ++i) a.out[i] = a.x[i] * a.x[i] - a.squares[i];
}
`;
        const library = compileKernel(compilers()[0] ?? '', source, level ?? 'x86-64-v3');
        if (interpretedLevel(library) !== undefined) return;
        const out = new Float64Array(x.length);
        runKernel({
          library,
          entry: 'residuals',
          params: new Uint8Array(24),
          buffers: [
            { at: 0, memory: x, written: false },
            { at: 8, memory: squares, written: false },
            { at: 16, memory: out, written: true },
          ],
          tasks: x.length,
          chunk: x.length,
          scratchBytes: 0,
        });
        expect([...out]).toEqual([...wanted]);
      }
    });
  },
);
