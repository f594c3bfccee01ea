// Keeps many launches in flight on all kinds of memory until it is ended.
import { parentPort, workerData } from 'node:worker_threads';
import { cpu } from '../../dist/index.js';

const { image, index } = workerData;
const module = cpu.loadModule(image);
const spin = module.function('spin');
const addOne = module.function('addOne');
const streams = [cpu.createStream(), cpu.createStream(), cpu.defaultStream];
const ns = new Uint8Array(BigInt64Array.of(200_000n + BigInt(index) * 50_000n).buffer);
const pack = (address) => new Uint8Array(BigInt64Array.of(address).buffer);

parentPort.postMessage('running');
for (let round = 0; ; round++) {
  const stream = streams[round % streams.length];
  const own = cpu.allocate(80_000);
  const plain = new Float64Array(10_000);
  spin.launch({ tasks: 4, chunk: 1, scratchBytes: 4096 }, stream, ns);
  const event = stream.record();
  const geometry = { tasks: 10_000, chunk: 100, scratchBytes: 0 };
  addOne.launch(geometry, stream, pack(own.address), [own]);
  addOne.launch(geometry, stream, pack(cpu.addressOf(plain)), [plain]);
  stream.enqueueCopy(own, 0, plain, 0, 80_000);
  streams[(round + 1) % streams.length].wait(event);
  own.dispose();
  void event.synchronize();
  void stream.whenDone();
  if (round % 20 === 19) await stream.whenDone();
}
