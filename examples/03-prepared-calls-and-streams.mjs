// 3. Prepared calls and streams. prepare() compiles for a layout, an inner dimension and a p; the call that it returns is
//    synchronous: it only enqueues. Work on two streams may overlap; tensors that both touch keep them in order.
import { cdist, defaultDevice, tensor } from '@mercer/core';

const device = defaultDevice();
const points = (rows = 0) =>
  tensor(
    Float32Array.from({ length: rows * 16 }, (_, i) => Math.sin(i)),
    { shape: [rows, 16], device },
  );

const [a, b] = [await points(400), await points(300)];
const distances = await cdist.prepare(a, b, { p: 1.3 });
const out = distances(a, b); // the first call makes the result; the next ones overwrite it

const calls = 200;
const start = performance.now();
for (let i = 0; i < calls; i++) {
  await device.defaultStream.room(); // waits only while the queue is full
  distances(a, b, { out });
}
const enqueued = performance.now();
await out.ready();
const done = performance.now();
console.log(
  `${calls} calls on ${device.id}: enqueued in ${(enqueued - start).toFixed(1)} ms, done after ${(done - start).toFixed(1)} ms`,
);

const [one, two] = [device.createStream(), device.createStream()];
const [first, second] = [distances(a, b, { stream: one }), distances(b, a, { stream: two })];
await Promise.all([first.ready(), second.ready()]);
const [x = 0] = await first.slice(7, [11, 12]).toTypedArray();
const [y = 0] = await second.slice(11, [7, 8]).toTypedArray();
console.log(`d(a7, b11) = ${x}, d(b11, a7) = ${y}`);
for (const stream of [one, two]) stream.dispose();
