// A set-up file where one process runs many files: what those before forgot is collected in front of a file, so that tests which count memory
// meet none of it.
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** @type {() => void} */
const gc = runInNewContext('gc');
setFlagsFromString('--no-expose-gc');

// what finalisers let go of is garbage in its turn
for (let round = 0; round < 2; round++) {
  gc();
  await setImmediate();
}
