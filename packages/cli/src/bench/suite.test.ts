import { device } from '@mercer/core';
import { describe, expect, it } from 'vitest';
import type { BenchReport } from './bench-report.js';
import { gridCells } from './grid.js';
import { runSuite } from './suite.js';

describe('runSuite', () => {
  it('gives what it measured itself before it asks the peers, which may take long', async () => {
    const before: BenchReport[] = [];
    const report = await runSuite({
      suite: 'cdist',
      device: device('cpu'),
      cells: gridCells({ dtype: ['float32'], p: [2], m: [3], n: [4], k: [5], batch: [1] }),
      dataSets: ['normal'],
      maxSecondsPerCell: 1,
      compileTimes: false,
      python: '/nonexistent/python3',
      onMeasured: (measured) => {
        before.push(measured);
        return Promise.resolve();
      },
      onProgress: () => undefined,
    });
    expect(before).toEqual([
      { ...report, peers: { found: false, reason: 'not measured yet', versions: {}, cells: [] } },
    ]);
    expect(report.cells).toHaveLength(1);
    expect(report.peers.reason).toMatch(/ENOENT/);
  });
});
