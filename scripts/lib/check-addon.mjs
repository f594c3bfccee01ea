// A published addon must load on hosts with an older C library and with no C++ library but that of Node (docs/adr/0021).
import path from 'node:path';
import { hasProgram, run } from './shell.mjs';

/**
 * The newest symbol versions that an addon may ask for: those of RHEL 8. Node needs these libraries too. What is linked
 * statically has no versions.
 */
const NEWEST = /** @type {Record<string, string>} */ ({ GLIBC: '2.28', GCC: '7.0.0' });
const ALLOWED = /^(libc|libm|libdl|libpthread|librt|libgcc_s|ld-linux-x86-64|ld-linux-aarch64)\.so/;

/** Whether version a is newer than version b. */
function newer(/** @type {string} */ a, /** @type {string} */ b) {
  return a.localeCompare(b, 'en', { numeric: true }) > 0;
}

/** @param {string} file @returns {string[]} libraries and symbols, by name, that a host with glibc 2.28 may lack */
export function addonProblems(file) {
  const needed = [...run('readelf', ['-d', file]).matchAll(/\(NEEDED\).*\[(.+?)\]/g)].map(
    ([, library]) => String(library),
  );
  const symbols = [
    ...run('readelf', ['-W', '--dyn-syms', file]).matchAll(/ UND (\S+?)@([A-Z]+)_(\S+)/g),
  ].map(([, name, library, version]) => ({
    name,
    library: String(library),
    version: String(version),
  }));
  return [
    ...needed.filter((library) => !ALLOWED.test(library)),
    ...symbols
      .filter(({ library, version }) => newer(version, NEWEST[library] ?? '0'))
      .map(({ name, library, version }) => `${name}@${library}_${version}`)
      .sort(),
  ];
}

/** Throws when the file needs a library or a symbol version that a host may lack, naming every one. */
export function checkAddon(/** @type {string} */ file) {
  if (!hasProgram('readelf')) return;
  const problems = addonProblems(file);
  if (problems.length === 0) return;
  throw new Error(
    `${path.basename(file)} needs what a host with glibc ${NEWEST['GLIBC']} may lack:\n  ${problems.join('\n  ')}\n` +
      'Link it with link_portably of scripts/cmake/portable.cmake, and add what is new to glibc-2.28.cc beside it.',
  );
}
