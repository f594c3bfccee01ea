// What published packages carry of other projects, with its licence: code that the bundler puts inside, headers and libraries that are
// compiled into addons and into WebAssembly, and libraries that are published as they are. Packing writes it into each package as
// THIRD-PARTY.md, and into the release's list of components (sbom.mjs).
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { currentPlatform, LINUX_ARM64 } from '../lib/platform.mjs';
import { run } from '../lib/shell.mjs';
import { readJson, root, workspacePackages } from '../lib/workspace.mjs';
import { pinnedOpenblas } from '../obtain/openblas.mjs';
import { INSIDE } from './bundle.mjs';
import { addonOf } from './platform-packages.mjs';

/** The file of a package that says what it carries. */
export const NOTICES = 'THIRD-PARTY.md';

/**
 * `text`: of the licence; `npm`: it is a package of npm; `unknown`: why it has no version.
 * @typedef {{ name: string, version?: string, unknown?: string, license: string, what: string, text: string, npm?: boolean }} Part
 */

/** What is said of a part beside its name, version and licence. */
export const aboutPart = (/** @type {Part} */ { what, unknown }) =>
  unknown === undefined ? what : `${what}; version unknown: ${unknown}`;

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

/** GCC writes its version into what it compiles. @returns {Part} */
const gccRuntime = (/** @type {string} */ folder, /** @type {string} */ build) => ({
  name: 'libstdc++ and libgcc',
  ...gccVersion(folder, build),
  license: 'GPL-3.0-or-later WITH GCC-exception-3.1',
  what: 'linked statically',
  text: 'Parts of the run-time libraries of the GNU Compiler Collection, by the Free Software Foundation. The GCC Runtime Library Exception, version 3.1, permits conveying them, compiled by GCC into other code, under terms of one’s choice.',
});

/** @returns {Pick<Part, 'version' | 'unknown'>} */
function gccVersion(/** @type {string} */ folder, /** @type {string} */ build) {
  const owner = workspacePackages().find((one) => one.folder === folder);
  const bytes = owner && readFileSync(addonOf(owner, build), 'latin1');
  const version = /GCC: \([^)]*\) (\d+\.\d+\.\d+)/.exec(bytes ?? '')?.[1];
  return version ? { version } : { unknown: 'the addon does not name its compiler' };
}

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
    const version = run('dpkg-query', ['--show', '--showformat', '${Version}', debian]).trim();
    const text = readFileSync(file, 'utf8');
    return { name, version, license, what: 'linked statically', text };
  });
}

const IN_LICENSE = 'The text is in LICENSE, beside this file.';
/** As the wheel names them (scripts/obtain/openblas.mjs). @returns {readonly Part[]} */
function insideOpenblas(/** @type {string} */ suffix) {
  const { openblas, files } = pinnedOpenblas(suffix);
  // the two of Fortran have nothing but their files' names: libgfortran-....so.5.0.0
  const versionOf = (/** @type {string} */ library) => {
    const [, version] =
      new RegExp(`${library}\\S*\\.so\\.([\\d.]+)$`, 'm').exec(files.join('\n')) ?? [];
    return version ? { version } : { unknown: 'the name of its file has none' };
  };
  return [
    {
      name: 'OpenBLAS',
      version: openblas,
      license: 'BSD-3-Clause',
      what: 'unchanged',
      text: IN_LICENSE,
    },
    {
      name: 'LAPACK',
      unknown: 'OpenBLAS has a copy of its own, with later corrections',
      license: 'BSD-3-Clause',
      what: 'in OpenBLAS',
      text: IN_LICENSE,
    },
    {
      name: 'libgfortran',
      ...versionOf('libgfortran'),
      license: 'GPL-3.0-or-later WITH GCC-exception-3.1',
      what: 'unchanged; the version is that of its interface',
      text: IN_LICENSE,
    },
    {
      name: 'libquadmath',
      ...versionOf('libquadmath'),
      license: 'LGPL-2.1-or-later',
      what: 'unchanged; the version is that of its interface',
      text: IN_LICENSE,
    },
  ];
}

/** @type {Part} */
const LIBDEVICE = {
  name: 'libdevice',
  unknown: 'it is part of NVRTC, and compiled kernels do not name it',
  license: 'LicenseRef-NVIDIA-CUDA-Toolkit-EULA',
  what: 'inlined by the compiler',
  text: 'The kernels are texts of Mercer, compiled by NVRTC of the CUDA Toolkit. Where a kernel calls a mathematical function, the compiler may inline code of its library libdevice. The licence agreement of the CUDA Toolkit says how compiled code may be passed on.',
};

/** @returns {Part[]} of an addon */
function insideAddon(/** @type {string} */ folder, /** @type {string} */ suffix) {
  const { build } = suffix === LINUX_ARM64.suffix ? LINUX_ARM64 : currentPlatform();
  const { devDependencies = {} } = readJson(path.join(root, 'packages', folder, 'package.json'));
  const headers = ['node-addon-api', 'node-api-headers'].filter((name) => devDependencies[name]);
  return [
    ...headers.map((name) => npmPart(dependency(folder, name), 'headers')),
    ...(folder === 'jit-cache' ? [sqlite()] : []),
    gccRuntime(folder, build),
  ];
}

const DIGITS = 'its 10,000 digits of MNIST, in data/digits.br';

/** @param {string} name of a published package @returns {readonly Part[]} */
export function partsOf(name) {
  if (name === '@mercer/cpu-runtime-wasm') return insideWasm();
  if (name === '@mercer/kernels-cuda') return [LIBDEVICE];
  if (name === '@mercer/cli') return [npmPart(dependency('cli', 'mnist'), DIGITS)];
  const [, openblas] = /^@mercer\/openblas-(.*)$/.exec(name) ?? [];
  if (openblas) return insideOpenblas(openblas);
  const [, addon, suffix] = /^@mercer\/(cpu-runtime|cuda-runtime|jit-cache)-(.*)$/.exec(name) ?? [];
  return addon && suffix ? insideAddon(addon, suffix) : insideBundle(name);
}

/** Writes the file into a package that carries something, and into its list of files. */
export function writeNotices(/** @type {string} */ folder, /** @type {any} */ manifest) {
  const parts = partsOf(manifest.name);
  if (parts.length === 0) return;
  const texts = parts.map(
    (part) =>
      `## ${part.name}${part.version ? ` ${part.version}` : ''}\n\n${part.license}; ${aboutPart(part)}.\n\n\`\`\`text\n${part.text.trim()}\n\`\`\`\n`,
  );
  const head = `# What ${manifest.name} carries of other projects\n`;
  writeFileSync(path.join(folder, NOTICES), [head, ...texts].join('\n'));
  if (!manifest.files.includes(NOTICES)) manifest.files = [...manifest.files, NOTICES];
}
