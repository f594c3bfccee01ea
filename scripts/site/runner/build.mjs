// Builds what pages need to run programs: the worker, Mercer for browsers as it is published, and WebAssembly beside it.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { brotliDecompressSync, gzipSync } from 'node:zlib';
import esbuild from 'esbuild';
import install, { FOLDER } from '../../lib/installed.mjs';
import { root } from '../../lib/workspace.mjs';
import { programs } from '../gallery.mjs';

const here = path.join(root, 'scripts/site/runner');
const WASM = 'mercer_cpu.wasm';
const wasm = path.join(root, 'packages/cpu-runtime/build/wasm', WASM);

/** Whether programs can run on the site that is built here. */
export const canRun = () => existsSync(wasm);

/** @returns {import('esbuild').Plugin} leads to packages as they are published */
const published = () => ({
  name: 'published',
  setup(build) {
    build.onResolve({ filter: /^@mercer\// }, ({ path: name, kind, pluginData }) =>
      pluginData === 'published'
        ? undefined
        : build.resolve(name, { kind, resolveDir: FOLDER, pluginData: 'published' }),
    );
    const twins = Object.fromEntries(
      ['fs', 'module', 'assert'].map((name) => [`node:${name}`, name]),
    );
    build.onResolve({ filter: /^node:(fs|module|assert)$/ }, ({ path: name }) => ({
      path: path.join(here, 'node', `${twins[name]}.mjs`),
    }));
    build.onResolve({ filter: /\/report\/png\.js$/ }, () => ({
      path: path.join(here, 'node/png.mjs'),
    }));
  },
});

/** @param {string} name of an import @returns {import('esbuild').StdinOptions['contents']} */
const entry = (name) => `export * from '${name}';`;

/** @param {string} target a folder that is served */
export async function buildRunner(target) {
  await install();
  const lib = path.join(root, 'examples/lib');
  const virtual = {
    core: '@mercer/core',
    npy: '@mercer/core/npy',
    safetensors: '@mercer/core/safetensors',
    'observable-plot': '@observablehq/plot',
  };
  await esbuild.build({
    entryPoints: {
      worker: path.join(here, 'worker.mjs'),
      ...Object.fromEntries(Object.keys(virtual).map((name) => [name, `entry:${name}`])),
      ...Object.fromEntries(
        ['digits', 'iris', 'whole'].map((name) => [name, path.join(lib, `${name}.mjs`)]),
      ),
      ...Object.fromEntries(
        ['fs', 'module', 'assert', 'plot'].map((name) => [
          name,
          path.join(here, 'node', `${name}.mjs`),
        ]),
      ),
    },
    outdir: target,
    bundle: true,
    splitting: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    keepNames: true,
    logLevel: 'warning',
    define: { 'process.argv': '[]' },
    external: ['@resvg/resvg-js'],
    plugins: [
      {
        name: 'entries',
        setup(build) {
          build.onResolve({ filter: /^entry:/ }, ({ path: name }) => ({
            path: name.slice(6),
            namespace: 'entry',
          }));
          build.onLoad({ filter: /./, namespace: 'entry' }, ({ path: name }) => ({
            contents: entry(virtual[/** @type {keyof typeof virtual} */ (name)]),
            resolveDir: path.join(FOLDER, 'node_modules/@mercer/cli'),
          }));
        },
      },
      published(),
    ],
  });
  copyFileSync(wasm, path.join(target, WASM));
  const require = createRequire(path.join(root, 'examples/'));
  mkdirSync(path.join(target, 'data'), { recursive: true });
  const digits = brotliDecompressSync(readFileSync(path.join(root, 'packages/cli/data/digits.br')));
  // Browsers read gzip; a name that servers do not take for one, so that they say nothing of it.
  writeFileSync(path.join(target, 'data/digits.bin'), gzipSync(digits, { level: 9 }));
  for (const { file } of programs()) {
    for (const [name] of readFileSync(path.join(root, file), 'utf8').matchAll(
      /vega-datasets\/data\/[\w-]+\.(?:json|csv)/g,
    ))
      copyFileSync(require.resolve(name), path.join(target, 'data', path.basename(name)));
  }
}
