import { describe, expect, test } from 'vitest';
import type { CudaKernel } from '../emitted-kernel.js';
import { runSmall, smallKernel } from './cuda-emulator/small-kernel.test-support.js';
import { runCudaKernel } from './cuda-emulator.test-support.js';

const count = (length: number): Float32Array => new Float32Array(length).map((_, i) => i);
const lanes = (f: (lane: number) => number): number[] => Array.from({ length: 32 }, (_, i) => f(i));

describe('threads', () => {
  test('find their places in the grid', () => {
    const kernel = smallKernel(
      `const unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + t;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  out[block * 24 + thread] = block * 100 + thread;`,
      { grid: [2, 3, 2], block: [4, 3, 2] },
    );
    const wanted = Array.from({ length: 288 }, (_, i) => Math.floor(i / 24) * 100 + (i % 24));
    expect(runSmall(kernel, count(1), 288)).toEqual(wanted);
    const out = new Float32Array(288);
    const options = { blocks: 'shuffled', check: false } as const;
    runCudaKernel(kernel, { scalars: {}, pointers: [count(1), out], options });
    expect([...out]).toEqual(wanted);
  });

  test('exchange values through static and dynamic shared memory', () => {
    const kernel = smallKernel(
      `extern __shared__ __align__(16) unsigned char memory[];
  __shared__ float x[64], y[2][32];
  float* const z = reinterpret_cast<float*>(memory);
  x[t] = a[t]; y[t / 32][t % 32] = 2 * a[t]; z[t] = 3 * a[t];
  const int many = __syncthreads_count(t % 4 == 0);
  out[t] = x[63 - t] + y[1 - t / 32][31 - t % 32] + z[63 - t] + 1000 * many;`,
      { block: [64, 1, 1], sharedMemBytes: 256 },
    );
    const wanted = Array.from({ length: 64 }, (_, i) => 6 * (63 - i) + 16000);
    expect(runSmall(kernel, count(64), 64)).toEqual(wanted);
  });

  test('add to one place atomically, across blocks too', () => {
    const kernel = smallKernel('atomicAdd(out, a[t]);', { grid: [3, 1, 1] });
    expect(runSmall(kernel, count(32), 1)).toEqual([3 * 496]);
  });
});

describe('lanes of a warp', () => {
  test('read each other by shuffles and votes', () => {
    const kernel = smallKernel(`const float x = a[t];
  out[t] = __shfl_xor_sync(0xffffffffu, x, 5);
  out[32 + t] = __shfl_down_sync(0xffffffffu, x, 3);
  out[64 + t] = __shfl_up_sync(0xffffffffu, x, 3, 8);
  out[96 + t] = (float)__shfl_sync(0xffffffffu, (double)x, t + 1, 4);
  out[128 + t] = __popc(__ballot_sync(0xffffffffu, t > 20)) + 100 * __any_sync(0xffffffffu, t == 7) + 1000 * __all_sync(0xffffffffu, t != 7);
  if (t < 16) out[160 + t] = __shfl_xor_sync(0xffffu, (long long)t, 1);
  else out[160 + t] = __reduce_add_sync(0xffff0000u, (int)t);`);
    expect(runSmall(kernel, count(32), 192)).toEqual([
      ...lanes((i) => i ^ 5),
      ...lanes((i) => (i + 3 < 32 ? i + 3 : i)),
      ...lanes((i) => (i % 8 >= 3 ? i - 3 : i)),
      ...lanes((i) => (i & ~3) + ((i + 1) & 3)),
      ...lanes(() => 11 + 100),
      ...lanes((i) => (i < 16 ? i ^ 1 : 376)),
    ]);
  });

  test('multiply matrices in tf32, fragments laid out as PTX defines them', () => {
    const kernel = smallKernel(`const unsigned g = t / 4, c = t % 4;
  const float* const b = a + 128;
  unsigned x[4], y[2];
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x[0]) : "f"(a[g * 8 + c]));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x[1]) : "f"(a[(g + 8) * 8 + c]));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x[2]) : "f"(a[g * 8 + c + 4]));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x[3]) : "f"(a[(g + 8) * 8 + c + 4]));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y[0]) : "f"(b[c * 8 + g]));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y[1]) : "f"(b[(c + 4) * 8 + g]));
  float d[4] = {1, 1, 1, 1};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\\n"
    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
    : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  for (int i = 0; i < 4; ++i) out[(g + i / 2 * 8) * 8 + 2 * c + i % 2] = d[i];`);
    const a = new Float32Array(192).map((_, i) => ((i * 37) % 101) - 50);
    const product = Array.from({ length: 128 }, (_, i) => {
      let sum = 1;
      for (let k = 0; k < 8; k += 1) sum += a[(i >> 3) * 8 + k]! * a[128 + k * 8 + (i % 8)]!;
      return sum;
    });
    expect(runSmall(kernel, a, 128)).toEqual(product);
  });

  test('round to tf32 to nearest, ties away from zero', () => {
    const kernel = smallKernel(`unsigned r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(a[t]));
  out[t] = __uint_as_float(r);`);
    const half = 2 ** -11;
    const a = new Float32Array(32).fill(1);
    a.set([1 + half, -1 - half, 1 + half * 0.999, 1 + 3 * half, Infinity]);
    expect(runSmall(kernel, a, 32).slice(0, 5)).toEqual([
      ...[1 + 2 * half, -1 - 2 * half, 1, 1 + 4 * half, Infinity],
    ]);
  });
});

describe('instructions', () => {
  const approximate = ['lg2', 'ex2', 'sqrt', 'rsqrt', 'rcp'];
  test('that approximate are cut towards zero, denormals to zero', () => {
    const calls = approximate.map(
      (name, i) =>
        `asm("${name}.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a[t])); out[32 * ${i} + t] = r;`,
    );
    const kernel = smallKernel(`float r; ${calls.join('\n  ')}`);
    const a = new Float32Array(32).fill(1).map((x, i) => x + i / 7);
    a.set([0, 2 ** -130, 4, Infinity, NaN]);
    const got = runSmall(kernel, a, 160);
    const row = (name: string): number[] => got.slice(32 * approximate.indexOf(name)).slice(0, 32);
    const edges = (name: string): number[] => row(name).slice(0, 5);
    expect(edges('lg2')).toEqual([-Infinity, -Infinity, 2, Infinity, NaN]);
    expect(edges('ex2')).toEqual([1, 1, 16, Infinity, NaN]);
    expect(edges('sqrt')).toEqual([0, 0, 2, Infinity, NaN]);
    expect(edges('rsqrt')).toEqual([Infinity, Infinity, 0.5, 0, NaN]);
    expect(edges('rcp')).toEqual([Infinity, Infinity, 0.25, 0, NaN]);
    const exact = [
      Math.log2,
      (x: number) => 2 ** x,
      Math.sqrt,
      (x: number) => x ** -0.5,
      (x: number) => 1 / x,
    ];
    approximate.forEach((name, i) => {
      row(name).forEach((value, at) => {
        if (at < 5) return;
        const error = (exact[i]!(a[at]!) - value) / value;
        expect(error).toBeGreaterThan(-1e-15);
        expect(error).toBeLessThan(2 ** -23);
      });
    });
  });

  test('that take and give double precision', () => {
    const kernel = smallKernel(`double q, r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(q) : "d"((double)a[t]));
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"((double)a[t]));
  out[t] = (float)(fabs(q * a[t] - 1) + fabs(r * r * a[t] - 1));
  out[32 + t] = (float)(__double2loint(q) | __double2loint(r));
  double d0 = 1, d1 = 2;
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
    : "+d"(d0), "+d"(d1) : "d"((double)a[t]), "d"((double)(2 * a[t])));
  out[64 + 2 * t] = (float)d0;
  out[65 + 2 * t] = (float)d1;`);
    const a = count(32).map((x) => x + 1);
    const got = runSmall(kernel, a, 128);
    expect(Math.max(...got.slice(0, 32))).toBeLessThan(2 ** -18);
    expect(Math.max(...got.slice(0, 32))).toBeGreaterThan(0);
    expect(got.slice(32, 64)).toEqual(lanes(() => 0));
    const product = Array.from({ length: 64 }, (_, i) => {
      const [row, column] = [i >> 3, i % 8];
      // lane 4 row + k holds a (row, k), lane 4 column + k holds b (k, column)
      let sum = 1 + (column % 2);
      for (let k = 0; k < 4; k += 1) sum += a[4 * row + k]! * 2 * a[4 * column + k]!;
      return sum;
    });
    expect(got.slice(64)).toEqual(product);
  });

  test('that compare, saturate and ask for a place', () => {
    const kernel = smallKernel(`float r;
  unsigned lane;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a[t]), "f"(4.0f)); out[t] = r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a[t]), "f"(4.0f)); out[32 + t] = r;
  asm("fma.rn.sat.f32 %0, %1, 0f3e800000, %2;" : "=f"(r) : "f"(a[t]), "f"(-0.5f)); out[64 + t] = r;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)); out[96 + t] = lane;`);
    const a = count(32);
    a[31] = NaN;
    const sat = (x: number): number => Math.min(Math.max(x / 4 - 0.5, 0), 1);
    expect(runSmall(kernel, a, 128)).toEqual([
      ...lanes((i) => (i === 31 ? NaN : Math.max(i, 4))),
      ...lanes((i) => (i === 31 ? NaN : Math.min(i, 4))),
      ...lanes((i) => (i === 31 ? 0 : sat(i))),
      ...lanes((i) => i),
    ]);
  });
});

describe('asynchronous copies', () => {
  const copy = `__device__ void copy(float* to, const float* from, int valid) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(at), "l"(from), "r"(valid) : "memory");
}`;
  const body = `__shared__ __align__(16) float x[128];
  copy(x + 4 * t, a + 4 * t, 16 - t % 4 * 4);
  asm volatile("cp.async.commit_group;" ::: "memory");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncwarp();
  for (int i = 0; i < 4; ++i) out[4 * t + i] = x[127 - 4 * t - i];`;

  test('arrive when they are waited for, filled up with zeros', () => {
    const wanted = Array.from({ length: 128 }, (_, at) => {
      const i = 127 - at;
      return i % 4 < 4 - ((i >> 2) % 4) ? i : 0;
    });
    expect(runSmall(smallKernel(body, {}, copy), count(128), 128)).toEqual(wanted);
  });

  test('of single words need no number of valid bytes', () => {
    const words = `__device__ void copy(float* to, const float* from) {
  const unsigned at = (unsigned)__cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\\n\\tcp.async.wait_all;" :: "r"(at), "l"(from) : "memory");
}`;
    const kernel = smallKernel(
      `extern __shared__ float x[];
  copy(x + t, a + 31 - t);
  __syncthreads();
  out[t] = x[t ^ 1];`,
      { sharedMemBytes: 128 },
      words,
    );
    expect(runSmall(kernel, count(32), 32)).toEqual(lanes((i) => 31 - (i ^ 1)));
  });

  const broken: readonly (readonly [string, string | RegExp, string, RegExp])[] = [
    ['the wait', /.*wait_group.*/, '', /is copying to by cp.async/],
    ['the commit', /.*commit_group.*/, '', /is copying to by cp.async/],
    ['the meeting of the lanes', '__syncwarp();', '', /which thread \d+ of the same block/],
    ['the alignment', 'a + 4', 'a + 1 + 4', /misaligned cp.async of 16 bytes/],
  ];
  test.each(broken)('fail without %s', (_, from, to, message) => {
    const text = body.replace(from, to);
    expect(text).not.toBe(body);
    expect(() => runSmall(smallKernel(text, {}, copy), count(129), 128)).toThrow(message);
  });
});

describe('a kernel fails that', () => {
  const failing: readonly (readonly [what: string, body: string, message: string | RegExp])[] = [
    [
      'reads behind a buffer',
      'out[t] = a[t + 1];',
      'reads 4 bytes at offset 128 of a, which has 128 bytes, in line 4: out[t] = a[t + 1];',
    ],
    ['reads before a buffer', 'out[t] = a[(int)t - 1];', 'reads 4 bytes at offset -4 of a'],
    ['writes behind a buffer', 'out[t + 97] = 2;', 'writes 4 bytes at offset 512 of out'],
    [
      'writes to what it only reads',
      'const_cast<float*>(a)[t] = 1;',
      'writes to a, which is declared as read',
    ],
    [
      'reads a misaligned vector',
      'if (t < 4) out[t] = reinterpret_cast<const float4*>(a + 1)->y;',
      'misaligned access',
    ],
    [
      'leaves an array of its own',
      'float x[4] = {}; x[t % 4] = 1; out[t] = x[t];',
      'index 4 is outside its array',
    ],
    [
      'leaves a shared array',
      '__shared__ float x[32], y[32]; float* z = x; y[t] = 1; z[t + 1] = 1; out[t] = y[t];',
      'offset 128 of the shared array x, which has 128 bytes',
    ],
    [
      'waits where others end',
      'if (t == 3) return; __syncthreads(); out[t] = 1;',
      /waits at a barrier for ever: thread \(3,0,0\) has ended/,
    ],
    [
      'waits at another barrier',
      'if (t < 16) {\n    __syncthreads();\n  } else {\n    __syncthreads();\n  }',
      /wait at different barriers: .* line 5, .* line 7/,
    ],
    [
      'shuffles where others wait',
      'if (t == 0) __syncthreads(); else __shfl_xor_sync(0xffffffffu, t, 1);',
      /waits (at a barrier|for lanes of its warp) for ever.*, in line 4: if/,
    ],
    [
      'shuffles without its own lane',
      'out[t] = __shfl_sync(0xffffu, a[t], 0);',
      'in which its own lane is missing',
    ],
    [
      'mixes warp operations',
      'if (t % 2) __syncwarp(); else out[t] = __shfl_sync(0xffffffffu, a[t], 0);',
      'different operations',
    ],
    [
      'reads what another thread writes',
      'out[t] = a[t]; out[64] = out[31 - t];',
      /byte \d+ of out, which thread \d+ of the same block/,
    ],
    [
      'takes a shuffle for a barrier',
      '__shared__ float x[32]; x[t] = a[t]; __shfl_xor_sync(0xffffffffu, t, 1); out[t] = x[t ^ 1];',
      /of the shared array x, which thread \d+/,
    ],
    ['fails an assertion', 'assert(t < 31);', 'thread (31,0,0): assert(t < 31)'],
    ['reads address 0', 'const float* x = 0; out[t] = x[t];', 'reads at address 0'],
  ];
  test.each(failing)('%s', (_, body, message) => {
    expect(() => runSmall(smallKernel(body), count(32), 128)).toThrow(message);
  });

  test('writes the same place from two blocks', () => {
    const kernel = smallKernel('out[t] = a[t];', { grid: [2, 1, 1] });
    expect(() => runSmall(kernel, count(32), 32)).toThrow(/out, which thread 0 of block 0 wrote/);
  });

  test('leaves a page, without checks', () => {
    const kernel = smallKernel('out[t] = a[t + 1024];');
    const pointers = [count(32), new Float32Array(32)];
    expect(() =>
      runCudaKernel(kernel, { scalars: {}, pointers, options: { check: false } }),
    ).toThrow(/touches offset \d+ of a, which has 128 bytes/);
  });
});

describe('a launch fails that', () => {
  const kernel = smallKernel('out[t] = a[t];');
  const pointers = [count(32), new Float32Array(32)];
  const launch = (changed: Partial<CudaKernel>, given = pointers): void =>
    runCudaKernel({ ...kernel, ...changed }, { scalars: {}, pointers: given });

  test('declares other parameters than the entry has', () => {
    const [a, out] = kernel.params as [CudaKernel['params'][number], CudaKernel['params'][number]];
    expect(() => launch({ params: [out, a] })).toThrow(
      /declared as p8c8, but the entry takes c8p8/,
    );
    expect(() =>
      launch({ params: [a, out, { name: 'k', kind: 'scalar', type: 'int64' }] }),
    ).toThrow(/no value for the scalar k/);
    expect(() => launch({}, [count(32)])).toThrow(/has the pointers a, out, but 1 were given/);
  });

  test('no GPU would take', () => {
    const geometry = (block: number): Partial<CudaKernel> => ({
      geometry: () => ({ grid: [1, 1, 1], block: [block, 1, 1], sharedMemBytes: 0 }),
    });
    expect(() => launch(geometry(1025))).toThrow(/cannot launch/);
    expect(() => launch(geometry(0))).toThrow(/cannot launch/);
    const source = kernel.source.replace('void f', 'void __launch_bounds__(64) f');
    expect(() => launch({ ...geometry(96), source })).toThrow(/its launch bound is 64 threads/);
  });

  test('has inline assembly that the emulator does not know', () => {
    const unknown = smallKernel('asm("bfind.u32 %0, %1;" : "=r"(x) : "r"(t));');
    expect(() => launch(unknown)).toThrow(/"bfind.u32 %0, %1;": the emulator knows no bfind.u32/);
  });
});
