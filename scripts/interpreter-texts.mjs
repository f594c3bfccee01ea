// Writes packages/cpu-runtime/build/generated from the emitter of host kernels, so that the interpreter that ships with the addon
// computes by the same formulas. A step of the addon's build, behind the build of packages/kernels. Files that stay the same are left
// alone, so that nothing is compiled again.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const emitter = new URL('../packages/kernels/dist/interpret/native-texts.js', import.meta.url);
const folder = fileURLToPath(new URL('../packages/cpu-runtime/build/generated/', import.meta.url));

if (!existsSync(emitter)) {
  console.error(
    'native code: packages/kernels is not built, and texts of the addon come from it. Run: pnpm build',
  );
  process.exit(1);
}
/** @type {typeof import('../packages/kernels/dist/interpret/native-texts.js')} */
const { nativeTexts } = await import(emitter.href);
const files = nativeTexts();
mkdirSync(folder, { recursive: true });
for (const name of readdirSync(folder)) if (!files.has(name)) rmSync(folder + name);
for (const [name, text] of files) {
  if (!existsSync(folder + name) || readFileSync(folder + name, 'utf8') !== text)
    writeFileSync(folder + name, text);
}
