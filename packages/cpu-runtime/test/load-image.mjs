// Loads the image named by the first argument and prints what became of 5e-324 and the control word.
import { readFileSync } from 'node:fs';
import { cpu, rawBinding } from '../dist/index.js';

const [, , path, guard] = process.argv;
const raw = rawBinding();
const before = raw.floatControl();
const image = new Uint8Array(readFileSync(path));
let code;
try {
  if (guard === 'unguarded') raw.loadImage(image, false);
  else cpu.loadModule(image);
} catch (error) {
  code = error.code;
}
const product = JSON.stringify(Number('1e-323') * Number('0.5'));
const result = {
  code,
  text: JSON.stringify(5e-324),
  product,
  changed: raw.floatControl() !== before,
};
process.stdout.write(JSON.stringify(result));
