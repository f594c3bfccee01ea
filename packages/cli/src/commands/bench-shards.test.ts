import { describe, expect, it } from 'vitest';
import type { ShardRow } from '../bench/shards/measure-shards.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

describe('mercer bench shards', () => {
  it('times a sum in memory, from the host and on one and two devices, with errors against float64', async () => {
    const report = (await mercerJson([
      ...['bench', 'shards', '--devices', 'cpu,cpu', '--n', '3000', '--max-bytes', '60000'],
    ])) as { readonly rows: readonly ShardRow[] };
    expect(report).toMatchObject({ schema: 1, suite: 'shards', maxBytes: 60000 });
    expect(report.rows.map(({ way }) => way)).toEqual([
      ...['in memory', 'from the host', 'devices: 1', 'devices: 2'],
    ]);
    for (const { ms, rate, share, error, n } of report.rows) {
      expect(n).toBe(3000);
      expect(rate).toBeCloseTo((3000 * 3000) / (ms.median / 1e3));
      expect(share).toBeCloseTo(rate / report.rows[0]!.rate);
      expect(error).toBeLessThan(1e-5);
    }
  });

  it('refuses memory that holds no block, and devices that are none', async () => {
    const small = await mercer(['bench', 'shards', '--devices', 'cpu', '--max-bytes', '1']);
    expect(small.status).not.toBe(0);
    expect(small.stderr).toMatch(/maxBytes is 1/);
    const none = await mercer(['bench', 'shards', '--devices', 'gpu']);
    expect(none.status).not.toBe(0);
    expect(none.stderr).toMatch(/"gpu" is not a device/);
  });
});
