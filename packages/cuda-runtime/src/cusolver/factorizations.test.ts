import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { callsOf, fake } from '../../test/fake-device.mjs';
import { cusolver } from './cusolver.js';
import { solverBench, type SolverBench } from './solver.test-support.js';

let bench: SolverBench;
beforeAll(async () => {
  bench = await solverBench();
});
beforeEach(() => bench.stream.memset(bench.info.buffer, 0, 99, 4, 4));

/** L Lᵀ for L = [[2, 0], [1, 3]], in column order, the upper element not symmetric. */
const lowerOf = Float64Array.of(4, 2, -77, 10);

describe('Cholesky', () => {
  test('factors and solves in stream order, with offsets, leading dimension and info', async () => {
    const { stream, workspace, info, upload, doubles, infoValue } = bench;
    const a = await upload(
      Float64Array.of(-1, ...lowerOf.subarray(0, 2), -5, ...lowerOf.subarray(2)),
    );
    const b = await upload(Float64Array.of(10, 32, 4, 2));
    const common = { dtype: 'float64', uplo: 'lower', n: 2 } as const;
    const matrix = { buffer: a, byteOffset: 8, leadingDimension: 3 };
    const lines = await callsOf(() => {
      cusolver.potrf(stream, { ...common, a: matrix, workspace, info });
      const right = { buffer: b, leadingDimension: 2 };
      cusolver.potrs(stream, { ...common, columns: 2, a: matrix, b: right, info });
    });
    expect(lines).toEqual([
      'potrf_bufferSize 0 2 1 3',
      'potrf 7 0 2 1 3 1 64 0',
      'potrs 7 0 2 2 1 3 1 2',
    ]);
    expect(await doubles(a)).toEqual([-1, 2, 1, -5, -77, 3]);
    expect(await doubles(b)).toEqual([1, 3, 1, 0]);
    expect(await infoValue()).toBe(0);
  });

  test('of float32 in the upper triangle', async () => {
    const { stream, workspace, info, upload } = bench;
    const a = await upload(Float32Array.of(4, -77, 2, 10));
    const shape = { dtype: 'float32', uplo: 'upper', n: 2 } as const;
    expect(cusolver.potrfWorkspace(stream, { ...shape, leadingDimension: 2 })).toEqual({
      deviceBytes: 64,
      hostBytes: 0,
    });
    const lines = await callsOf(() =>
      cusolver.potrf(stream, { ...shape, a: { buffer: a, leadingDimension: 2 }, workspace, info }),
    );
    expect(lines.at(-1)).toBe('potrf 7 1 2 0 2 0 64 0');
    const out = new Float32Array(4);
    await stream.copyToHost(out, a);
    expect([...out]).toEqual([2, -77, 1, 3]);
  });

  test('counts as a launch in flight', async () => {
    const { stream, workspace, info, upload } = bench;
    const a = { buffer: await upload(Float64Array.of(4)), leadingDimension: 1 };
    await stream.whenDone();
    expect(stream.inFlight).toBe(0);
    const common = { dtype: 'float64', uplo: 'lower', n: 1 } as const;
    cusolver.potrf(stream, { ...common, a, workspace, info });
    cusolver.potrs(stream, { ...common, columns: 1, a, b: a, info });
    expect(stream.inFlight).toBe(2);
    await stream.whenInFlightBelow(1);
  });

  test('a matrix that is not positive definite is no error: its info says which minor', async () => {
    const { stream, workspace, info, upload, infoValue } = bench;
    const a = await upload(Float64Array.of(1, 2, 2, 1));
    const matrix = { buffer: a, leadingDimension: 2 };
    cusolver.potrf(stream, { dtype: 'float64', uplo: 'lower', n: 2, a: matrix, workspace, info });
    expect(await infoValue()).toBe(2);
  });

  test('many at once through pointers', async () => {
    const { device, stream, info, upload, doubles } = bench;
    const a = await upload(Float64Array.of(4, 2, 0, 10, 1, 0, 0, -1));
    const b = await upload(Float64Array.of(10, 32, 1, 1));
    const pointers = await upload(BigInt64Array.of(a.address, a.address + 32n));
    const rightPointers = await upload(BigInt64Array.of(b.address));
    const infos = { buffer: device.allocate(8, stream) };
    const common = { uplo: 'lower', n: 2, leadingDimension: 2 } as const;
    const both = { ...common, dtype: 'float64', pointers: { buffer: pointers } } as const;
    const right = { rightPointers: { buffer: rightPointers }, rightLeadingDimension: 2 };
    const lines = await callsOf(() => {
      cusolver.potrfBatched(stream, { ...both, batch: 2, infos });
      cusolver.potrsBatched(stream, { ...both, ...right, batch: 1, info });
    });
    expect(lines).toEqual(['dpotrfBatched 0 2 2 2', 'dpotrsBatched 0 2 1 2 2 1']);
    const codes = new Int32Array(2);
    await stream.copyToHost(codes, infos.buffer);
    expect([...codes]).toEqual([0, 2]);
    expect((await doubles(b)).slice(0, 2)).toEqual([1, 3]);
    const single = await callsOf(() => {
      const none = { ...both, dtype: 'float32', batch: 0 } as const;
      cusolver.potrfBatched(stream, { ...none, infos });
      cusolver.potrsBatched(stream, { ...none, ...right, info });
    });
    expect(single).toEqual(['spotrfBatched 0 2 2 0', 'spotrsBatched 0 2 1 2 2 0']);
  });
});

describe('LU and QR', () => {
  test('LU passes shape, pivots and transposition', async () => {
    const { device, stream, workspace, info, upload, infoValue } = bench;
    const a = { buffer: await upload(new Float64Array(6)), leadingDimension: 3 };
    const pivots = { buffer: device.allocate(16, stream) };
    const shape = { dtype: 'float64', rows: 3, columns: 2 } as const;
    expect(cusolver.getrfWorkspace(stream, { ...shape, leadingDimension: 3 }).deviceBytes).toBe(64);
    const b = { buffer: await upload(new Float64Array(2)), leadingDimension: 2 };
    const solve = { dtype: 'float64', n: 2, columns: 1, a, b, info } as const;
    const lines = await callsOf(() => {
      cusolver.getrf(stream, { ...shape, a, pivots, workspace, info });
      cusolver.getrf(stream, { ...shape, a, workspace, info });
      cusolver.getrs(stream, { ...solve, pivots, transpose: true });
    });
    expect(lines.filter((line) => !line.includes('bufferSize'))).toEqual([
      'getrf 3 2 1 3 pivots 1 64 0',
      'getrf 3 2 1 3 none 1 64 0',
      'getrs 1 2 1 1 3 pivots 1 2',
    ]);
    expect(await infoValue()).toBe(40);
    expect((await callsOf(() => cusolver.getrs(stream, solve))).at(-1)).toBe(
      'getrs 0 2 1 1 3 none 1 2',
    );
  });

  test.each([
    ['float64', 'd', 160],
    ['float32', 's', 80],
  ] as const)(
    'LU of %s with int32 pivots: the calls of one element type',
    async (dtype, letter, bytes) => {
      const { device, stream, info, upload, infoValue } = bench;
      const a = { buffer: await upload(new Float64Array(6)), leadingDimension: 3 };
      const pivots = { buffer: device.allocate(8, stream) };
      const common = { dtype, pivotType: 'int32' } as const;
      const shape = { ...common, rows: 3, columns: 2 } as const;
      const { deviceBytes } = cusolver.getrfWorkspace(stream, { ...shape, leadingDimension: 3 });
      expect(deviceBytes).toBe(bytes);
      const workspace = { buffer: device.allocate(bytes, stream) };
      const b = { buffer: await upload(new Float64Array(4)), leadingDimension: 4 };
      const solve = { ...common, n: 2, columns: 1, a, b, info } as const;
      const lines = await callsOf(() => {
        cusolver.getrf(stream, { ...shape, a, pivots, workspace, info });
        cusolver.getrf(stream, { ...shape, a, workspace, info });
        cusolver.getrs(stream, { ...solve, pivots, transpose: true });
      });
      expect(lines.filter((line) => !line.includes('bufferSize'))).toEqual([
        `${letter}getrf 3 2 3 pivots`,
        `${letter}getrf 3 2 3 none`,
        `${letter}getrs 1 2 1 3 pivots 4`,
      ]);
      // The second of two pivots of 4 bytes.
      expect(await infoValue()).toBe(61);
      expect((await callsOf(() => cusolver.getrs(stream, solve))).at(-1)).toBe(
        `${letter}getrs 0 2 1 3 none 4`,
      );
    },
  );

  test('LU with int32 pivots refuses what its calls cannot count', async () => {
    const { device, stream, info, upload } = bench;
    const shape = {
      dtype: 'float32',
      rows: 46341,
      columns: 46341,
      leadingDimension: 46341,
    } as const;
    const narrow = { ...shape, pivotType: 'int32' } as const;
    expect(() => cusolver.getrfWorkspace(stream, narrow)).toThrow(
      /the matrix has 2147488281 elements.*Use int64 pivots/,
    );
    expect(cusolver.getrfWorkspace(stream, shape).deviceBytes).toBe(64);
    const fits = { ...narrow, rows: 46340, columns: 46340, leadingDimension: 46340 };
    expect(cusolver.getrfWorkspace(stream, fits).deviceBytes).toBe(80);
    fake('LU_ELEMENTS', -5);
    expect(() => cusolver.getrfWorkspace(stream, fits)).toThrow(/beyond 2\^31 elements/);
    fake('LU_ELEMENTS', undefined);
    const a = { buffer: await upload(new Float32Array(4)), leadingDimension: 2 };
    const pivots = { buffer: device.allocate(8, stream) };
    const small = { dtype: 'float32', n: 2, pivotType: 'int32', a, pivots, info } as const;
    const wide = { ...small, columns: 2 ** 30, b: a };
    expect(() => cusolver.getrs(stream, wide)).toThrow(/right-hand side has 2147483648 elements/);
    const square = { dtype: 'float32', rows: 2, columns: 2, pivotType: 'int32', a, info } as const;
    const short = { buffer: device.allocate(79, stream) };
    expect(() => cusolver.getrf(stream, { ...square, pivots, workspace: short })).toThrow(
      'a workspace of 80 bytes',
    );
    const few = { buffer: device.allocate(7, stream) };
    expect(() => cusolver.getrs(stream, { ...small, pivots: few, columns: 1, b: a })).toThrow(
      expect.objectContaining({ code: 'OUT_OF_RANGE' }) as Error,
    );
    const other = { ...square, pivots, pivotType: 'int16' as 'int32' };
    expect(() => cusolver.getrf(stream, other)).toThrow(
      'The pivotType is "int16". Use one of int32, int64',
    );
  });

  test('QR and products with Q; the workspace of ormqr is asked for in elements', async () => {
    const { device, stream, workspace, info, upload, doubles, infoValue } = bench;
    const a = { buffer: await upload(new Float64Array(6)), leadingDimension: 3 };
    const tau = { buffer: device.allocate(16, stream) };
    const shape = { dtype: 'float64', rows: 3, columns: 2 } as const;
    expect(cusolver.geqrfWorkspace(stream, { ...shape, leadingDimension: 3 }).deviceBytes).toBe(64);
    const c = { buffer: await upload(new Float64Array(12)), leadingDimension: 3 };
    const product = { dtype: 'float64', side: 'left', rows: 3, columns: 4, reflectors: 2 } as const;
    const reflection = { ...product, a, tau, c } as const;
    expect(cusolver.ormqrWorkspace(stream, reflection)).toEqual({ deviceBytes: 160, hostBytes: 0 });
    const large = { buffer: device.allocate(160, stream) };
    const lines = await callsOf(() => {
      cusolver.geqrf(stream, { ...shape, a, tau, workspace, info });
      cusolver.ormqr(stream, { ...reflection, transpose: true, workspace: large, info });
    });
    expect(lines.filter((line) => !line.includes('bufferSize'))).toEqual([
      'geqrf 3 2 1 3 1 1 64 0',
      'dormqr 0 1 3 4 2 3 3 20',
    ]);
    expect(await infoValue()).toBe(2);
    expect(await doubles(tau.buffer)).toEqual([1.5, 1.5]);
    const right = { ...reflection, dtype: 'float32', side: 'right', rows: 4, columns: 3 } as const;
    const turned = { ...right, c: { ...c, leadingDimension: 4 }, workspace: large, info };
    expect((await callsOf(() => cusolver.ormqr(stream, turned))).at(-1)).toBe(
      'sormqr 1 0 4 3 2 3 4 20',
    );
    expect(() => cusolver.ormqr(stream, { ...turned, reflectors: 4 })).toThrow('more reflectors');
  });
});

describe('a captured graph', () => {
  test('holds factorisation and solve with their host workspace, and keeps the buffers', async () => {
    const { stream, workspace, info, upload, doubles } = bench;
    fake('HOST_BYTES', 1000);
    const a = await upload(lowerOf);
    const b = await upload(Float64Array.of(10, 32));
    const common = { dtype: 'float64', uplo: 'lower', n: 2 } as const;
    const matrix = { buffer: a, leadingDimension: 2 };
    stream.beginCapture();
    cusolver.potrf(stream, { ...common, a: matrix, workspace, info });
    const right = { buffer: b, leadingDimension: 2 };
    cusolver.potrs(stream, { ...common, columns: 1, a: matrix, b: right, info });
    const graph = stream.endCapture();
    fake('HOST_BYTES', undefined);
    expect(graph.nodeCount).toBe(2);
    const exec = graph.instantiate();
    a.dispose();
    graph.dispose();
    exec.launch(stream);
    expect(await doubles(b)).toEqual([1, 3]);
    exec.dispose();
  });

  test('holds LU with int32 pivots and its solve', async () => {
    const { device, stream, info, upload, infoValue } = bench;
    const a = { buffer: await upload(new Float64Array(4)), leadingDimension: 2 };
    const pivots = { buffer: device.allocate(8, stream) };
    const workspace = { buffer: device.allocate(160, stream) };
    const common = { dtype: 'float64', pivotType: 'int32', a, pivots, info } as const;
    stream.beginCapture();
    cusolver.getrf(stream, { ...common, rows: 2, columns: 2, workspace });
    cusolver.getrs(stream, { ...common, n: 2, columns: 2, b: a });
    const graph = stream.endCapture();
    expect(graph.nodeCount).toBe(2);
    const exec = graph.instantiate();
    graph.dispose();
    expect(await infoValue()).toBe(99);
    exec.launch(stream);
    expect(await infoValue()).toBe(61);
    exec.dispose();
  });

  test('refuses what waits, and what is made on first use', async () => {
    const { device, stream, workspace, info } = bench;
    const own = device.createStream();
    own.beginCapture();
    const shape = { dtype: 'float64', uplo: 'lower', n: 2, leadingDimension: 2 } as const;
    const refused = { code: 'CAPTURING' };
    expect(() => cusolver.potrfWorkspace(own, shape)).toThrow(
      expect.objectContaining({
        ...refused,
        message: expect.stringContaining('cusolver.prepare') as string,
      }) as Error,
    );
    await expect(cusolver.prepare(own)).rejects.toMatchObject(refused);
    const a = { buffer: device.allocate(32, stream), leadingDimension: 2 };
    const values = { buffer: device.allocate(16, stream) };
    const problem = { dtype: 'float64', uplo: 'lower', n: 2, a, values, vectors: true } as const;
    await expect(cusolver.syevd(own, { ...problem, workspace, info })).rejects.toMatchObject(
      refused,
    );
    own.endCapture().dispose();
    own.dispose();
  });
});
