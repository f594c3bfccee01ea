// OpenBLAS as the npm package @mercer/openblas-<platform>: for a release, and for a checkout, whose cpu-runtime finds it in its
// node_modules as a user's does. node scripts/obtain/openblas.mjs obtains it for the checkout and never fails. A copy out of the system's
// packages is kept as long as its files are whole, also when pip is there later: remove its folder to obtain the pinned one.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { currentPlatform } from '../lib/platform.mjs';
import { readJson, root } from '../lib/workspace.mjs';
import { fetchWith, holds, sha256, takeFromWheel, withFolder } from './wheel.mjs';

/**
 * What is published for a platform. The version is the package's own: raise it with every change of what is in it.
 * @typedef {{ version: string, openblas: string, library: string, wheel: import('./wheel.mjs').Wheel }} Pinned
 * @type {Record<string, Pinned>}
 */
const PINNED = {
  'linux-x64-gnu': {
    version: '1.0.0',
    openblas: '0.3.31.188.0',
    library: 'numpy.libs/libscipy_openblas64_-32a4b2a6.so',
    wheel: {
      name: 'numpy',
      version: '2.4.6',
      tags: [
        ...['--python-version', '3.11', '--implementation', 'cp', '--abi', 'cp311'],
        ...['--platform', 'manylinux_2_27_x86_64'],
      ],
      sha256: '89cd468399cfd2504718f0ba50e410dca55a170b61a02ad92bb18c8a65186e93',
      files: {
        'numpy.libs/libscipy_openblas64_-32a4b2a6.so':
          '05c9f9eb89ee68a4b9d673184fa91c99587e736392c0c2d49180a8aa5303d080',
        'numpy.libs/libgfortran-040039e1-0352e75f.so.5.0.0':
          'c6090048eccc763522c12ef016f81da6b627cb3a044f55cf0479a839c41c0980',
        'numpy.libs/libquadmath-96973f99-934c22de.so.0.0.0':
          '6ed5137f412781ad7863439fb543613f620b43c32b63292a0029246162f5bbc6',
        'numpy-2.4.6.dist-info/licenses/LICENSE.txt':
          '4860083caa0de2ac3292ca98bd074bd8f45d8b32624e37b1e70a240bff61e488',
      },
    },
  },
};

/** What is published for a platform. @returns {{ openblas: string, files: readonly string[] }} the version of OpenBLAS, and libraries by their names */
export function pinnedOpenblas(/** @type {string} */ suffix) {
  const pinned = PINNED[suffix];
  if (!pinned) throw new Error(`No OpenBLAS is pinned for ${suffix}: add its wheel to PINNED`);
  return { openblas: pinned.openblas, files: Object.keys(libraries(pinned)) };
}

/** The wheel's text of licences begins with numpy's own; what follows this line is about the libraries that come with it. */
const BUNDLED = 'This binary distribution of NumPy also bundles the following software:';
const LICENSES =
  'BSD-3-Clause AND BSD-3-Clause-Open-MPI AND GPL-3.0-or-later WITH GCC-exception-3.1 AND LGPL-2.1-or-later';
const SUMS = 'SHA256SUMS';

/** @param {Pinned} pinned @returns {Record<string, string>} hashes of the package's libraries by name */
function libraries({ wheel }) {
  return Object.fromEntries(
    Object.entries(wheel.files)
      .filter(([file]) => /\.so(\.|$)/.test(file))
      .map(([file, hash]) => [path.basename(file), hash]),
  );
}

/** @param {Record<string, string>} files */
const sums = (files) =>
  Object.entries(files)
    .map(([name, hash]) => `${hash}  ${name}\n`)
    .join('');

/** Writes the package that is published for this platform; throws when its wheel is not to be had. */
function writePinned(/** @type {string} */ directory, /** @type {Pinned} */ pinned) {
  const { name, platform, arch, suffix } = platformNames();
  const { version, openblas, library, wheel } = pinned;
  withFolder((folder) => {
    takeFromWheel(wheel, folder);
    mkdirSync(directory, { recursive: true });
    for (const file of Object.keys(wheel.files)) {
      const target = path.join(directory, path.basename(file));
      if (file.endsWith('LICENSE.txt')) {
        const text = readFileSync(path.join(folder, file), 'utf8');
        const from = text.indexOf(BUNDLED) + BUNDLED.length;
        // The wheel names this licence of libquadmath without its text.
        const lgpl = readFileSync(path.join(import.meta.dirname, 'LGPL-2.1.txt'), 'utf8');
        const whose = `The libraries in this package are those that the wheel of ${wheel.name} ${wheel.version} carries as numpy.libs.`;
        writeFileSync(
          path.join(directory, 'LICENSE'),
          `${whose}\n${text.slice(from)}\n----\n\n${lgpl}`,
        );
      } else copyFileSync(path.join(folder, file), target);
    }
  });
  const files = libraries(pinned);
  const { repository, publishConfig } = readJson(
    path.join(root, 'packages/cpu-runtime/package.json'),
  );
  writeManifest(directory, {
    name,
    version,
    description: `OpenBLAS ${openblas} (BLAS and LAPACK) for ${suffix}`,
    license: LICENSES,
    repository: { ...repository, directory: 'scripts/obtain' },
    os: [platform],
    cpu: [arch],
    libc: ['glibc'],
    main: './index.cjs',
    files: ['index.cjs', ...Object.keys(files), SUMS],
    preferUnplugged: true,
    publishConfig,
  });
  writeIndex(directory, path.basename(library), files);
  writeFileSync(
    path.join(directory, 'README.md'),
    `# ${name}

OpenBLAS ${openblas} with LAPACK and what it needs of the Fortran runtime, for ${suffix} (glibc 2.28 and newer). An optional
dependency of \`@mercer/cpu-runtime\`, which opens it; install that, not this.

The files are those of numpy ${wheel.version} (\`${wheel.name}\` wheel, SHA-256 \`${wheel.sha256}\`), unchanged; ${SUMS} has their hashes. Sources:
[OpenBLAS](https://github.com/OpenMathLib/OpenBLAS) and its build [openblas-libs](https://github.com/MacPython/openblas-libs),
[GCC](https://gcc.gnu.org) (libgfortran, libquadmath). LICENSE has the licences of all.
`,
  );
}

/**
 * The same out of Debian's and Ubuntu's packages, whose signatures apt checks, for a checkout only. Their libraries find one
 * another through the loader's folders; one of our own that links them says where they are here.
 */
function writeFromApt(/** @type {string} */ directory) {
  const patience = ['-qq', '-o', 'Acquire::Retries=0', '-o', 'Acquire::http::Timeout=10'];
  const packages = ['libopenblas0-pthread', 'libgfortran5', 'libquadmath0'];
  mkdirSync(directory, { recursive: true });
  withFolder((folder) => {
    // libquadmath0 is not there for every processor.
    const [needed, also] = [packages.slice(0, 2), packages.slice(2)];
    fetchWith('apt-get', [...patience, 'download', ...needed], folder);
    try {
      fetchWith('apt-get', [...patience, 'download', ...also], folder);
    } catch {
      // the system's, if it has one
    }
    for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb')))
      fetchWith('dpkg', ['-x', path.join(folder, file), folder]);
    for (const entry of readdirSync(path.join(folder, 'usr/lib'), {
      withFileTypes: true,
      recursive: true,
    })) {
      const name = /^(libopenblas|libgfortran|libquadmath)\.so\.\d+$/.exec(entry.name)?.[0];
      if (name === undefined) continue;
      copyFileSync(path.join(entry.parentPath, entry.name), path.join(directory, name));
    }
  });
  const library = 'libopenblas-here.so';
  const names = readdirSync(directory).filter((name) => name.includes('.so.'));
  const link = ['-shared', '-nostdlib', '-o', library, '-L.', '-Wl,--no-as-needed'];
  // The older kind of path: it also serves what these libraries need themselves.
  const here = '-Wl,--disable-new-dtags,-rpath,$ORIGIN';
  fetchWith(
    process.env.CXX ?? 'c++',
    [...link, here, ...names.map((name) => `-l:${name}`)],
    directory,
  );
  const files = Object.fromEntries(
    [library, ...names].map((name) => [name, sha256(path.join(directory, name))]),
  );
  writeManifest(directory, { name: platformNames().name, version: '0.0.0', main: './index.cjs' });
  writeIndex(directory, library, files);
}

/**
 * The package's value is the path of its library; beside it the hashes of all.
 * @param {string} directory @param {string} library @param {Record<string, string>} files
 */
function writeIndex(directory, library, files) {
  const text = `module.exports = require('node:path').join(__dirname, '${library}');\n`;
  writeFileSync(path.join(directory, 'index.cjs'), text);
  writeFileSync(path.join(directory, SUMS), sums(files));
}

function writeManifest(/** @type {string} */ directory, /** @type {object} */ manifest) {
  writeFileSync(path.join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

function platformNames() {
  const { platform, arch, suffix } = currentPlatform();
  return { platform, arch, suffix, name: `@mercer/openblas-${suffix}` };
}

/** Whether the folder holds a package whose files are whole, and the pinned ones if they are of a wheel. */
function isCurrent(/** @type {string} */ directory, /** @type {Pinned | undefined} */ pinned) {
  const [manifest, list] = [path.join(directory, 'package.json'), path.join(directory, SUMS)];
  if (!existsSync(manifest) || !existsSync(list)) return false;
  const fromApt = readJson(manifest).version === '0.0.0';
  const text = readFileSync(list, 'utf8');
  if (!fromApt && (!pinned || text !== sums(libraries(pinned)))) return false;
  const lines = text.trim().split('\n');
  return holds(
    directory,
    Object.fromEntries(lines.map((line) => [line.slice(66), line.slice(0, 64)])),
  );
}

/** Writes a package with `write` and puts it in place whole. */
function place(/** @type {string} */ directory, /** @type {(folder: string) => void} */ write) {
  const fresh = `${directory}.${process.pid}.new`;
  try {
    write(fresh);
    rmSync(directory, { recursive: true, force: true });
    renameSync(fresh, directory);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * Writes the package that a release publishes for this platform, if one is pinned; throws when its wheel is not to be had.
 * @returns {{ name: string, version: string, directory: string } | undefined}
 */
export function writeOpenblasPackage(/** @type {string} */ parent) {
  const { name, suffix } = platformNames();
  const pinned = PINNED[suffix];
  if (!pinned) return undefined;
  const directory = path.join(parent, `openblas-${suffix}`);
  place(directory, (folder) => writePinned(folder, pinned));
  return { name, version: pinned.version, directory };
}

/** Where cpu-runtime of this checkout finds it. */
export function checkoutFolder() {
  return path.join(root, 'packages/cpu-runtime/node_modules', platformNames().name);
}

/** @returns {string | undefined} what was done or could not be done, in a line; undefined when there was nothing to do */
export function obtainOpenblas(directory = checkoutFolder()) {
  const { suffix } = platformNames();
  const pinned = PINNED[suffix];
  if (process.env.MERCER_BLAS || isCurrent(directory, pinned)) return undefined;
  const ways = [
    ...(pinned
      ? [
          {
            from: `numpy ${pinned.wheel.version}`,
            write: (/** @type {string} */ folder) => writePinned(folder, pinned),
          },
        ]
      : []),
    ...(/linux-.*-gnu/.test(suffix)
      ? [{ from: "this system's packages", write: writeFromApt }]
      : []),
  ];
  const reasons = [];
  for (const { from, write } of ways) {
    try {
      place(directory, write);
      return `obtained OpenBLAS from ${from} (${path.relative(root, directory)})`;
    } catch (error) {
      reasons.push(/** @type {Error} */ (error).message);
    }
  }
  const why = reasons.length === 0 ? `none is known for ${suffix}` : reasons.join('; ');
  const system = systemLibrary();
  return system
    ? `OpenBLAS is not to be had (${why}); the one of the system is used: ${system}`
    : `no BLAS and LAPACK is to be had (${why}); tests that need one are skipped by name`;
}

/** The library that cpu-runtime finds without the package. */
function systemLibrary() {
  const module = pathToFileURL(path.join(root, 'packages/cpu-runtime/dist/index.js')).href;
  const ask = `const { lapack } = await import(${JSON.stringify(module)}); console.log(lapack.report().path ?? '')`;
  try {
    return execFileSync(process.execPath, ['--input-type=module', '-e', ask], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return '';
  }
}

if (import.meta.url === pathToFileURL(String(process.argv[1])).href) {
  const said = obtainOpenblas();
  if (said) process.stderr.write(`mercer: ${said}\n`);
}
