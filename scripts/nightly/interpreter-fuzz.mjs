// Changed tile programs under sanitizers: node scripts/nightly/interpreter-fuzz.mjs [--minutes 10] [--first 0] [--count N]
// Builds test/native/interpreter-fuzz.cc of cpu-runtime with the reader and one level, takes the programs of all default kernels as
// seeds, and runs mutants of them until the time is over, or exactly --count of them. A number on the last line is the mutant that failed:
// --first that --count 1 runs it again.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { defaultKernels } from '../../packages/kernels/test/default-kernels.mjs';
import { mapReduceProblems } from '../../packages/kernels/dist/map-reduce/default-map-reduce.test-support.js';
import { emitMapReduce } from '../../packages/kernels/dist/map-reduce/emit.js';
import { planMapReduce } from '../../packages/kernels/dist/map-reduce/plan.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    first: { type: 'string', default: '0' },
    count: { type: 'string' },
  },
});
const AT_ONCE = 20_000;
const root = fileURLToPath(new URL('../../packages/cpu-runtime/', import.meta.url));
const level = process.arch === 'arm64' ? 'arm64' : 'x86-64-v2';

/** Programs of every family, each once. */
function seeds() {
  /** @type {import('../../packages/kernels/dist/index.js').CpuLimits} */
  const limits = { kind: 'cpu', level, cores: 2, l1Bytes: 32768, l2Bytes: 1 << 20 };
  const programs = new Map();
  const interpreted = /** @type {const} */ ({ ...limits, interpreted: true });
  const reductions = mapReduceProblems().flatMap(
    (problem) => emitMapReduce(planMapReduce(problem, interpreted)).steps,
  );
  for (const { kernel } of [...defaultKernels(limits), ...reductions]) {
    const program = kernel.dialect === 'cpu' ? kernel.program : undefined;
    if (program === undefined) continue;
    if (program.words.length < 20_000) programs.set(JSON.stringify(program), program);
  }
  return [...programs.values()].map(({ words, constants }) =>
    Buffer.concat([
      Buffer.from(Int32Array.of(words.length, constants.length).buffer),
      Buffer.from(Int32Array.from(words).buffer),
      Buffer.from(Float64Array.from(constants).buffer),
    ]),
  );
}

/**
 * @param {string} folder
 * @returns {string}
 */
function build(folder) {
  const program = join(folder, 'interpreter-fuzz');
  const sources = [
    'test/native/interpreter-fuzz.cc',
    'native/interpreter/program.cc',
    'native/interpreter/uniforms.cc',
    `native/interpreter/levels/${level}.cc`,
    `native/kernels/levels/${level}.cc`,
  ].map((name) => join(root, name));
  const sanitizers = ['-fsanitize=address,undefined', '-fno-sanitize-recover=undefined'];
  const numbers = ['-fno-math-errno', '-fno-trapping-math', '-Wno-psabi'];
  const march = level === 'arm64' ? [] : [`-march=${level}`];
  const args = ['-std=gnu++17', '-O1', '-g', ...sanitizers, ...numbers, ...march];
  const compiler = process.env.CXX ?? 'g++';
  const { status } = spawnSync(
    compiler,
    [...args, `-I${join(root, 'native')}`, `-I${join(root, 'build')}`, ...sources, '-o', program],
    { stdio: 'inherit' },
  );
  if (status !== 0) throw new Error(`${compiler} ended with ${status}`);
  return program;
}

const folder = mkdtempSync(join(tmpdir(), 'mercer-fuzz-'));
try {
  const file = join(folder, 'seeds');
  writeFileSync(file, Buffer.concat(seeds()));
  const program = build(folder);
  const end = performance.now() + 60e3 * Number(values.minutes);
  let first = Number(values.first);
  const last = values.count === undefined ? Infinity : first + Number(values.count);
  while (first < last && performance.now() < end) {
    const count = Math.min(AT_ONCE, last - first);
    const { status, signal } = spawnSync(program, [file, String(first), String(count)], {
      stdio: 'inherit',
      timeout: 30 * 60e3,
    });
    if (status !== 0) {
      console.error(`\nthe mutants from ${first} on: status ${status}, signal ${signal}`);
      process.exitCode = 1;
      break;
    }
    first += count;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
