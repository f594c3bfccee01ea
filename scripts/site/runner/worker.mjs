// The module worker that runs a program of the site: it takes the text once, and tells what the program prints, draws and throws. Who wants to
// run another, or to stop this one, ends the worker.
import { parse } from 'es-module-lexer/js';
import { formatWithOptions } from 'node-inspect-extracted';
import { transform } from 'sucrase';
import { dataOf } from './data.mjs';
import { tableText } from './table.mjs';

/** What a program may import, and the module that stands for it. */
const MODULES = /** @type {Record<string, string>} */ ({
  '@mercer/core': 'core',
  '@mercer/core/npy': 'npy',
  '@mercer/core/safetensors': 'safetensors',
  '@mercer/cli/plot': 'plot',
  '@observablehq/plot': 'observable-plot',
  'node:assert': 'assert',
  'node:assert/strict': 'assert',
  'node:fs': 'fs',
  'node:module': 'module',
  './lib/digits.mjs': 'digits',
  './lib/iris.mjs': 'iris',
  './lib/whole.mjs': 'whole',
});

/** @typedef {{ kind: 'line', level: 'log' | 'warn' | 'error', text: string }
 *   | { kind: 'picture', name: string, svg: string } | { kind: 'done', ms: number } | { kind: 'failed', text: string }} Message */

/** The part of a worker's scope that is used. */
const scope = /** @type {any} */ (globalThis);
const tell = (/** @type {Message} */ message) => scope.postMessage(message);

for (const [name, level] of /** @type {const} */ ([
  ['log', 'log'],
  ['info', 'log'],
  ['debug', 'log'],
  ['warn', 'warn'],
  ['error', 'error'],
]))
  console[name] = (/** @type {unknown[]} */ ...values) =>
    tell({ kind: 'line', level, text: formatWithOptions({ colors: false }, ...values) });

console.table = (/** @type {unknown} */ data) =>
  tell({ kind: 'line', level: 'log', text: tableText(data) });

/** JavaScript of a program; of one in JavaScript that is too new for sucrase, the program itself. @param {string} code */
function withoutTypes(code) {
  try {
    return transform(code, { transforms: ['typescript'], disableESTransforms: true }).code;
  } catch {
    return code;
  }
}

/** The program with the addresses of the modules that it imports. @param {string} code */
function linked(code) {
  const [imports] = parse(code);
  let text = code;
  for (const one of [...imports].reverse()) {
    if (one.type === 'import-meta') {
      text = `${text.slice(0, one.start)}({ url: 'file:///program.mjs' })${text.slice(one.end)}`;
      continue;
    }
    if (one.type !== 'static') continue;
    const name = MODULES[one.specifier];
    if (name === undefined)
      throw new Error(
        `The page has no '${one.specifier}'. A program here may import ${Object.keys(MODULES).slice(0, 5).join(', ')}.`,
      );
    text =
      text.slice(0, one.start) + new URL(`./${name}.js`, import.meta.url) + text.slice(one.end);
  }
  return text;
}

/** @param {any} error @param {string} address of the program */
function describe(error, address) {
  if (!(error instanceof Error)) return `The program threw ${String(error)}.`;
  const line = error.stack?.split(address)[1]?.match(/^:(\d+)/)?.[1];
  const code = 'code' in error ? ` [${String(error.code)}]` : '';
  return `${error.name}${code}: ${error.message}${line === undefined ? '' : `\n(line ${line} of the program)`}`;
}

/** @param {string} program */
async function run(program) {
  let address = '';
  scope.onunhandledrejection = (/** @type {{ reason: unknown }} */ event) =>
    tell({ kind: 'failed', text: describe(event.reason, address) });
  try {
    await dataOf(program);
    const code = linked(withoutTypes(program));
    address = URL.createObjectURL(new Blob([code], { type: 'text/javascript' }));
    const start = performance.now();
    await import(/* @vite-ignore */ address);
    tell({ kind: 'done', ms: performance.now() - start });
  } catch (error) {
    tell({ kind: 'failed', text: describe(error, address) });
  }
}

scope.onmessage = (/** @type {{ data: string }} */ { data }) => void run(data);
