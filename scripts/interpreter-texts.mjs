// Writes packages/cpu-runtime/native/interpreter/generated from the emitter of host kernels, so that the interpreter that ships
// with the addon computes by the same formulas. Run it after `pnpm build` where a test says that the files differ, then build again.
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { nativeTexts } from '../packages/kernels/dist/interpret/native-texts.js';

const folder = fileURLToPath(
  new URL('../packages/cpu-runtime/native/interpreter/generated/', import.meta.url),
);
const files = nativeTexts();
mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) if (!files.has(name)) rmSync(folder + name);
for (const [name, text] of files) writeFileSync(folder + name, text);
console.log(`wrote ${files.size} files to ${folder}`);
