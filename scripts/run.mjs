// The two commands of a fresh clone: `npm run demo` and `npm test`. Needs Node, npm, a C++17 compiler and cmake, nothing
// else: fetches the pinned pnpm, installs, builds, runs. What is done is skipped, so a second run starts in seconds.
// Plain syntax and built-in modules only, so that an old Node reaches the message that says it is too old.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const bin = path.join(root, 'node_modules', '.bin');
const environment = Object.assign({}, process.env, {
  PATH: bin + path.delimiter + (process.env.PATH || ''),
  TURBO_TELEMETRY_DISABLED: '1',
  TURBO_NO_UPDATE_NOTIFIER: '1',
  DO_NOT_TRACK: '1',
  npm_config_update_notifier: 'false',
});

/** @param {string} message @returns {never} */
function stop(message) {
  process.stderr.write('\n' + message + '\n\n');
  process.exit(1);
}

/** @param {string} message */
function say(message) {
  process.stderr.write('mercer: ' + message + '\n');
}

/** @param {string} program @param {string[]} args @param {import('node:child_process').SpawnSyncOptions} [options] */
function run(program, args, options) {
  const settings = Object.assign({ cwd: root, env: environment, stdio: 'inherit' }, options);
  return spawnSync(program, args, settings);
}

/** @param {string} program */
function answers(program) {
  return spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;
}

function checkNode() {
  const version = process.versions.node.split('.');
  const major = Number(version[0]);
  if (major > 20 || (major === 20 && Number(version[1]) >= 19)) return;
  stop(
    'Mercer needs Node 20.19 or newer; this is ' +
      process.version +
      '.\n' +
      'Install a current Node (https://nodejs.org, or: nvm install 22) and run the command again.',
  );
}

function checkCompiler() {
  const missing = [];
  if (!answers('cmake')) missing.push('cmake');
  const compilers = ['c++', 'g++', 'clang++'];
  if (process.env.CXX) compilers.unshift(process.env.CXX);
  if (!compilers.some(answers))
    missing.push('a C++17 compiler (tried ' + compilers.join(', ') + ')');
  if (missing.length === 0) return;
  stop(
    'Building the native parts needs ' +
      missing.join(' and ') +
      ', not found on the PATH.\n' +
      '  Debian, Ubuntu:  apt-get install cmake g++ make\n' +
      '  Fedora:          dnf install cmake gcc-c++ make\n' +
      '  macOS:           xcode-select --install && brew install cmake',
  );
}

/** Changes whenever an install could have another result. */
function installKey() {
  const files = ['package.json', 'pnpm-lock.yaml', 'pnpm-workspace.yaml', '.npmrc'];
  readdirSync(path.join(root, 'packages')).forEach((folder) =>
    files.push(path.join('packages', folder, 'package.json')),
  );
  files.push('examples/package.json');
  const hash = createHash('sha256').update(process.version);
  files
    .filter((file) => existsSync(path.join(root, file)))
    .forEach((file) => hash.update('\0' + file + '\0').update(readFileSync(path.join(root, file))));
  return hash.digest('hex');
}

function install() {
  const stamp = path.join(root, 'node_modules', '.cache', 'mercer-install');
  const key = installKey();
  if (
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === key &&
    existsSync(path.join(bin, 'turbo'))
  )
    return;
  const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const pinned = manifest.packageManager;
  say('installing with ' + pinned);
  const local = existsSync(path.join(bin, 'pnpm'));
  const args = ['install', '--frozen-lockfile', '--prefer-offline', '--reporter=append-only'];
  const result = local
    ? run(path.join(bin, 'pnpm'), args)
    : run('npx', ['-y', pinned].concat(args));
  if (result.error)
    stop(
      'Could not start npx: ' + result.error.message + '. npm comes with Node; is it on the PATH?',
    );
  if (result.status !== 0) {
    stop(
      'Installing the dependencies failed (the reason stands above).\n' +
        'Without a network? The first run fetches packages from the npm registry that npm is configured for\n' +
        '(npm config get registry); later runs need none. Behind a proxy: npm config set proxy http://host:port',
    );
  }
  mkdirSync(path.dirname(stamp), { recursive: true });
  writeFileSync(stamp, key);
}

function build() {
  say('building what changed');
  const turbo = [
    'run',
    'build',
    'build:native',
    'build:wasm',
    '--output-logs=errors-only',
    '--log-order=grouped',
    '--no-update-notifier',
  ];
  const result = run(path.join(bin, 'turbo'), turbo, {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (result.status !== 0) {
    process.stderr.write(String(result.stdout || ''));
    stop('The build failed; the first error stands above.');
  }
}

/** OpenBLAS into the checkout, as a user gets it with the package; what it does or cannot do it says itself. */
function obtainLibraries() {
  run(process.execPath, [path.join(root, 'scripts/obtain/openblas.mjs')]);
}

/**
 * Everything, then what watches the event loop or a clock, alone and one file after the other. The time limit of a single
 * test is generous: a busy machine is no failure.
 * @param {string[]} args
 */
function test(args) {
  const vitest = path.join(bin, 'vitest');
  const common = ['run', '--testTimeout=120000'];
  if (args.length > 0) return run(vitest, common.concat(args)).status;
  const together = run(vitest, common.concat('--exclude', '**/*.alone.test.ts')).status;
  const alone = run(vitest, common.concat('--no-file-parallelism', '.alone.test.ts')).status;
  return together || alone;
}

function demo(/** @type {string[]} */ args) {
  return run(
    process.execPath,
    [path.join(root, 'packages/cli/bin/mercer.js'), 'demo'].concat(
      args.length > 0 ? args : ['digits'],
    ),
  ).status;
}

/** @type {Record<string, (args: string[]) => number | null>} */
const commands = { demo, test, build: () => 0 };
const command = commands[String(process.argv[2])];
if (!command) {
  stop('usage: node scripts/run.mjs ' + Object.keys(commands).join('|') + ' [arguments]');
}
checkNode();
checkCompiler();
install();
build();
obtainLibraries();
const status = command(process.argv.slice(3));
process.exit(status === null ? 1 : status);
