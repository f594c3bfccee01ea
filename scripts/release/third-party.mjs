// What published packages carry of other projects, with its licence: code that the bundler puts inside, headers and libraries that are
// compiled into addons and into WebAssembly, and libraries that are published as they are. Packing writes it into each package as
// THIRD-PARTY.md, and into the release's list of components (sbom.mjs).
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readJson, root } from '../lib/workspace.mjs';
import { INSIDE } from './bundle.mjs';

/** The file of a package that says what it carries. */
export const NOTICES = 'THIRD-PARTY.md';

/**
 * `text`: of the licence; `npm`: it is a package of npm.
 * @typedef {{ name: string, version?: string, license: string, what: string, text: string, npm?: boolean }} Part
 */

/** A package of npm, which lies in a folder. @returns {Part} */
function npmPart(/** @type {string} */ folder, /** @type {string} */ what) {
  const { name, version, license } = readJson(path.join(folder, 'package.json'));
  const file = ['LICENSE', 'LICENSE.md'].find((one) => existsSync(path.join(folder, one)));
  if (!file) throw new Error(`${name}, ${what}, has no file with its licence in ${folder}`);
  const text = readFileSync(path.join(folder, file), 'utf8');
  return { name, version, license, what, text, npm: true };
}

const dependency = (/** @type {string} */ folder, /** @type {string} */ name) =>
  path.join(root, 'packages', folder, 'node_modules', name);

/** Each lies beside one that is named before it, or among the dependencies. @returns {Part[]} */
function insideBundle(/** @type {string} */ name) {
  const places = [dependency(name.replace('@mercer/', ''), '')];
  return (INSIDE[name] ?? []).map((one) => {
    const place = places.find((folder) => existsSync(path.join(folder, one)));
    if (!place) throw new Error(`${one}, which ${name} bundles, is not installed`);
    const folder = realpathSync(path.join(place, one));
    places.push(path.dirname(folder));
    return npmPart(folder, 'in the bundle');
  });
}

/** @type {Part} */
const GCC_RUNTIME = {
  name: 'libstdc++ and libgcc',
  license: 'GPL-3.0-or-later WITH GCC-exception-3.1',
  what: 'linked statically',
  text: 'Parts of the run-time libraries of the GNU Compiler Collection, by the Free Software Foundation. The GCC Runtime Library Exception, version 3.1, permits conveying them, compiled by GCC into other code, under terms of one’s choice.',
};

/** @returns {Part} */
function sqlite() {
  const upstream = path.join(dependency('jit-cache', '@photostructure/sqlite'), 'src/upstream');
  const header = readFileSync(path.join(upstream, 'sqlite3.h'), 'utf8');
  const version = /#define SQLITE_VERSION\s+"(.*)"/.exec(header)?.[1] ?? '';
  const text = /The author disclaims copyright[\s\S]*?(?=\n\*{10})/.exec(header)?.[0] ?? '';
  if (!version || !text)
    throw new Error(`${upstream}/sqlite3.h does not say its version and terms`);
  const lines = text.replaceAll(/^\*\* ?/gm, '');
  return {
    name: 'SQLite',
    version,
    license: 'blessing',
    what: 'compiled into the addon',
    text: lines,
  };
}

/** Licences of what clang links into WebAssembly, where Debian's packages put them. @type {readonly [string, string, string][]} */
const WASM_PARTS = [
  [
    'wasi-libc',
    'wasi-libc',
    '(Apache-2.0 WITH LLVM-exception OR MIT) AND BSD-2-Clause AND CC0-1.0',
  ],
  ['libc++ and libc++abi', 'libc++-19-dev-wasm32', 'Apache-2.0 WITH LLVM-exception'],
  ['compiler-rt', 'libclang-rt-19-dev-wasm32', 'Apache-2.0 WITH LLVM-exception'],
];

/** @returns {Part[]} */
function insideWasm() {
  return WASM_PARTS.map(([name, debian, license]) => {
    const file = `/usr/share/doc/${debian}/copyright`;
    if (!existsSync(file))
      throw new Error(
        `${file} is missing: the package with WebAssembly must have the licence of ${name}. Build it with Debian's packages`,
      );
    return { name, license, what: 'linked statically', text: readFileSync(file, 'utf8') };
  });
}

const IN_LICENSE = 'The text is in LICENSE, beside this file.';
/** As the wheel names them (scripts/obtain/openblas.mjs). @type {readonly Part[]} */
const OPENBLAS = [
  { name: 'OpenBLAS', license: 'BSD-3-Clause', what: 'unchanged', text: IN_LICENSE },
  { name: 'LAPACK', license: 'BSD-3-Clause', what: 'in OpenBLAS', text: IN_LICENSE },
  {
    name: 'libgfortran',
    license: 'GPL-3.0-or-later WITH GCC-exception-3.1',
    what: 'unchanged',
    text: IN_LICENSE,
  },
  { name: 'libquadmath', license: 'LGPL-2.1-or-later', what: 'unchanged', text: IN_LICENSE },
];

/** @type {Part} */
const LIBDEVICE = {
  name: 'libdevice',
  license: 'LicenseRef-NVIDIA-CUDA-Toolkit-EULA',
  what: 'inlined by the compiler',
  text: 'The kernels are texts of Mercer, compiled by NVRTC of the CUDA Toolkit. Where a kernel calls a mathematical function, the compiler may inline code of its library libdevice. The licence agreement of the CUDA Toolkit says how compiled code may be passed on.',
};

/** @returns {Part[]} of an addon */
function insideAddon(/** @type {string} */ folder) {
  const { devDependencies = {} } = readJson(path.join(root, 'packages', folder, 'package.json'));
  const headers = ['node-addon-api', 'node-api-headers'].filter((name) => devDependencies[name]);
  return [
    ...headers.map((name) => npmPart(dependency(folder, name), 'headers')),
    ...(folder === 'jit-cache' ? [sqlite()] : []),
    GCC_RUNTIME,
  ];
}

/** @param {string} name of a published package @returns {readonly Part[]} */
export function partsOf(name) {
  if (name === '@mercer/cpu-runtime-wasm') return insideWasm();
  if (name === '@mercer/kernels-cuda') return [LIBDEVICE];
  if (name.startsWith('@mercer/openblas-')) return OPENBLAS;
  const addon = /^@mercer\/(cpu-runtime|cuda-runtime|jit-cache)-/.exec(name)?.[1];
  return addon ? insideAddon(addon) : insideBundle(name);
}

/** Writes the file into a package that carries something, and into its list of files. */
export function writeNotices(/** @type {string} */ folder, /** @type {any} */ manifest) {
  const parts = partsOf(manifest.name);
  if (parts.length === 0) return;
  const texts = parts.map(
    ({ name, version, license, what, text }) =>
      `## ${name}${version ? ` ${version}` : ''}\n\n${license}; ${what}.\n\n\`\`\`text\n${text.trim()}\n\`\`\`\n`,
  );
  const head = `# What ${manifest.name} carries of other projects\n`;
  writeFileSync(path.join(folder, NOTICES), [head, ...texts].join('\n'));
  if (!manifest.files.includes(NOTICES)) manifest.files = [...manifest.files, NOTICES];
}
