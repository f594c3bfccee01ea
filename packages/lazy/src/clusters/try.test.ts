import { it } from 'vitest';
import { random, tensor } from '@mercer/tensor';
import { lazyI, lazyJ, truncatedRanges, gridCluster, kMeans } from '../index.js';
it('tries', async () => {
  const n = Number(process.env['CLN'] ?? 20000);
  const x = await random.uniform([n, 3], { key: random.key(1), device: 'cpu' });
  for (const h of (process.env['CLH'] ?? '0.05,0.1').split(',').map(Number)) {
    for (const clusterSize of [undefined, ...(process.env['CLM'] ?? '').split(',').filter(Boolean).map(Number)]) {
    const start = performance.now();
    using near = await truncatedRanges(x, x, { kernel: 'gaussian', bandwidth: h, error: 1e-6, clusterSize });
    const time = performance.now() - start;
    const sample = await x.slice([0, 200]).clone();
    const within = await lazyI(sample).sqdist(lazyJ(x)).le(near.cutoff ** 2).sum('j');
    const mean = (Number(await (await within.sum()).item()) / 200) * n;
    console.log(h, clusterSize, near.cutoff.toFixed(4), near.ranges.rangesI.length, near.ranges.redrangesJ.shape[0], 'rows', near.ranges.rangesI[0]?.[1], 'share', (near.pairs / n ** 2).toFixed(4), 'ratio', (near.pairs / mean).toFixed(3), 'span', (near.pairs / near.ranges.redrangesJ.shape[0]! / near.ranges.rangesI[0]![1]).toFixed(0), time.toFixed(0), 'ms');
    }
  }
}, 600000);
