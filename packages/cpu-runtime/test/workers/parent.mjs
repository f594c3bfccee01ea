// Ends eight workers in the middle of their work, several times over; the main thread computes meanwhile.
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

const [, , imagePath, mainLoads] = process.argv;
const image = new Uint8Array(readFileSync(imagePath));
const { cpu } = mainLoads === 'main' ? await import('../../dist/index.js') : {};

async function startWorker(index) {
  const worker = new Worker(new URL('busy.mjs', import.meta.url), { workerData: { image, index } });
  worker.on('error', (error) => {
    throw error;
  });
  await new Promise((resolve) => worker.once('message', resolve));
  return worker;
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const slowest = { ms: 0 };
for (let round = 0; round < 3; round++) {
  const workers = await Promise.all(Array.from({ length: 8 }, (_, i) => startWorker(i)));
  await sleep(30 + 20 * round);
  await Promise.all(
    workers.map(async (worker, i) => {
      await sleep(i * 3);
      const start = performance.now();
      await worker.terminate();
      slowest.ms = Math.max(slowest.ms, performance.now() - start);
    }),
  );
}
const result = { slowestMs: slowest.ms };
if (cpu !== undefined) {
  // The main thread's own streams are untouched, and the workers' memory is gone.
  const x = cpu.allocate(800);
  const addOne = cpu.loadModule(image).function('addOne');
  const params = new Uint8Array(BigInt64Array.of(x.address).buffer);
  addOne.launch({ tasks: 100, chunk: 3, scratchBytes: 0 }, cpu.defaultStream, params, [x]);
  await cpu.defaultStream.whenDone();
  result.sum = new Float64Array(x.arrayBuffer).reduce((a, b) => a + b);
  x.dispose();
  await sleep(50);
  result.memory = cpu.memory();
}
process.stdout.write(JSON.stringify(result));
