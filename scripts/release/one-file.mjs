// A package that Node divides in two (later.mjs) is three files to the bundler: the entry, which passes names on, what an import evaluates, and what is
// for later. The former two become one, since finding a file takes longer than reading it. What is for later cannot import from the entry names that
// are not public, so it becomes a function that is given them. Where there are several entries, one of which has all names of the others, that one is
// what is evaluated, and the others pass on names of it.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'rolldown/utils';
import { collectAssigned } from './read-module.mjs';

const CALL = /\.createRequire\(import\.meta\.url\)\("\.\/later\.js"\)/;

/** @param {string} text @returns {any[]} */
const statementsOf = (text) => /** @type {any} */ (parseSync('bundle.js', text).program).body;

/** @param {any} node an import or export @returns {[string, string][]} local names, and those of the other side */
const namesOf = (node) =>
  node.specifiers.map((/** @type {any} */ one) => [
    one.local.name,
    (one.imported ?? one.exported)?.name,
  ]);

/** @param {string} text @param {readonly any[]} nodes @returns {string} without them, in as many lines */
function without(text, nodes) {
  let rest = '';
  let end = 0;
  for (const node of nodes) {
    rest +=
      text.slice(end, node.start) +
      '\n'.repeat(text.slice(node.start, node.end).split('\n').length - 1);
    end = node.end;
  }
  return rest + text.slice(end);
}

/** @param {string} dist @param {readonly import('rolldown').OutputChunk[]} chunks @param {string} name of the file that takes the place of an entry @param {string} entry */
function takePlace(dist, chunks, name, entry) {
  const at = (/** @type {string} */ file) => path.join(dist, file);
  const text = readFileSync(at(name), 'utf8');
  writeFileSync(at(entry), text.replace(`${name}.map`, `${entry}.map`));
  rmSync(at(name));
  if (chunks.some((one) => one.fileName === name && one.map))
    renameSync(at(`${name}.map`), at(`${entry}.map`));
}

/**
 * Of a package in which an entry only passes on what it shares with others, all of it: what is shared is the entry, which the others import.
 * @param {string} dist @param {readonly (import('rolldown').OutputChunk | import('rolldown').OutputAsset)[]} output
 */
export function uniteShared(dist, output) {
  const chunks = output.filter((one) => one.type === 'chunk');
  const sharedOf = (/** @type {import('rolldown').OutputChunk} */ { isEntry, imports, exports }) =>
    isEntry && imports.length === 1
      ? chunks.find(
          (one) =>
            one.fileName === imports[0] &&
            [...one.exports].sort().join() === [...exports].sort().join(),
        )
      : undefined;
  const facade = chunks.find(sharedOf);
  const shared = facade && sharedOf(facade);
  if (!shared) return;
  const entry = facade.fileName;
  const passed = statementsOf(readFileSync(path.join(dist, entry), 'utf8'));
  if (passed.some((node) => !/^(Im|Ex)port/.test(node.type) || node.declaration)) return;
  takePlace(dist, chunks, shared.fileName, entry);
  for (const { fileName, imports } of chunks) {
    if (fileName === entry || !imports.includes(shared.fileName)) continue;
    const file = path.join(dist, fileName);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replaceAll(`/${shared.fileName}"`, `/${entry}"`));
  }
}

/**
 * @param {string} dist @param {readonly (import('rolldown').OutputChunk | import('rolldown').OutputAsset)[]} output
 * @returns {boolean} whether it was done: not where several entries share what is evaluated and none has all names, or where what is for later reads a
 *   variable whose value changes
 */
export function uniteEntry(dist, output) {
  const chunks = output.filter((one) => one.type === 'chunk');
  const early = chunks.find((one) => one.name === 'early');
  if (!early) return false;
  const name = early.fileName;
  const importing = chunks.filter((one) => one.imports.includes(name)).map((one) => one.fileName);
  const entries = importing.filter((one) => one !== 'later.js');
  if (entries.length === importing.length) return false;
  const read = (/** @type {string} */ file) => readFileSync(path.join(dist, file), 'utf8');
  const isFrom = (/** @type {any} */ node) => node.source?.value === `./${name}`;
  /** The names that an entry passes on. @param {string} file */
  const namesFrom = (file) => statementsOf(read(file)).filter(isFrom).flatMap(namesOf);
  const entry = entries.find((one) => {
    const all = new Map(namesFrom(one));
    return entries.every((other) => namesFrom(other).every(([local]) => all.has(local)));
  });
  const isPassing = (/** @type {string} */ file) =>
    statementsOf(read(file)).every((node) => !isFrom(node) || node.type.startsWith('Export'));
  if (entry === undefined || !entries.every(isPassing)) return false;
  const [evaluated, facade, later] = [read(name), read(entry), read('later.js')];

  const body = statementsOf(evaluated);
  const own = body.find((node) => node.type === 'ExportNamedDeclaration' && !node.source);
  const locals = new Map(namesOf(own).map(([local, exported]) => [exported, local]));
  const passed = statementsOf(facade);
  const publicNames = passed.filter(isFrom).flatMap(namesOf);
  const parts = statementsOf(later);
  const given = parts.filter(isFrom).flatMap(namesOf);

  /** @type {Set<string>} */
  const assigned = new Set();
  for (const node of body) collectAssigned(node, assigned);
  if (given.some(([, other]) => assigned.has(String(locals.get(other))))) return false;

  const imports = parts.filter((node) => node.type === 'ImportDeclaration' && !isFrom(node));
  const exports = parts.filter((node) => node.type === 'ExportNamedDeclaration');
  const head = [
    ...imports.map((node) => later.slice(node.start, node.end)),
    `export function link({ ${given.map(([local, other]) => `${locals.get(other)}: ${local}`).join(', ')} }) {`,
  ].join(' ');
  const functions = exports.flatMap(namesOf).map(([local, known]) => `${known}: ${local}`);
  const [inner = '', map = ''] = without(
    later,
    [...imports, ...parts.filter(isFrom), ...exports].sort((a, b) => a.start - b.start),
  ).split(/^(?=\/\/# source)/m);
  const linked = `${head} ${inner.trimEnd()}\nreturn { ${functions.join(', ')} };\n}\n${map}`;

  const handed = [...new Set(given.map(([, other]) => locals.get(other)))].join(', ');
  const united = evaluated
    .replace(evaluated.slice(own.start, own.end), () =>
      [
        `export { ${publicNames.map(([local, other]) => `${locals.get(local)} as ${other}`).join(', ')} };`,
        ...passed.filter((node) => !isFrom(node)).map((node) => facade.slice(node.start, node.end)),
      ].join('\n'),
    )
    .replace(CALL, (call) => `${call}.link({ ${handed} })`);
  const publicOf = new Map(publicNames);
  for (const other of entries.filter((one) => one !== entry)) {
    const text = read(other);
    let rest = text;
    for (const node of statementsOf(text).filter(isFrom).reverse()) {
      const names = namesOf(node).map(([local, known]) => `${publicOf.get(local)} as ${known}`);
      const lines = text.slice(node.start, node.end).split('\n').length;
      const exported = `export { ${names.join(', ')} } from "./${entry}";${'\n'.repeat(lines - 1)}`;
      rest = rest.slice(0, node.start) + exported + rest.slice(node.end);
    }
    writeFileSync(path.join(dist, other), rest);
  }
  writeFileSync(path.join(dist, 'later.js'), linked);
  writeFileSync(path.join(dist, name), united);
  takePlace(dist, chunks, name, entry);
  return true;
}
