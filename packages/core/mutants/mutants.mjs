import { firstCalls } from './first-calls.mjs';
import { layers } from './layers.mjs';
import { launchSites } from './launch-sites.mjs';
import { reductions } from './reductions.mjs';
import { secondOrder } from './second-order.mjs';
import { shards } from './shards.mjs';
import { clusters } from './clusters.mjs';
import { solvers } from './solvers.mjs';
import { transforms } from './transforms.mjs';
import { undoneMends } from './undone-mends.mjs';

const ON_STREAM = {
  promise: 'asynchronous calls',
  test: 'src/asynchronous-calls.test.ts',
  pattern: 'has put all its work on the stream',
};
const INTO_OUT = { ...ON_STREAM, pattern: 'writes into out once' };

/** The statements that launch, by package. */
const LAUNCHES = {
  'an operation': {
    file: '../../tensor/src/operation/known-call.ts',
    find: 'pack(launch, parts, workspace, numbers);\n      launch.kernel.enqueue(stream, launch.args);',
  },
};
const QUEUES = {
  'an operation': {
    file: '../../tensor/src/operation/operation.ts',
    find: 'const queue = await roomOn(device, { stream, signal }, what);',
    replace: 'const queue = await roomOn(device, { signal }, what);',
  },
  'an operation again': {
    file: '../../tensor/src/operation/operation.ts',
    find: 'const queue = streamFor(known.device, stream, what);\n    if (known.bound.call.mayWait',
    replace:
      'const queue = streamFor(known.device, undefined, what);\n    if (known.bound.call.mayWait',
  },
};

/**
 * Calls that break what every asynchronous call promises, and faults that were mended.
 *
 * @type {readonly import('../../../scripts/mutants/run.mjs').Mutant[]}
 */
export const mutants = [
  ...Object.entries(LAUNCHES).flatMap(([name, { file, find }]) => [
    {
      ...ON_STREAM,
      file,
      find,
      name: `${name}: resolves before its launch is enqueued`,
      replace: `setImmediate(() => { ${find} });`,
    },
    {
      ...INTO_OUT,
      file,
      find,
      name: `${name}: out is written twice`,
      replace: `${find}\n${find}`,
    },
  ]),
  ...Object.entries(QUEUES).flatMap(([name, edit]) => [
    { ...ON_STREAM, ...edit, name: `${name}: the stream is ignored` },
    { ...INTO_OUT, ...edit, name: `${name}: out is written on another stream` },
  ]),
  ...undoneMends,
  ...firstCalls,
  ...launchSites,
  ...transforms,
  ...solvers,
  ...reductions,
  ...shards,
  ...clusters,
  ...secondOrder,
  ...layers,
];
