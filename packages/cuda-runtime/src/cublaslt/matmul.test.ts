import { beforeAll, describe, expect, test } from 'vitest';
import { callsOf, fake, useFakeDriver, useFakeSolvers } from '../../test/fake-device.mjs';
import { cuda } from '../cuda.js';
import type { DeviceBuffer } from '../device-buffer.js';
import type { CudaDevice } from '../device.js';
import { CublasError } from '../errors.js';
import type { CudaStream } from '../stream.js';
import { cublasLt } from './cublaslt.js';
import type { MatmulOptions } from './matmul.js';

let device: CudaDevice;
let stream: CudaStream;
beforeAll(async () => {
  await useFakeDriver();
  await useFakeSolvers();
  device = cuda.device(0);
  stream = device.defaultStream;
});

async function upload(...data: number[]): Promise<DeviceBuffer> {
  const buffer = device.allocate(data.length * 8, stream);
  await stream.copyToDevice(buffer, 0, Float64Array.from(data));
  return buffer;
}

async function read(buffer: DeviceBuffer): Promise<number[]> {
  const out = new Float64Array(buffer.bytes / 8);
  await stream.copyToHost(out, buffer);
  return [...out];
}

/** a is [[1, 2, 3], [4, 5, 6]], b [[1, 0], [2, 1], [0, 3]], both as columns after columns. */
async function operands(): Promise<MatmulOptions & { d: { buffer: DeviceBuffer } }> {
  return {
    dtype: 'float64',
    m: 2,
    n: 2,
    k: 3,
    a: { buffer: await upload(1, 4, 2, 5, 3, 6), leadingDimension: 2 },
    b: { buffer: await upload(1, 2, 0, 0, 1, 3), leadingDimension: 3 },
    d: { buffer: await upload(100, 100, 100, 100), leadingDimension: 2 },
  };
}

describe('a product', () => {
  test('in column order', async () => {
    const product = await operands();
    cublasLt.matmul(stream, product);
    expect(await read(product.d.buffer)).toEqual([5, 14, 11, 23]);
  });

  test('scaled and added to, with leading dimensions, offsets and a workspace', async () => {
    const product = await operands();
    const a = {
      buffer: await upload(-1, 1, 4, -1, 2, 5, -1, 3, 6),
      leadingDimension: 3,
      byteOffset: 8,
    };
    const c = { buffer: await upload(1, 2, 3, 4), leadingDimension: 2 };
    const workspace = { buffer: device.allocate(256, stream) };
    cublasLt.matmul(stream, { ...product, a, c, alpha: 2, beta: 10, workspace });
    expect(await read(product.d.buffer)).toEqual([20, 48, 52, 86]);
    cublasLt.matmul(stream, { ...product, beta: 1, alpha: 0.5 });
    expect(await read(product.d.buffer)).toEqual([22.5, 55, 57.5, 97.5]);
  });

  test.each([
    [false, false],
    [true, false],
    [false, true],
    [true, true],
  ])('in row order and transposed (%s, %s) equals the loop', async (transposeA, transposeB) => {
    const [m, n, k] = [2, 4, 3];
    const a = Array.from({ length: m * k }, (_, i) => i + 1);
    const b = Array.from({ length: k * n }, (_, i) => (i * 7) % 5);
    const at = (i: number, l: number): number => a[transposeA ? l * m + i : i * k + l] ?? NaN;
    const bt = (l: number, j: number): number => b[transposeB ? j * k + l : l * n + j] ?? NaN;
    const expected = Array.from({ length: m * n }, (_, x) =>
      [0, 1, 2].reduce((sum, l) => sum + at(Math.floor(x / n), l) * bt(l, x % n), 0),
    );
    const d = { buffer: device.allocate(m * n * 8, stream), leadingDimension: n };
    cublasLt.matmul(stream, {
      dtype: 'float64',
      order: 'row',
      m,
      n,
      k,
      transposeA,
      transposeB,
      a: { buffer: await upload(...a), leadingDimension: transposeA ? m : k },
      b: { buffer: await upload(...b), leadingDimension: transposeB ? k : n },
      d,
    });
    expect(await read(d.buffer)).toEqual(expected);
  });

  test('of a batch, one operand repeated', async () => {
    const product = await operands();
    const b = { buffer: await upload(1, 2, 0, 0, 1, 3, 2, 4, 0, 0, 2, 6), leadingDimension: 3 };
    const d = { buffer: device.allocate(64, stream), leadingDimension: 2, batchStride: 4 };
    cublasLt.matmul(stream, { ...product, batch: 2, b: { ...b, batchStride: 6 }, d });
    expect(await read(d.buffer)).toEqual([5, 14, 11, 23, 10, 28, 22, 46]);
  });

  test('can be captured', async () => {
    const product = await operands();
    stream.beginCapture();
    cublasLt.matmul(stream, { ...product, beta: 1 });
    const exec = stream.endCapture().instantiate();
    product.a.buffer.dispose();
    exec.launch(stream);
    exec.launch(stream);
    expect(await read(product.d.buffer)).toEqual([110, 128, 122, 146]);
    exec.dispose();
  });

  test('of nothing calls nothing', async () => {
    const product = await operands();
    expect(await callsOf(() => cublasLt.matmul(stream, { ...product, m: 0 }))).toEqual([]);
  });
});

describe('the library', () => {
  test('is asked for an algorithm once for each problem, alignment and workspace', async () => {
    const product = { ...(await operands()), n: 1 };
    const lines = await callsOf(() => {
      for (let i = 0; i < 3; i++) cublasLt.matmul(stream, product);
    });
    const asked = lines.filter((line) => line.startsWith('heuristic'));
    expect(asked).toEqual([expect.stringMatching(/^heuristic 0( (16|32|64|128|256)){4} 1$/)]);
    expect(lines.filter((line) => line.startsWith('matmul'))).toEqual(
      Array(3).fill('matmul 0 0 1 0 2748'),
    );
    const shifted = { buffer: await upload(0, 1, 2, 0), byteOffset: 8, leadingDimension: 3 };
    const again = await callsOf(() => cublasLt.matmul(stream, { ...product, b: shifted }));
    expect(again.find((line) => line.startsWith('heuristic'))).toMatch(/^heuristic 0 \d+ 8 /);
    const workspace = { buffer: device.allocate(512, stream), bytes: 256 };
    const more = await callsOf(() => cublasLt.matmul(stream, { ...product, workspace }));
    expect(more.find((line) => line.startsWith('heuristic'))).toMatch(/^heuristic 256 /);
  });

  test('forgets all algorithms when it knows 512', async () => {
    const product = { ...(await operands()), m: 1, n: 1 }; // which no other test asks for
    const buffer = device.allocate(1024, stream);
    const ask = (bytes: number): void =>
      cublasLt.matmul(stream, { ...product, workspace: { buffer, bytes } });
    const lines = await callsOf(() => {
      for (let bytes = 1; bytes <= 513; bytes++) ask(bytes);
      ask(513);
    });
    const count = (name: string): number => lines.filter((line) => line.startsWith(name)).length;
    expect(count('heuristic')).toBe(513);
    expect(count('descDestroy')).toBeGreaterThanOrEqual(512);
    expect((await callsOf(() => ask(1))).some((line) => line.startsWith('heuristic'))).toBe(true);
    await stream.whenDone();
  });

  test.each([
    ['float32', undefined, 'descCreate 68 0', 'layoutCreate 0 2 3 2'],
    ['float32', 'tf32', 'descCreate 77 0', 'layoutCreate 0 2 3 2'],
    ['float64', undefined, 'descCreate 70 1', 'layoutCreate 1 2 3 2'],
    ['float16', undefined, 'descCreate 68 0', 'layoutCreate 2 2 3 2'],
    ['bfloat16', undefined, 'descCreate 68 0', 'layoutCreate 14 2 3 2'],
  ] as const)('%s in %s is described as %s', async (dtype, compute, desc, layout) => {
    const workspace = { buffer: device.allocate(64, stream), bytes: 48 };
    const product = { ...(await operands()), dtype, workspace };
    const lines = await callsOf(async () => {
      cublasLt.matmul(stream, compute === undefined ? product : { ...product, compute });
      await stream.whenDone();
    });
    expect(lines).toContain(desc);
    expect(lines).toContain(layout);
  });

  test('without an algorithm throws CublasError, and nothing of the attempt is left', async () => {
    const a = { buffer: device.allocate(2 * 13 * 8, stream), leadingDimension: 2 };
    const b = { buffer: device.allocate(2 * 13 * 8, stream), leadingDimension: 13 };
    const product = { ...(await operands()), k: 13, a, b };
    let thrown: unknown;
    const lines = await callsOf(() => {
      try {
        cublasLt.matmul(stream, product);
      } catch (error) {
        thrown = error;
      }
    });
    expect(thrown).toBeInstanceOf(CublasError);
    expect(thrown).toMatchObject({
      code: 'CUBLAS_STATUS_NOT_SUPPORTED',
      status: 15,
      name: 'CUBLAS_STATUS_NOT_SUPPORTED',
      call: 'cublasLtMatmulAlgoGetHeuristic',
      device: 0,
    });
    expect((thrown as Error).message).toContain(
      'a status of the fake library. Check element types',
    );
    const count = (name: string): number => lines.filter((line) => line.startsWith(name)).length;
    expect([count('layoutCreate'), count('layoutDestroy')]).toEqual([4, 4]);
    expect([count('descCreate'), count('descDestroy')]).toEqual([1, 1]);
    expect([count('preferenceCreate'), count('preferenceDestroy')]).toEqual([1, 1]);
  });

  test('failing in the product itself throws CublasError', async () => {
    const product = await operands();
    fake('FAIL_CALL', 'matmul');
    fake('FAIL_STATUS', 13);
    expect(() => cublasLt.matmul(stream, product)).toThrow(
      expect.objectContaining({
        code: 'CUBLAS_STATUS_EXECUTION_FAILED',
        status: 13,
        call: 'cublasLtMatmul',
      }) as Error,
    );
    fake('FAIL_CALL', undefined);
  });
});

describe('misuse', () => {
  test.each([
    ['k = 0', { k: 0 }, 'INVALID_ARGUMENT'],
    ['a matrix beyond its buffer', { m: 3, a: { leadingDimension: 3 } }, 'OUT_OF_RANGE'],
    ['a small leading dimension', { d: { leadingDimension: 1 } }, 'INVALID_ARGUMENT'],
    ['a batch beyond its buffer', { batch: 2, d: { batchStride: 4 } }, 'OUT_OF_RANGE'],
    ['an unknown dtype', { dtype: 'int8' as 'float32' }, 'INVALID_ARGUMENT'],
    ['an unknown compute', { compute: 'float8' as 'tf32' }, 'INVALID_ARGUMENT'],
    ['too large a workspace', { workspace: { bytes: 1 << 20 } }, 'OUT_OF_RANGE'],
  ] as const)('%s is refused', async (_name, change, code) => {
    const product = await operands();
    const changed: Record<string, unknown> = { ...product };
    for (const [key, value] of Object.entries(change)) {
      changed[key] =
        typeof value === 'object'
          ? { buffer: product.a.buffer, ...(changed[key] as object), ...(value as object) }
          : value;
    }
    expect(() => cublasLt.matmul(stream, changed as unknown as MatmulOptions)).toThrow(
      expect.objectContaining({ code }) as Error,
    );
  });
});
