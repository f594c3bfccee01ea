import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { WasmHost } from './helper.js';

/** Node: memory can be shared always, and every thread may sleep. */
export const nodeHost: WasmHost = {
  cores: availableParallelism(),
  maySleep: true,
  startHelper: (text, start) => {
    // Without the program's own flags, some of which take no text (--input-type) or load files first.
    const worker = new Worker(`${text}(require('node:worker_threads').workerData)`, {
      eval: true,
      workerData: start,
      execArgv: [],
      name: 'mercer-cpu',
    });
    // There is one thread less then.
    worker.on('error', () => undefined);
    worker.unref();
  },
};
