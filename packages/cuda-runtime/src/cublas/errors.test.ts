import { beforeAll, describe, expect, test } from 'vitest';
import { callsOf, fake } from '../../test/fake-device.mjs';
import { cuda } from '../cuda.js';
import { solverBench, type SolverBench } from '../cusolver/solver.test-support.js';
import { CublasError } from '../errors.js';
import { cublas } from './cublas.js';
import type { GetrfBatchedOptions, GetrsBatchedOptions } from './batched-lu.js';
import type { TrsmBatchedOptions, TrsmOptions } from './triangular.js';

let bench: SolverBench;
beforeAll(async () => {
  bench = await solverBench();
  await cublas.prepare(bench.stream);
});

const shape = { dtype: 'float64', side: 'left', uplo: 'lower', rows: 2, columns: 1 } as const;

async function problem(): Promise<TrsmOptions> {
  const a = { buffer: await bench.upload(Float64Array.of(2, 1, 0, 4)), leadingDimension: 2 };
  const b = { buffer: await bench.upload(Float64Array.of(2, 5)), leadingDimension: 2 };
  return { ...shape, a, b };
}

interface BatchedCalls {
  readonly trsm: TrsmBatchedOptions;
  readonly getrf: GetrfBatchedOptions;
  readonly getrs: GetrsBatchedOptions;
}

/** Options of the three batched calls over one table of pointers, with some of them changed. */
async function batched(change: { readonly [name: string]: number } = {}): Promise<BatchedCalls> {
  const pointers = { buffer: await bench.upload(new BigUint64Array(2)) };
  const { rightLeadingDimension = 2, ...rest } = change;
  const own = { dtype: 'float64', pointers, leadingDimension: 2, batch: 2, ...rest } as const;
  const right = { rightPointers: pointers, rightLeadingDimension };
  return {
    trsm: { ...shape, ...own, ...right },
    getrf: { ...own, n: 2, infos: pointers },
    getrs: { ...own, n: 2, columns: 1, ...right },
  };
}

function thrownBy(call: () => void): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return 'no error';
}

describe('failures of the library', () => {
  test.each([
    ['dtrsm_64', 7, 'CUBLAS_STATUS_INVALID_VALUE', 'cublasDtrsm_v2_64', 'Check dimensions'],
    ['blasSetWorkspace', 3, 'CUBLAS_STATUS_ALLOC_FAILED', 'cublasSetWorkspace_v2', 'no device'],
  ])('%s failing with %i is a CublasError', async (call, status, name, made, remedy) => {
    const options = await problem();
    fake('FAIL_CALL', call);
    fake('FAIL_STATUS', status);
    const thrown = thrownBy(() => cublas.trsm(bench.stream, options));
    fake('FAIL_CALL', undefined);
    expect(thrown).toBeInstanceOf(CublasError);
    expect(thrown).toMatchObject({ code: name, status, name, call: made, device: 0 });
    expect((thrown as Error).message).toContain('a status of the fake library');
    expect((thrown as Error).message).toContain(remedy);
  });

  test('the info that getrsBatched gives on the host names the argument', async () => {
    const { getrs } = await batched();
    const options = { ...getrs, columns: 13 };
    const thrown = thrownBy(() => cublas.getrsBatched(bench.stream, options));
    expect(thrown).toBeInstanceOf(CublasError);
    expect(thrown).toMatchObject({
      code: 'CUBLAS_STATUS_INVALID_VALUE',
      status: 7,
      call: 'cublasDgetrsBatched',
    });
    expect((thrown as Error).message).toContain('argument 4 is wrong');
  });

  test('a workspace that is not aligned is refused by the library', async () => {
    const workspace = { buffer: bench.device.allocate(512, bench.stream), byteOffset: 8 };
    const options = { ...(await problem()), workspace };
    expect(thrownBy(() => cublas.trsm(bench.stream, options))).toBeInstanceOf(CublasError);
  });

  test('a handle that cannot be made is an error each time, and made later if it can', async () => {
    const own = bench.device.createStream();
    fake('FAIL_CALL', 'blasSetStream');
    fake('FAIL_STATUS', 3);
    const failed = { name: 'CUBLAS_STATUS_ALLOC_FAILED', call: 'cublasSetStream_v2' };
    const lines = await callsOf(() => expect(cublas.prepare(own)).rejects.toMatchObject(failed));
    // What was made before the failure is destroyed.
    expect(lines.filter((line) => line === 'blasCreate')).toHaveLength(1);
    expect(lines.filter((line) => line === 'blasDestroy')).toHaveLength(1);
    fake('FAIL_CALL', undefined);
    await cublas.prepare(own);
    own.dispose();
  });

  test('no memory for the workspace of a handle', async () => {
    const own = bench.device.createStream();
    fake('TOTAL_BYTES', 1 << 20);
    await expect(cublas.prepare(own)).rejects.toMatchObject({ name: 'CUDA_ERROR_OUT_OF_MEMORY' });
    fake('TOTAL_BYTES', undefined);
    own.dispose();
  });
});

/** What the library was asked for; the handles of streams disposed before go whenever these are done. */
async function callsMade(work: () => void): Promise<string[]> {
  return (await callsOf(work)).filter((line: string) => line !== 'blasDestroy');
}

describe('misuse is refused before the library is called', () => {
  test.each([
    ['a matrix beyond its buffer', { rows: 3, b: { leadingDimension: 3 } }, 'INVALID_ARGUMENT'],
    ['a right-hand side beyond its buffer', { columns: 2 }, 'OUT_OF_RANGE'],
    ['a small leading dimension', { b: { leadingDimension: 1 } }, 'INVALID_ARGUMENT'],
    [
      'the order of the other side',
      { side: 'right', a: { leadingDimension: 0 } },
      'INVALID_ARGUMENT',
    ],
    ['a negative size', { rows: -1 }, 'INVALID_ARGUMENT'],
    ['a size that is no whole number', { columns: 1.5 }, 'INVALID_ARGUMENT'],
    ['an unknown dtype', { dtype: 'float16' }, 'INVALID_ARGUMENT'],
    ['an unknown triangle', { uplo: 'both' }, 'INVALID_ARGUMENT'],
    ['an unknown side', { side: 'middle' }, 'INVALID_ARGUMENT'],
    ['too large a workspace', { workspace: { bytes: 1 << 20 } }, 'OUT_OF_RANGE'],
  ] as const)('%s', async (_name, change, code) => {
    const options = await problem();
    const changed: Record<string, unknown> = { ...options };
    for (const [key, value] of Object.entries(change)) {
      const whole = typeof value === 'object';
      const { buffer } = options.b;
      changed[key] = whole ? { buffer, ...(changed[key] as object), ...(value as object) } : value;
    }
    const lines = await callsMade(() => {
      const call = (): void => cublas.trsm(bench.stream, changed as unknown as TrsmOptions);
      expect(thrownBy(call)).toMatchObject({ code });
    });
    expect(lines).toEqual([]);
  });

  test.each([
    ['a table of pointers beyond its buffer', { batch: 3 }, 'OUT_OF_RANGE'],
    ['a small leading dimension', { leadingDimension: 1 }, 'INVALID_ARGUMENT'],
    ['a small one of the right-hand sides', { rightLeadingDimension: 1 }, 'INVALID_ARGUMENT'],
    ['more than an int', { leadingDimension: 2 ** 31 }, 'INVALID_ARGUMENT'],
  ] as const)('batched: %s', async (_name, change, code) => {
    const { trsm, getrf, getrs } = await batched(change);
    const lines = await callsMade(() => {
      expect(thrownBy(() => cublas.trsmBatched(bench.stream, trsm))).toMatchObject({ code });
      expect(thrownBy(() => cublas.getrsBatched(bench.stream, getrs))).toMatchObject({ code });
      if ('rightLeadingDimension' in change) return;
      expect(thrownBy(() => cublas.getrfBatched(bench.stream, getrf))).toMatchObject({ code });
    });
    expect(lines).toEqual([]);
  });

  test('short pivots, and memory of another device or disposed', async () => {
    const { getrf } = await batched();
    const lu = { ...getrf, pivots: { buffer: bench.device.allocate(12, bench.stream) } };
    expect(thrownBy(() => cublas.getrfBatched(bench.stream, lu))).toMatchObject({
      code: 'OUT_OF_RANGE',
    });
    const there = cuda.device(1);
    const far = { buffer: there.allocate(64, there.defaultStream), leadingDimension: 2 };
    const options = await problem();
    expect(thrownBy(() => cublas.trsm(bench.stream, { ...options, a: far }))).toMatchObject({
      code: 'DEVICE_MISMATCH',
    });
    options.b.buffer.dispose();
    expect(thrownBy(() => cublas.trsm(bench.stream, options))).toMatchObject({ code: 'DISPOSED' });
  });
});
