// Builds packages/cpu-runtime/build/wasm/mercer_cpu.wasm: the interpreter, the built-in kernels and the routines of linear algebra
// without their binding to Node, for 128-bit WebAssembly SIMD. Needs a clang with wasi-libc and libc++ for wasm32. Where none is
// found it says so and ends well, because no test but those of WebAssembly needs the file; with --required it fails instead.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../packages/cpu-runtime/', import.meta.url));
const target = path.join(root, 'build/wasm');
const output = path.join(target, 'mercer_cpu.wasm');
const stampFile = path.join(target, '.inputs');
const required = process.argv.includes('--required');

const PACKAGES =
  'clang-19 lld-19 wasi-libc libc++-19-dev-wasm32 libc++abi-19-dev-wasm32 libclang-rt-19-dev-wasm32';
/** The module's own stack, and that of each helper. */
const STACK_BYTES = 2 ** 20;
/** What the memory has at first: src/wasm/wasm-module.ts makes it. */
const MEMORY_BYTES = 2 ** 22;
const TARGET = [
  '--target=wasm32-wasi',
  '-msimd128',
  '-matomics',
  '-mbulk-memory',
  '-mnontrapping-fptoint',
  '-msign-ext',
];
const COMMON = [
  ...TARGET,
  ...[
    '-std=gnu++17',
    '-O3',
    '-fno-exceptions',
    '-fno-rtti',
    '-fno-threadsafe-statics',
    '-fvisibility=hidden',
  ],
  `-DMERCER_STACK_BYTES=${STACK_BYTES}`,
  ...['-Wall', '-Wextra', '-Wno-psabi', '-Wno-int-to-pointer-cast', '-Wno-unknown-pragmas'],
];
/** What code for one instruction set is compiled with everywhere. */
const LEVEL = ['-fno-math-errno', '-fno-trapping-math', '-fno-strict-aliasing'];
const LINK = [
  ...[
    '-mexec-model=reactor',
    '-O3',
    `-Wl,-z,stack-size=${STACK_BYTES}`,
    '-Wl,--stack-first',
    '-Wl,--gc-sections',
  ],
  ...['-Wl,--strip-all', '-Wl,--export=__stack_pointer', '-Wl,--max-memory=4294967296'],
  // The C library was built without atomic instructions. Only the launching thread calls what is not safe for threads (native/wasm/team.cc).
  ...['-Wl,--import-memory', '-Wl,--shared-memory', '-Wl,--no-check-features'],
  `-Wl,--initial-memory=${MEMORY_BYTES}`,
];

/**
 * What makes the module a fifth smaller at the same speed: vectors are written as often as they pay already, and the routines spend their
 * time in the tile kernels. -Os for the levels costs half of the speed of sums; they have fewer links of strips instead (interpreter/strips.h).
 */
const SMALLER = [
  { of: /^(interpreter|kernels)\/levels/, flags: ['-fno-unroll-loops'] },
  { of: /^(linalg\/routines|interpreter\/(program|uniforms)|kernels\/kernels)/, flags: ['-Oz'] },
];

/** Natively these are the pool's, the loader's and Node's. */
const SOURCES = [
  ...[
    'builtin.cc',
    'wasm/exports.cc',
    'wasm/team.cc',
    'interpreter/program.cc',
    'interpreter/uniforms.cc',
    'interpreter/levels.cc',
  ],
  ...['interpreter/levels/wasm128.cc', 'kernels/kernels.cc', 'kernels/levels/wasm128.cc'],
  ...['linalg/routines.cc', 'linalg/tile-kernels.cc', 'linalg/levels/wasm128.cc'],
];

/** @param {string} message @returns {never} */
function give_up(message) {
  console.log(`WebAssembly: ${message}`);
  process.exit(required ? 1 : 0);
}

/** @param {string} folder @returns {string[]} */
function files(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.md'))
    .map((entry) => path.join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}

/** The first compiler that makes a module out of a program with the C++ library. */
function findCompiler() {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-wasm-'));
  try {
    const probe = path.join(folder, 'probe.cc');
    writeFileSync(
      probe,
      '#include <string>\nint main(int n, char**) { return (int)std::string(n, 0).size(); }\n',
    );
    const named = process.env['MERCER_WASM_CXX'];
    const names = named
      ? [named]
      : ['clang++', 'clang++-19', 'clang++-20', 'clang++-21', 'clang++-18'];
    return names.find((name) => {
      const made = spawnSync(name, [
        ...TARGET,
        '-fno-exceptions',
        probe,
        '-o',
        path.join(folder, 'probe.wasm'),
      ]);
      return made.status === 0;
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** @param {string} program @param {string[]} args @returns {Promise<number>} */
const run = (program, args) =>
  new Promise((resolve, reject) => {
    spawn(program, args, { stdio: 'inherit' })
      .on('error', reject)
      .on('close', (code) => resolve(code ?? 1));
  });

if (!existsSync(path.join(root, 'build/generated')))
  give_up('not built, because build/generated is missing. Run: pnpm build');

const compiler = findCompiler();
if (compiler === undefined)
  give_up(
    `not built, because no clang++ here makes WebAssembly with the C++ library. Debian, Ubuntu: apt install ${PACKAGES}; ` +
      'MERCER_WASM_CXX names another compiler.',
  );

const hash = createHash('sha256').update(String(spawnSync(compiler, ['--version']).stdout));
for (const file of [
  ...files(path.join(root, 'native')),
  ...files(path.join(root, 'build/generated')),
  fileURLToPath(import.meta.url),
])
  hash
    .update(`${path.relative(root, file)}\0`)
    .update(readFileSync(file))
    .update('\0');
const wanted = hash.digest('hex');
if (existsSync(output) && existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) {
  console.log('WebAssembly: nothing changed');
  process.exit(0);
}

const objects = path.join(target, 'objects');
mkdirSync(objects, { recursive: true });
const queue = [...SOURCES].sort(
  (a, b) => Number(b.includes('levels/')) - Number(a.includes('levels/')),
);
const objectOf = (/** @type {string} */ source) =>
  path.join(objects, `${source.replaceAll('/', '-')}.o`);
let failed = false;
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (let source = queue.shift(); source !== undefined && !failed; source = queue.shift()) {
      const level = source.includes('levels/') ? LEVEL : [];
      const smaller = SMALLER.filter(({ of }) => of.test(source)).flatMap(({ flags }) => flags);
      // Paths in messages and in the module must not depend on where the sources are.
      const args = [
        ...COMMON,
        ...level,
        ...smaller,
        `-ffile-prefix-map=${root}=`,
        '-I',
        path.join(root, 'build'),
        '-I',
        path.join(root, 'native'),
      ];
      if (
        (await run(compiler, [
          ...args,
          '-c',
          path.join(root, 'native', source),
          '-o',
          objectOf(source),
        ])) !== 0
      )
        failed = true;
    }
  }),
);
if (
  !failed &&
  (await run(compiler, [...TARGET, ...LINK, ...SOURCES.map(objectOf), '-o', output])) !== 0
)
  failed = true;
if (failed) {
  console.error('WebAssembly: the build failed, see above.');
  process.exit(1);
}
writeFileSync(stampFile, wanted);
console.log(`WebAssembly: ${readFileSync(output).length} bytes, by ${compiler}`);
