// Builds the addon of the package in the current folder with cmake-js against node-api-headers: no download, no toolkit.
import { spawnSync } from 'node:child_process';

const result = spawnSync('cmake-js', ['build', '--CDCMAKE_BUILD_TYPE=Release', ...process.argv.slice(2)], {
  stdio: 'inherit',
  shell: process.platform === 'win32',
});
process.exit(result.status ?? 1);
