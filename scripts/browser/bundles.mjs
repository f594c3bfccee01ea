// Bundles of a program for browsers, as a reader of docs/site/guide/deploying.md makes them.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import esbuild from 'esbuild';
import { build as viteBuild } from 'vite';

/** The bundle in its folder. */
export const SCRIPT = 'page.js';

/**
 * `copiesModule`: whether WebAssembly is found and copied.
 * @typedef {{ name: string, copiesModule: boolean, build: (program: string, folder: string) => Promise<void> }} Bundler
 */

/** @type {readonly Bundler[]} */
export const bundlers = [
  {
    name: 'esbuild',
    copiesModule: false,
    async build(program, folder) {
      await esbuild.build({
        entryPoints: [program],
        outfile: path.join(folder, SCRIPT),
        bundle: true,
        format: 'esm',
        target: 'es2022',
        minify: true,
        logLevel: 'warning',
      });
    },
  },
  {
    name: 'Vite',
    copiesModule: true,
    async build(program, folder) {
      await viteBuild({
        configFile: false,
        root: path.dirname(program),
        base: './',
        logLevel: 'warn',
        build: {
          chunkSizeWarningLimit: 4000,
          outDir: folder,
          emptyOutDir: false,
          rolldownOptions: { input: program, output: { entryFileNames: SCRIPT } },
          assetsInlineLimit: 0,
        },
      });
    },
  },
];

export const pageOf = () =>
  `<!doctype html><link rel="icon" href="data:,"><script type="module" src="${SCRIPT}"></script>`;

/** @param {string} folder @returns {{ bytes: number, gzip: number, brotli: number }} of all files that a page loads */
export function sizes(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(js|wasm)$/.test(file),
  );
  const texts = files.map((file) => readFileSync(path.join(folder, file)));
  const sum = (/** @type {(text: Buffer) => number} */ size) =>
    texts.reduce((all, text) => all + size(text), 0);
  return {
    bytes: sum((text) => text.length),
    gzip: sum((text) => gzipSync(text, { level: 9 }).length),
    brotli: sum((text) => brotliCompressSync(text).length),
  };
}
