// NVRTC for the tests of a checkout, into .nvrtc (90 MB to fetch): node scripts/obtain/nvrtc.mjs never fails.
import { renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../lib/workspace.mjs';
import { holds, takeFromWheel } from './wheel.mjs';

/** By process.platform and process.arch. @type {Record<string, import('./wheel.mjs').Wheel>} */
const WHEELS = {
  'linux-x64': {
    name: 'nvidia-cuda-nvrtc',
    version: '13.0.88',
    tags: ['--platform', 'manylinux_2_12_x86_64'],
    sha256: 'ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575',
    files: {
      'nvidia/cu13/lib/libnvrtc.so.13':
        'a49e67e8e74590f1e98de55c39c6287efd3f59e3c3797464d7bbe0fe01349b11',
      'nvidia/cu13/lib/libnvrtc-builtins.so.13.0':
        '91dcd944d01da9c0f08fff5d779db136a47f6d62bdb63bae900d2f481e92c3a2',
    },
  },
};

/** @returns {string} what is now true, in a line; throws when it is not to be had */
export function obtainNvrtc(folder = path.join(root, '.nvrtc')) {
  const wheel = WHEELS[`${process.platform}-${process.arch}`];
  if (!wheel) throw new Error(`no wheel is pinned for ${process.platform}-${process.arch}`);
  if (holds(folder, wheel.files)) return `NVRTC ${wheel.version} is in ${folder}`;
  const fresh = `${folder}.new`;
  rmSync(fresh, { recursive: true, force: true });
  try {
    takeFromWheel(wheel, fresh);
    rmSync(folder, { recursive: true, force: true });
    renameSync(fresh, folder);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return `fetched NVRTC ${wheel.version} into ${folder}`;
}

if (import.meta.url === pathToFileURL(String(process.argv[1])).href) {
  try {
    console.log(obtainNvrtc());
  } catch (error) {
    console.log(`NVRTC is not to be had (${/** @type {Error} */ (error).message}):`);
    console.log('tests named *.compile.test.ts are skipped, CUDA kernels are not compiled.');
  }
}
