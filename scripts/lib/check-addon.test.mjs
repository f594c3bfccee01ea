import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { addonOf } from '../release/platform-packages.mjs';
import { addonProblems, checkAddon } from './check-addon.mjs';
import { hasProgram, run } from './shell.mjs';
import { root, workspacePackages } from './workspace.mjs';

const compiler = process.env.CXX ?? 'c++';
const older = path.join(root, 'scripts/cmake/glibc-2.28.cc');
// Each of these has a version after 2.28, or did not exist then.
const source = `
  #include <dlfcn.h>
  #include <sys/stat.h>
  #include <cmath>
  #include <condition_variable>
  #include <memory>
  #include <random>
  #include <stdexcept>
  #include <thread>
  __attribute__((visibility("default"))) double uses(const char* text, double x) {
    struct stat status;
    auto shared = std::make_shared<double>(std::exp(x) + std::pow(x, 1.5) + std::random_device()());
    std::mutex mutex;
    std::condition_variable changed;
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait_for(lock, std::chrono::milliseconds(1));
    std::thread([shared] { *shared += 1; }).join();
    try {
      throw std::runtime_error(text);
    } catch (const std::exception&) {
      return *shared + stat(text, &status) + (dlsym(nullptr, text) != nullptr);
    }
  }`;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'mercer-addon-'));
  writeFileSync(path.join(folder, 'uses.cc'), source);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** @param {string} name @param {string[]} options @returns {string} path of the library */
function link(name, options) {
  const file = path.join(folder, name);
  const common = ['-shared', '-fPIC', '-O2', '-std=c++17', '-fvisibility=hidden', '-o', file];
  run(compiler, [...common, path.join(folder, 'uses.cc'), ...options]);
  return file;
}

/** Whether this machine's C library is one whose newest versions are too new. */
const report = /** @type {any} */ (process.report.getReport());
const glibc = Number(String(report.header.glibcVersionRuntime).split('.')[1]);
const here = process.platform === 'linux' && hasProgram('readelf') && hasProgram(compiler);

describe.skipIf(!here || !(glibc >= 36))('checkAddon, on glibc 2.36 or newer', () => {
  it('names every symbol that is too new, and every foreign library', () => {
    const problems = addonProblems(link('plain.node', []));
    const symbols = ['exp@GLIBC_2.29', 'pow@GLIBC_2.29', 'stat@GLIBC_2.33', 'dlsym@GLIBC_2.34'];
    expect(problems).toEqual(expect.arrayContaining(['libstdc++.so.6', ...symbols]));
    expect(problems).toContain('pthread_cond_clockwait@GLIBC_2.34');
    expect(() => {
      checkAddon(path.join(folder, 'plain.node'));
    }).toThrow(/plain\.node needs .* 2\.28 may lack:\n {2}[^]*exp@GLIBC_2\.29\n/);
  });

  it('names what a static C++ library and a static unwinder ask for', () => {
    const problems = addonProblems(link('static.node', ['-static-libstdc++', '-static-libgcc']));
    expect(problems).toEqual(
      expect.arrayContaining([
        '__libc_single_threaded@GLIBC_2.32',
        '_dl_find_object@GLIBC_2.35',
        'arc4random@GLIBC_2.36',
        'pthread_create@GLIBC_2.34',
      ]),
    );
  });
});

describe.skipIf(!here)('what is linked as native packages are', () => {
  it('needs nothing newer than glibc 2.28, and works', () => {
    const options = [older, '-static-libstdc++', '-shared-libgcc', '-Wl,--gc-sections', '-pthread'];
    const file = link('portable.node', [...options, '-ldl', '-lm']);
    expect(addonProblems(file)).toEqual([]);
    writeFileSync(
      path.join(folder, 'main.cc'),
      'double uses(const char*, double); int main() { return uses("/nonexistent", 1) > 3 ? 0 : 1; }',
    );
    const program = path.join(folder, 'main');
    run(compiler, ['-o', program, path.join(folder, 'main.cc'), file, `-Wl,-rpath,${folder}`]);
    expect(spawnSync(program).status).toBe(0);
  });

  it.each(
    workspacePackages()
      .filter(({ native }) => native)
      .map((owner) => [owner.name, owner]),
  )('is %s', (_, owner) => {
    expect(addonProblems(addonOf(/** @type {any} */ (owner)))).toEqual([]);
  });
});
