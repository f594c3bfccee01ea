import { cdist, tensor } from '@mercer/core';

/**
 * The child process of `compileTimes`: makes one distance kernel ready and prints how long that took, as JSON.
 * Usage: node compile-probe.js <device>
 */
const device = (process.argv[2] ?? 'cpu') as 'cpu';
const a = await tensor(new Float32Array(64 * 32), { shape: [32, 64], device });
await a.ready(); // the device and its context are up; what follows is the kernel alone
const start = performance.now();
const d = await cdist(a, a, { p: 1.3 });
await d.ready();
process.stdout.write(`${JSON.stringify({ ms: performance.now() - start })}\n`);
