import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { eigh } from '../eigh.js';
import {
  onlyMatrix,
  orthogonality,
  randomMatrix,
  symmetricWith,
  THRESHOLD,
  toTensor,
} from '../matrices.test-support.js';
import { svd } from '../svd.js';

beforeAll(() => {
  process.env['MERCER_BLAS'] = 'none';
});

afterEach(() => {
  vi.useRealTimers();
});

const spectrum = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

describe('a spectrum without a LAPACK', () => {
  it('is computed beyond 1024 rows', { timeout: 300_000 }, async () => {
    const { s, infos } = await svd(await toTensor(randomMatrix(1100, 6, 1), 'float64'));
    expect(await infos.toNested()).toBe(0);
    expect((await s.toTypedArray()).every((value) => value > 0)).toBe(true);
  });

  it('tells after each matrix of a batch how many are done', async () => {
    const told: [number, number][] = [];
    const a = await toTensor(
      [1, 2, 3].map((seed) => symmetricWith([1, 2, 3], seed)),
      'float64',
    );
    await eigh(a, { onProgress: ({ done, total }) => told.push([done, total]) });
    expect(told).toEqual([
      [1, 3],
      [2, 3],
      [3, 3],
    ]);
  });

  it('rejects with what its progress callback threw', async () => {
    const error = new Error('enough');
    const a = await toTensor(symmetricWith([1, 2], 1), 'float64');
    const call = eigh(a, {
      onProgress: () => {
        throw error;
      },
    });
    await expect(call).rejects.toBe(error);
    await expect(eigh(a)).resolves.toBeDefined();
  });

  it('stops with the reason of a signal, and other calls go on', { timeout: 300_000 }, async () => {
    const control = new AbortController();
    const large = await toTensor(symmetricWith(spectrum(700), 1), 'float64');
    const small = await toTensor(symmetricWith(spectrum(20), 2), 'float64');
    const stopped = eigh(large, { signal: control.signal });
    const other = eigh(small);
    const reason = new Error('no longer wanted');
    setTimeout(() => {
      control.abort(reason);
    }, 20);
    await expect(stopped).rejects.toBe(reason);
    const { vectors } = await other;
    expect(orthogonality(await onlyMatrix(vectors), 'float64')).toBeLessThan(THRESHOLD);
  });

  it('does not begin under a signal that was given before', async () => {
    const a = await toTensor(symmetricWith([1, 2], 1), 'float64');
    await expect(eigh(a, { signal: AbortSignal.abort('over') })).rejects.toBe('over');
  });

  it('warns once, after a minute', { timeout: 300_000 }, async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const warnings: Error[] = [];
    const listen = (warning: Error): number => warnings.push(warning);
    process.on('warning', listen);
    const a = await toTensor(symmetricWith(spectrum(300), 1), 'float64');
    const calls = [eigh(a), eigh(a)];
    // The request leaves once the device has handed over the matrix.
    while (vi.getTimerCount() < calls.length) await new Promise(setImmediate);
    vi.advanceTimersByTime(59_000);
    await new Promise(setImmediate);
    expect(warnings).toEqual([]);
    vi.advanceTimersByTime(1_000);
    await Promise.all(calls);
    process.off('warning', listen);
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^eigh of 300 by 300 has been computing for a minute/),
    ]);
  });
});
