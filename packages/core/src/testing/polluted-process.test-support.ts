// A process of its own: runs every operation while Object.prototype has the properties that its first argument names, and prints
// what each gave. The names are JSON, the value is the second argument, JSON too. With a third argument n one in n operations runs.
import { cdist, lapack } from '../index.js';
import { operations, outcomeOf } from './every-operation.test-support.js';

const [names = '[]', value = '1', step = '1'] = process.argv.slice(2);
const polluted = JSON.parse(names) as readonly string[];
const foreign: unknown = JSON.parse(value);
const calls = (await operations()).filter((_, at) => at % Number(step) === 0);
// The compiler, the store and LAPACK are looked for once; what Node does with its options then is not the matter here.
await cdist([[1]], [[2]], { device: 'cpu' });
lapack.isAvailable();
const found: [name: string, outcome: string][] = [];
for (const name of polluted) {
  Object.defineProperty(Object.prototype, name, {
    value: foreign,
    configurable: true,
    enumerable: true,
    writable: true,
  });
}
for (const [name, call] of calls) found.push([name, await outcomeOf(call)]);
for (const name of polluted) Reflect.deleteProperty(Object.prototype, name);
process.stdout.write(JSON.stringify(found));
