// Ends in the way the second argument says, with work in flight.
import { readFileSync } from 'node:fs';
import { cpu } from '../dist/index.js';

const [, , imagePath, way] = process.argv;
const module = cpu.loadModule(new Uint8Array(readFileSync(imagePath)));
const ns = new Uint8Array(BigInt64Array.of(20_000_000n).buffer);
for (let i = 0; i < 1000; i++) {
  module.function('spin').launch({ tasks: 10, chunk: 1, scratchBytes: 0 }, cpu.defaultStream, ns);
}
const done = cpu.createStream().whenDone();
if (way === 'exit') setTimeout(() => process.exit(0), 50);
if (way === 'promise') {
  const stream = cpu.createStream();
  module.function('spin').launch({ tasks: 10, chunk: 1, scratchBytes: 0 }, stream, ns);
  // The pending promise keeps the process alive until it settles.
  void stream.whenDone().then(() => process.stdout.write('settled'));
}
await done;
