// Writes the package with the CPU runtime in WebAssembly, the same one for all platforms: @mercer/cpu-runtime-wasm, an ordinary dependency
// of cpu-runtime, so that what leaves optional dependencies out still leaves something that runs. Node asks it for the path of the module,
// bundlers of programs for browsers for its address.
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readJson, root } from '../lib/workspace.mjs';

const OWNER = '@mercer/cpu-runtime';
const FILE = 'mercer_cpu.wasm';
const built = path.join(root, 'packages/cpu-runtime/build/wasm', FILE);

export const WASM_PACKAGE = `${OWNER}-wasm`;

const URL_MODULE = `/** Where the module is: bundlers that know this form copy the file, beside others it has to be copied. */
export const builtFile = new URL('./${FILE}', import.meta.url);
`;

const README = `# ${WASM_PACKAGE}

The compiled part of \`${OWNER}\` in WebAssembly (128-bit SIMD, several threads where memory can be shared). It runs where no native binary fits, and in browsers. Install
\`${OWNER}\`, or \`@mercer/core\`, not this.

- In Node the value of the package is the path of its one file, \`${FILE}\`.
- \`${WASM_PACKAGE}/url\` exports its address as \`builtFile\`, a \`URL\` relative to the module. Vite, Rollup and webpack copy the file. With
  esbuild copy it beside the bundle, or hand the module over: set \`globalThis[Symbol.for('mercer.wasm')]\` to its bytes, or to another address,
  before anything of Mercer is imported.
- It is about 0.9 MB; the package is 0.2 MB to fetch. Serve it as \`application/wasm\`.
`;

/** Everything but the module. @param {string} directory in which it is written */
export function writeWasmTexts(directory) {
  const { version, license, engines, repository, publishConfig } = readJson(
    path.join(root, 'packages/cpu-runtime/package.json'),
  );
  const manifest = {
    name: WASM_PACKAGE,
    version,
    description: `The compiled part of ${OWNER} in WebAssembly, for browsers and where no native binary fits`,
    license,
    type: 'module',
    sideEffects: false,
    repository,
    engines,
    main: `./${FILE}`,
    exports: {
      '.': `./${FILE}`,
      './url': { types: './url.d.ts', default: './url.js' },
      [`./${FILE}`]: `./${FILE}`,
      './package.json': './package.json',
    },
    files: [FILE, 'url.js', 'url.d.ts'],
    publishConfig,
  };
  const texts = {
    'package.json': `${JSON.stringify(manifest, null, 2)}\n`,
    'README.md': README,
    'url.js': URL_MODULE,
    'url.d.ts': 'export declare const builtFile: URL;\n',
  };
  mkdirSync(directory, { recursive: true });
  for (const [name, text] of Object.entries(texts)) writeFileSync(path.join(directory, name), text);
  return { version, file: path.join(directory, FILE), built };
}

/**
 * @param {string} target the folder in which packages are written
 * @returns {{ owner: string, name: string, version: string, directory: string, anyPlatform: boolean, needed: boolean }[]} nothing where it was not built
 */
export function writeWasmPackage(target) {
  if (!existsSync(built)) {
    console.log('left out: the package with WebAssembly. node scripts/build-wasm.mjs says why');
    return [];
  }
  const directory = path.join(target, 'cpu-runtime-wasm');
  const { version, file } = writeWasmTexts(directory);
  copyFileSync(path.join(root, 'LICENSE'), path.join(directory, 'LICENSE'));
  copyFileSync(built, file);
  return [
    { owner: OWNER, name: WASM_PACKAGE, version, directory, anyPlatform: true, needed: true },
  ];
}
