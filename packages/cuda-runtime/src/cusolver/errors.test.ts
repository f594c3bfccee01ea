import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { callsOf, fake } from '../../test/fake-device.mjs';
import { cuda } from '../cuda.js';
import { CusolverError } from '../errors.js';
import { cusolver } from './cusolver.js';
import { solverBench, type SolverBench } from './solver.test-support.js';

let bench: SolverBench;
beforeAll(async () => {
  bench = await solverBench();
});
beforeEach(() => bench.stream.memset(bench.info.buffer, 0, 99, 4, 4));

/** L Lᵀ for L = [[2, 0], [1, 3]], in column order, the upper element not symmetric. */
const lowerOf = Float64Array.of(4, 2, -77, 10);

describe('errors', () => {
  const shape = { dtype: 'float64', uplo: 'lower', n: 2 } as const;

  test.each([
    ['potrf', 7, 'CUSOLVER_STATUS_INTERNAL_ERROR', 'compute-sanitizer'],
    ['potrf_bufferSize', 3, 'CUSOLVER_STATUS_INVALID_VALUE', 'Check dimensions'],
    ['potrf', 99, 'CUSOLVER_STATUS_99', '(99).'],
    ['potrf', 31, 'CUSOLVER_STATUS_INVALID_WORKSPACE', 'same arguments'],
  ])('%s failing with %i is a CusolverError', async (call, status, name, remedy) => {
    const { stream, workspace, info, upload } = bench;
    const a = { buffer: await upload(lowerOf), leadingDimension: 2 };
    fake('FAIL_CALL', call);
    fake('FAIL_STATUS', status);
    let thrown: unknown;
    try {
      cusolver.potrf(stream, { ...shape, a, workspace, info });
    } catch (error) {
      thrown = error;
    } finally {
      fake('FAIL_CALL', undefined);
    }
    expect(thrown).toBeInstanceOf(CusolverError);
    const expected = call === 'potrf' ? 'cusolverDnXpotrf' : 'cusolverDnXpotrf_bufferSize';
    expect(thrown).toMatchObject({ code: name, status, name, call: expected, device: 0 });
    expect((thrown as Error).message).toContain(remedy);
  });

  test('on the solver thread rejects', async () => {
    const { device, stream, workspace, info, upload } = bench;
    const a = { buffer: await upload(lowerOf), leadingDimension: 2 };
    const values = { buffer: device.allocate(16, stream) };
    fake('FAIL_CALL', 'syevd');
    fake('FAIL_STATUS', 6);
    const failing = cusolver.syevd(stream, { ...shape, a, values, vectors: true, workspace, info });
    await expect(failing).rejects.toMatchObject({
      code: 'CUSOLVER_STATUS_EXECUTION_FAILED',
      status: 6,
      name: 'CUSOLVER_STATUS_EXECUTION_FAILED',
      call: 'cusolverDnXsyevd',
    });
    fake('FAIL_CALL', undefined);
    await cusolver.syevd(stream, { ...shape, a, values, vectors: true, workspace, info });
  });

  test('a handle that cannot be made is an error each time, and made later if it can', async () => {
    const { device } = bench;
    const own = device.createStream();
    fake('FAIL_CALL', 'createParams');
    fake('FAIL_STATUS', 2);
    const failed = { name: 'CUSOLVER_STATUS_ALLOC_FAILED', call: 'cusolverDnCreateParams' };
    const lines = await callsOf(() => expect(cusolver.prepare(own)).rejects.toMatchObject(failed));
    // What was made before the failure is destroyed.
    expect(lines.filter((line) => line === 'create')).toHaveLength(1);
    expect(lines.filter((line) => line === 'destroy')).toHaveLength(1);
    fake('FAIL_CALL', undefined);
    await cusolver.prepare(own);
    own.dispose();
  });

  test.each([
    ['a short workspace', { workspace: { bytes: 63 } }, 'OUT_OF_RANGE'],
    ['a matrix beyond its buffer', { n: 3 }, 'INVALID_ARGUMENT'],
    ['a negative size', { n: -1 }, 'INVALID_ARGUMENT'],
    ['a size that is no whole number', { n: 1.5 }, 'INVALID_ARGUMENT'],
    ['an unknown dtype', { dtype: 'float16' as 'float32' }, 'INVALID_ARGUMENT'],
    ['an unknown triangle', { uplo: 'both' as 'lower' }, 'INVALID_ARGUMENT'],
  ])('%s is refused before the library is called', async (_name, change, code) => {
    const { stream, workspace, info, upload } = bench;
    const a = { buffer: await upload(lowerOf), leadingDimension: 2 };
    const lines = await callsOf(() => {
      const options = { ...shape, a, info, ...change };
      const given = { ...workspace, ...('workspace' in change ? change.workspace : {}) };
      expect(() => cusolver.potrf(stream, { ...options, workspace: given })).toThrow(
        expect.objectContaining({ code }) as Error,
      );
    });
    expect(lines.filter((line) => line.startsWith('potrf '))).toEqual([]);
  });

  test('memory of another device, out of its buffer or disposed is refused', async () => {
    const { stream, workspace, info, upload } = bench;
    const there = cuda.device(1);
    const far = { buffer: there.allocate(64, there.defaultStream), leadingDimension: 2 };
    const a = { buffer: await upload(lowerOf), leadingDimension: 2 };
    const codeOf = (change: object): unknown => {
      try {
        cusolver.potrf(stream, { ...shape, a, workspace, info, ...change });
        return 'no error';
      } catch (error) {
        return (error as { code: unknown }).code;
      }
    };
    expect(codeOf({ a: far })).toBe('DEVICE_MISMATCH');
    expect(codeOf({ a: { ...a, byteOffset: 8 } })).toBe('OUT_OF_RANGE');
    expect(codeOf({ a: { ...a, leadingDimension: 2 ** 52 } })).toBe('OUT_OF_RANGE');
    expect(codeOf({ info: { ...info, byteOffset: 1 } })).toBe('OUT_OF_RANGE');
    a.buffer.dispose();
    expect(codeOf({})).toBe('DISPOSED');
  });
});
