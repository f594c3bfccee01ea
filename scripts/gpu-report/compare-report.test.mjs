import { describe, expect, it } from 'vitest';
import { compareReport } from './compare-report.mjs';

const limits = { kind: 'cuda', arch: 'sm_90a' };
const report = {
  date: '2026-01-01T00:00:00.000Z',
  driver: '580.1',
  devices: ['H200'],
  tests: { passed: 3, failed: 0, skipped: 0 },
  architectures: [{ device: 'H200', limits }],
  kernels: [{ name: 'fill', arch: 'sm_90a', sha256: 'aa' }],
};

/** @param {string} sha256 */
const emitting = (sha256) => async () => [{ name: 'fill', arch: 'sm_90a', sha256 }];

describe('compareReport', () => {
  it('accepts a report that loaded the present source', async () => {
    expect(await compareReport(report, emitting('aa'))).toEqual({ emitted: 1, problems: [] });
  });

  it('lists a kernel whose source changed', async () => {
    const { problems } = await compareReport(report, emitting('bb'));
    expect(problems).toEqual(['sm_90a  fill: its present source has not been loaded on a GPU']);
  });

  it('does not accept the same source loaded on another architecture', async () => {
    const other = { ...report, kernels: [{ name: 'fill', arch: 'sm_80', sha256: 'aa' }] };
    expect((await compareReport(other, emitting('aa'))).problems).toHaveLength(1);
  });

  it.each([
    { passed: 3, failed: 1, skipped: 0 },
    { passed: 3, failed: 0, skipped: 1 },
    { passed: 0, failed: 0, skipped: 0 },
  ])('refuses the counts %o', async (tests) => {
    const { problems } = await compareReport({ ...report, tests }, emitting('aa'));
    expect(problems[0]).toContain(
      `${tests.passed} passed, ${tests.failed} failed, ${tests.skipped} skipped`,
    );
  });

  it('refuses a report for which nothing is emitted', async () => {
    const { problems } = await compareReport({ ...report, architectures: [] }, emitting('aa'));
    expect(problems).toHaveLength(1);
  });
});
