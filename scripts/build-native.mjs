// Builds the addon of the package in the current folder with cmake-js against node-api-headers: nothing
// is downloaded, no toolkit is needed. Does nothing when no input changed since the last build. With `--for linux-arm64` it builds for that
// machine into build/linux-arm64, with a cross compiler (scripts/cmake/linux-arm64.cmake); what else is named goes to cmake-js.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = process.cwd();
const require = createRequire(join(root, 'package.json'));
const given = process.argv.slice(2);
const target = given[0] === '--for' ? given[1] : undefined;
const more = target === undefined ? given : given.slice(2);
const scripts = dirname(fileURLToPath(import.meta.url));
const buildDir = target === undefined ? join(root, 'build') : join(root, 'build', target);
const stampFile = join(buildDir, '.inputs');
const releaseDir = join(buildDir, 'Release');
/** What cmake-js is told of another machine. */
const cross =
  target === undefined
    ? []
    : [
        ...['--out', buildDir, '--arch', String(target.split('-')[1])],
        `--CDCMAKE_TOOLCHAIN_FILE=${join(scripts, 'cmake', `${target}.cmake`)}`,
      ];

/** @param {string} folder */
function files(folder) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** Hash of everything that decides the binary. */
function inputs() {
  const hash = createHash('sha256');
  const folders = [join(root, 'native'), join(root, 'build', 'generated')];
  const sources = folders.flatMap(files).filter((name) => !name.endsWith('.md'));
  const shared = files(join(scripts, 'cmake'));
  const builders = [join(root, 'CMakeLists.txt'), fileURLToPath(import.meta.url)];
  for (const file of [...sources, ...builders, ...shared]) {
    hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  }
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const carriers = ['node-addon-api', 'node-api-headers', '@photostructure/sqlite'];
  for (const name of carriers.filter((it) => it in devDependencies)) {
    hash.update(`${name}@${require(`${name}/package.json`).version}\0`);
  }
  const environment = ['CXX', 'CXXFLAGS', 'LDFLAGS'].map((name) => process.env[name] ?? '');
  const machine = [process.platform, process.arch, ...environment, ...given];
  return hash.update(JSON.stringify(machine)).digest('hex');
}

function built() {
  return existsSync(releaseDir) && readdirSync(releaseDir).some((name) => name.endsWith('.node'));
}

const wanted = inputs();
if (built() && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) {
  console.log('native code: nothing changed');
  process.exit(0);
}

const cmakeJs = join(dirname(require.resolve('cmake-js/package.json')), 'bin', 'cmake-js');
const jobs = process.env.CMAKE_BUILD_PARALLEL_LEVEL ?? String(availableParallelism());
const result = spawnSync(
  process.execPath,
  [cmakeJs, 'build', '--CDCMAKE_BUILD_TYPE=Release', ...cross, ...more],
  { stdio: 'inherit', cwd: root, env: { ...process.env, CMAKE_BUILD_PARALLEL_LEVEL: jobs } },
);
if (result.error) {
  console.error(
    `native code: cmake-js could not be started: ${result.error.message}. Run the package manager's install first.`,
  );
  process.exit(1);
}
if (result.status !== 0) {
  console.error(
    'native code: the build failed, see above. A C++17 compiler and CMake 3.18 or newer are needed ' +
      '(Debian, Ubuntu: apt install build-essential cmake).',
  );
  process.exit(result.status ?? 1);
}
mkdirSync(dirname(stampFile), { recursive: true });
writeFileSync(stampFile, wanted);
