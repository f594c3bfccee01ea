// An addon in the bundle must load on hosts with an older C library and with no C++ library at all.
import path from 'node:path';
import { hasProgram, run } from './shell.mjs';

/** Newest symbol version of the C library that a bundled addon may ask for (Ubuntu 24.04 has 2.39, Debian 12 has 2.36). */
const MAX_GLIBC = /** @type {const} */ ([2, 36]);
/** Libraries of the C library itself; Node needs the loader and these anyway. */
const ALLOWED = /^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64)\.so/;

/** Throws when the file needs a library or a symbol version that a bare host may lack. */
export function checkAddon(/** @type {string} */ file) {
  if (!hasProgram('readelf')) return;
  const needed = [...run('readelf', ['-d', file]).matchAll(/\(NEEDED\).*\[(.+?)\]/g)].map((match) =>
    String(match[1]),
  );
  const foreign = needed.filter((library) => !ALLOWED.test(library));
  if (foreign.length > 0) {
    throw new Error(
      `${path.basename(file)} links ${foreign.join(', ')}. Link the C++ library statically: ` +
        'target_link_options(... PRIVATE -static-libstdc++ -static-libgcc).',
    );
  }
  for (const match of run('readelf', ['-V', file]).matchAll(/GLIBC_(\d+)\.(\d+)/g)) {
    const [major, minor] = [Number(match[1]), Number(match[2])];
    if (major > MAX_GLIBC[0] || (major === MAX_GLIBC[0] && minor > MAX_GLIBC[1])) {
      throw new Error(
        `${path.basename(file)} needs ${match[0]}, newer than ${MAX_GLIBC.join('.')}. Build it on an older system.`,
      );
    }
  }
}
