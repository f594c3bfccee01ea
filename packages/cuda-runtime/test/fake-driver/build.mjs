// Builds the fake driver and fake NVRTCs with the system's C++ compiler, once per content.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

function fingerprint() {
  const hash = createHash('sha256');
  for (const name of readdirSync(here).sort()) hash.update(readFileSync(join(here, name)));
  return hash.digest('hex').slice(0, 16);
}

const folder = join(here, '..', '..', 'build', 'fake', fingerprint());

async function compile(output, sources, flags) {
  if (existsSync(output)) return output;
  mkdirSync(dirname(output), { recursive: true });
  const temporary = `${output}.${process.pid}-${Math.random().toString(36).slice(2)}`;
  const [compiler, ...first] = (process.env.CXX ?? 'c++').split(' ');
  const files = sources.map((name) => resolve(here, name));
  const args = ['-std=c++17', '-O1', '-shared', '-fPIC', '-fvisibility=hidden', '-pthread'];
  await new Promise((done, reject) => {
    const child = spawn(compiler, [...first, ...args, ...flags, ...files, '-o', temporary], {
      stdio: 'inherit',
    });
    child.on('error', reject);
    child.on('exit', (code) =>
      code === 0 ? done() : reject(new Error(`${compiler} could not build ${output}`)),
    );
  });
  renameSync(temporary, output);
  return output;
}

/** The part that every library but NVRTC has, compiled once. */
function state() {
  return compile(join(folder, 'state.o'), ['state.cc'], ['-c']);
}

/** Path of a libcuda.so.1 whose devices are plain memory. Settings: MERCER_FAKE_*, see state.h. */
export async function buildFakeDriver() {
  const sources = [await state(), 'fake-driver.cc', 'memory.cc', 'code.cc'];
  return compile(join(folder, 'libcuda.so.1'), sources, ['-Wl,-soname,libcuda.so.1']);
}

/** Path of a libcusolver.so.<major> that works on the fake driver's memory. */
export async function buildFakeCusolver(major = 12) {
  const name = `libcusolver.so.${major}`;
  const flags = [`-DFAKE_MAJOR=${major}`, `-Wl,-soname,${name}`];
  return compile(join(folder, name), [await state(), 'fake-cusolver.cc'], flags);
}

/** Path of a libcublasLt.so.<major> that works on the fake driver's memory. */
export async function buildFakeCublasLt(major = 13) {
  const name = `libcublasLt.so.${major}`;
  const flags = [`-DFAKE_MAJOR=${major}`, `-Wl,-soname,${name}`];
  return compile(join(folder, name), [await state(), 'fake-cublaslt.cc'], flags);
}

/** Path of a libcublas.so.<major> that works on the fake driver's memory. */
export async function buildFakeCublas(major = 13) {
  const name = `libcublas.so.${major}`;
  const flags = [`-DFAKE_MAJOR=${major}`, `-Wl,-soname,${name}`];
  return compile(join(folder, name), [await state(), 'fake-cublas.cc'], flags);
}

/** Path of a libnccl.so.2 of a version, for ranks of one process that work on the fake driver's memory. */
export async function buildFakeNccl(version = 22304) {
  const flags = [`-DFAKE_VERSION=${version}`, '-Wl,-soname,libnccl.so.2'];
  return compile(
    join(folder, `nccl-${version}`, 'libnccl.so.2'),
    [await state(), 'fake-nccl.cc'],
    flags,
  );
}

/** Path of a libnvrtc.so.<major> that compiles nothing. */
export function buildFakeNvrtc(major) {
  const name = `libnvrtc.so.${major}`;
  const flags = [`-DFAKE_MAJOR=${major}`, `-Wl,-soname,${name}`];
  return compile(join(folder, name), ['fake-nvrtc.cc'], flags);
}
