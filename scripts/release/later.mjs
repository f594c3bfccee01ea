// Which statements of a package's modules an import need not evaluate, and a plugin that keeps them in a file of its own, `later.js`, until one of
// their functions is called. What is evaluated refers to such a function by a stub of the same name, which requires the file.
// What a statement is evaluated for: it declares a constant or a class that is public, or to which an evaluated statement refers; it declares a
// function that an evaluated one calls; or it does something, as attaching methods does, in a package that says so (`sideEffects`) or in a module
// of which another statement is evaluated.
// What is evaluated imports other packages only where it must (`importsOf`): finding an import takes an eighth of a millisecond, however often the
// package was imported before.
import { createRequire } from 'node:module';
import path from 'node:path';
import { importsOf } from './imports.mjs';
import { readModule, resolveSource } from './read-module.mjs';

/**
 * @typedef {import('../lib/workspace.mjs').WorkspacePackage} Package
 * @typedef {import('./read-module.mjs').Module} Module
 * @typedef {import('./read-module.mjs').Statement} Statement
 * @typedef {{ file: string, name: string }} Origin a module, and what it declares under a name; `*` is all that it exports
 */

const sourceOf = (/** @type {string} */ built) =>
  built.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts');

/** Sources of the entries of packages, by what imports them. */
function entriesOf(/** @type {readonly Package[]} */ packages) {
  return new Map(
    packages.flatMap(({ name, directory, manifest }) =>
      Object.entries(manifest.exports).flatMap(([entry, target]) =>
        target.default
          ? [[name + entry.slice(1), path.join(directory, sourceOf(target.default))]]
          : [],
      ),
    ),
  );
}

const requireNode = createRequire(import.meta.url);

/** @type {ReadonlySet<string | symbol>} */
const OF_FUNCTIONS = new Set(['length', 'name', 'prototype']);

/** Whether a name of a module of Node is a function, and no class or object with members. @param {string} source @param {string} name */
function isNodeFunction(source, name) {
  if (!/^[a-z]/.test(name)) return false;
  const value = requireNode(source)[name];
  return (
    typeof value === 'function' && Reflect.ownKeys(value).every((key) => OF_FUNCTIONS.has(key))
  );
}

/** Of a package with fewer bytes for later than this, all is evaluated: finding another file takes longer than reading them. */
const LEAST_LATER = 32_768;

/**
 * `entries`: sources of entries by what imports them. `early`: statements that an import evaluates. `stubbed`: functions of other statements to which those
 * refer. `folders`: of all packages; `pure`: of those whose modules do nothing when they are evaluated. `called`: names that an import calls of what a module
 * imports, after its file.
 * @typedef {{ entries: ReadonlyMap<string, string>, modules: ReadonlyMap<string, Module>, early: ReadonlySet<Statement>, stubbed: ReadonlySet<Statement>,
 *   folders: readonly string[], pure: readonly string[], called: ReadonlySet<string>, originOf: (file: string, name: string) => Origin | undefined }} Split
 */

/** @param {readonly Package[]} packages that import each other @returns {Split} */
export function splitModules(packages) {
  const entries = entriesOf(packages);
  /** @type {Map<string, Module>} */
  const modules = new Map();
  const moduleOf = (/** @type {string} */ file) => {
    const module = modules.get(file) ?? readModule(file, entries);
    modules.set(file, module);
    return module;
  };
  /** @type {Set<Statement>} */
  const early = new Set();
  /** @type {Set<Statement>} */
  const stubbed = new Set();
  /** @type {Set<Statement>} */
  const executed = new Set();
  /** @type {Set<string>} */
  const called = new Set();

  /** @param {string} file @param {string} name @returns {Origin | undefined} */
  function originOf(file, name) {
    const { exports, all } = moduleOf(file);
    if (name === '*') return { file, name };
    const found = exports.get(name);
    if (found) {
      if ('local' in found) return { file, name: found.local };
      return found.file === undefined ? undefined : originOf(found.file, found.name);
    }
    for (const one of all) {
      const origin = one.file && originOf(one.file, name);
      if (origin) return origin;
    }
    return undefined;
  }

  /** @param {string} file @returns {string[]} */
  function namesOf(file) {
    const { exports, all } = moduleOf(file);
    return [...exports.keys(), ...all.flatMap((one) => (one.file ? namesOf(one.file) : []))];
  }

  /** What is evaluated refers to what `origin` is, or executes it. @param {Origin | undefined} origin @param {boolean} executes */
  function touch(origin, executes) {
    if (!origin) return;
    const { file, name } = origin;
    if (name === '*') {
      for (const one of namesOf(file)) touch(originOf(file, one), executes);
      return;
    }
    const statement = moduleOf(file).declared.get(name);
    if (!statement) return;
    if (statement.kind === 'function' && !executes) {
      stubbed.add(statement);
      return;
    }
    evaluate(file, statement);
    if (!executes || executed.has(statement)) return;
    executed.add(statement);
    for (const one of statement.calls) refer(file, one, true);
  }

  /** @param {string} file @param {string} name @param {boolean} executes */
  function refer(file, name, executes) {
    const imported = moduleOf(file).imports.get(name);
    if (imported && executes) called.add(`${file} ${name}`);
    if (!imported) touch({ file, name }, executes);
    else if (imported.file) touch(originOf(imported.file, imported.name), executes);
  }

  /** @param {string} file @param {Statement} statement */
  function evaluate(file, statement) {
    if (early.has(statement)) return;
    early.add(statement);
    const { bare, statements } = moduleOf(file);
    for (const name of statement.refers) refer(file, name, false);
    for (const name of statement.evaluates) refer(file, name, true);
    // A variable stands beside all that gives it a value: others could only read it.
    for (const one of statements) {
      const gives = statement.names.some((name) => one.assigns.has(name));
      if (one.kind === 'effect' || (gives && statement.kind === 'constant')) evaluate(file, one);
    }
    for (const one of bare) if (one.file) evaluateEffects(one.file);
  }

  function evaluateEffects(/** @type {string} */ file) {
    for (const one of moduleOf(file).statements) if (one.kind === 'effect') evaluate(file, one);
  }

  const pure = packages
    .filter(({ manifest }) => manifest.sideEffects === false)
    .map(({ directory }) => directory + path.sep);
  for (const entry of entries.values()) {
    for (const name of namesOf(entry)) touch(originOf(entry, name), false);
    const seen = new Set([entry]);
    for (const file of seen) {
      if (!pure.some((folder) => file.startsWith(folder))) evaluateEffects(file);
      for (const one of moduleOf(file).sources) if (one.file) seen.add(one.file);
    }
  }
  for (const { directory } of packages) {
    const rest = [...modules.values()]
      .filter(({ file }) => file.startsWith(directory + path.sep))
      .flatMap(({ file, statements }) =>
        statements.filter((one) => !early.has(one)).map((one) => ({ file, one })),
      );
    if (rest.reduce((sum, { one }) => sum + one.end - one.start, 0) > LEAST_LATER) continue;
    for (const { file, one } of rest) evaluate(file, one);
  }
  for (const one of early) stubbed.delete(one);
  const folders = packages.map(({ directory }) => directory + path.sep);
  return { entries, modules, early, stubbed, folders, pure, called, originOf };
}

/** The command is apart: it loads what it runs, and nobody imports it. */
export function splitWorkspace(/** @type {readonly Package[]} */ packages) {
  return splitModules(packages.filter(({ name }) => name !== '@mercer/cli'));
}

const LOADER = '\0later';
/** The entry that holds the functions behind stubs. */
export const LATER = '\0later-functions';
const LOADER_TEXT = `let functions;
/** What few programs call is loaded when it is called; so is the module of Node that loads it. */
export const later = () => (functions ??= process.getBuiltinModule('node:module').createRequire(import.meta.url)('./later.js'));
`;

/**
 * A module is several to the bundler, named by what follows `?` after its file. `early` and `later` have its statements, `stubs` the stubs of functions that are
 * later. Without `?` it has no statement of its own: it exports what an import evaluates, and stubs; `all` exports everything, to what is later. `builtin` has
 * what is evaluated of a module of Node: an import statement would load what stands behind each of the module's names.
 * @typedef {'' | 'early' | 'later' | 'stubs' | 'all' | 'builtin'} Part
 * @param {string} id @returns {{ file: string, part: Part }}
 */
function partOf(id) {
  const [file = '', part = ''] = id.split('?');
  return { file, part: /** @type {Part} */ (part) };
}

/** The file of the sources of which a module is a part. @param {string} id */
export const sourceFileOf = (id) => partOf(id).file;

/**
 * For the modules of one package.
 * @param {Split} split @param {string} source folder of the package
 * @returns {{ plugin: import('rolldown').Plugin, isEarly: (id: string) => boolean, withoutEffects: readonly string[] } | undefined} nothing where all is
 *   evaluated; `withoutEffects`: what is imported for its names alone
 */
export function laterPlugin(split, source) {
  const { modules, early, stubbed, pure, originOf } = split;
  const { placeOf, stubs: otherFunctions, withoutEffects } = importsOf(split, source);
  const own = [...modules.values()].filter(({ file }) => file.startsWith(source + path.sep));
  // Functions of one name in two modules.
  const names = new Map();
  const publicName = (/** @type {string} */ file, /** @type {string} */ name) => {
    const same = names.get(name) ?? [];
    names.set(name, same.includes(file) ? same : [...same, file]);
    const at = names.get(name).indexOf(file);
    return at === 0 ? name : `${name}_${at + 1}`;
  };
  /** @type {{ file: string, name: string, one: Pick<Statement, 'parameters' | 'usesThis'>, known: string }[]} */
  const functions = own.flatMap(({ file, statements }) =>
    statements.flatMap((one) =>
      one.names.flatMap((name) =>
        stubbed.has(one) ? { file, name, one, known: publicName(file, name) } : [],
      ),
    ),
  );
  if (functions.length === 0) return undefined;
  const ofNode = own.flatMap(({ imports, statements }) =>
    [...imports]
      .filter(([name]) => statements.some((one) => early.has(one) && one.refers.has(name)))
      .map(([, passed]) => passed)
      .filter(
        ({ source: from, name }) =>
          from.startsWith('node:') && /^\w+$/.test(name) && name !== 'default',
      ),
  );
  for (const { source: file, name, statement: one } of otherFunctions)
    functions.push({ file, name, one, known: publicName(file, name) });

  /** Once the function is there, callers that know it by this name call it without the stub. */
  const stub = (/** @type {typeof functions[number]} */ { name, one, known }) => {
    const list = [...Array.from({ length: one.parameters }, (_, i) => `a${i}`), '...rest'];
    const call = one.usesThis ? `.call(this, ${list.join(', ')})` : `(${list.join(', ')})`;
    return `export function ${name}(${list.join(', ')}) {\n  return (${name} = later().${known})${call};\n}`;
  };

  const isEarlyOrStub = (/** @type {Statement | undefined} */ one) =>
    one !== undefined && (early.has(one) || stubbed.has(one));

  /** Whether the part without `?` of a module exports a name. @param {string} file @param {string} name */
  function isThere(file, name) {
    const origin = originOf(file, name);
    if (!origin || origin.name === '*') return true;
    return isEarlyOrStub(modules.get(origin.file)?.declared.get(origin.name));
  }

  /** @param {import('./read-module.mjs').Passed} passed @param {string} as */
  const imported = ({ source, name }, as) =>
    name === '*'
      ? `import * as ${as} from '${source}';`
      : `import { ${name} as ${as} } from '${source}';`;

  /** @param {Module} module @param {'' | 'all'} part */
  function exportsOf(module, part) {
    const { file, exports, all, sources, declared } = module;
    const lines = sources.map(({ source }) => `import '${source}';`);
    if (part === '') lines.push(`import '${file}?early';`);
    for (const [as, from] of exports) {
      if ('source' in from) {
        const { source, name } = from;
        if (name === '*') lines.push(`export * as ${as} from '${source}';`);
        else if (part === 'all' || from.file === undefined || isThere(from.file, name))
          lines.push(`export { ${name} as ${as} } from '${source}';`);
        continue;
      }
      const one = declared.get(from.local);
      if (!one || (part === '' && !isEarlyOrStub(one))) continue;
      const place = early.has(one) ? 'early' : part === '' ? 'stubs' : 'later';
      lines.push(`export { ${from.local} as ${as} } from '${file}?${place}';`);
    }
    for (const one of all) lines.push(`export * from '${one.source}';`);
    return lines.join('\n');
  }

  /** Where an early statement imports a name from. @param {import('./read-module.mjs').Passed} from */
  function earlyPlaceOf(from) {
    const { source } = from;
    return ofNode.includes(from) ? { ...from, source: `${source}?builtin` } : placeOf(from);
  }

  /** The statements of a part, each on its lines. @param {Module} module @param {'early' | 'later'} part */
  function statementsOf(module, part) {
    const { file, text, imports, statements, declared, bare } = module;
    const kept = statements.filter((one) => early.has(one) === (part === 'early'));
    let code = '';
    let end = 0;
    const blank = (/** @type {number} */ start) => text.slice(end, start).replaceAll(/[^\n]/g, ' ');
    for (const one of kept) {
      code += `${blank(one.start)}${text.slice(one.start, one.end)};`;
      end = one.end;
    }
    const lines = bare.map(({ source }) => `import '${source}';`);
    for (const name of new Set(kept.flatMap(({ refers }) => [...refers]))) {
      const from = imports.get(name);
      const one = declared.get(name);
      if (from) {
        lines.push(imported(part === 'early' ? earlyPlaceOf(from) : from, name));
      } else if (one && !kept.includes(one)) {
        const place = part === 'later' ? 'early' : 'stubs';
        lines.push(`import { ${name} } from '${file}?${place}';`);
      }
    }
    lines.push(`export { ${kept.flatMap((one) => one.names).join(', ')} };`);
    return `${code}\n${lines.join('\n')}`;
  }

  const stubsOf = (/** @type {string} */ file) =>
    `import { later } from '${LOADER}';\n${functions
      .filter((one) => one.file === file)
      .map(stub)
      .join('\n')}\n`;

  /** Functions of a module of Node, which is loaded at their first call, and what else an import needs of it. @param {string} module */
  const builtinsOf = (module) =>
    [...new Set(ofNode.flatMap(({ source, name }) => (source === module ? [name] : [])))]
      .map((name) => {
        const value = `process.getBuiltinModule('${module}').${name}`;
        return isNodeFunction(module, name)
          ? `export function ${name}(...all) {\n  return (${name} = ${value})(...all);\n}`
          : `export const ${name} = ${value};`;
      })
      .join('\n');

  const isPart = (/** @type {string} */ id) => /\?(early|later|stubs|all|builtin)$/.test(id);
  return {
    withoutEffects,
    isEarly: (id) =>
      id === LOADER ||
      /\?(stubs|builtin)$/.test(id) ||
      (modules.has(sourceFileOf(id)) && /^(early|)$/.test(partOf(id).part)),
    plugin: {
      name: 'later',
      resolveId(id, importer) {
        if (id === LATER || id === LOADER) return id;
        if (isPart(id)) {
          const moduleSideEffects = !pure.some((folder) => id.startsWith(folder));
          return { id, moduleSideEffects };
        }
        if (!id.startsWith('.') || !importer) return null;
        const from = partOf(importer);
        const file = resolveSource(from.file, id, new Map());
        if (file === undefined || !modules.has(file)) return null;
        const isLater = !modules.has(from.file) || /^(later|all)$/.test(from.part);
        return isLater ? `${file}?all` : null;
      },
      load(id) {
        if (id === LOADER) return LOADER_TEXT;
        if (id === LATER) {
          return functions
            .map(({ file, name, known }) => {
              const from = modules.has(file) ? `${file}?later` : file;
              return `export { ${name} as ${known} } from '${from}';`;
            })
            .join('\n');
        }
        const { file, part } = partOf(id);
        if (part === 'stubs') return { code: stubsOf(file), moduleType: 'js', map: null };
        if (part === 'builtin') return { code: builtinsOf(file), moduleType: 'js', map: null };
        const module = modules.get(file);
        if (!module || !file.startsWith(source + path.sep)) return null;
        if (part === 'early' || part === 'later')
          return { code: statementsOf(module, part), moduleType: 'ts', map: null };
        return { code: exportsOf(module, part), moduleType: 'js', map: null };
      },
    },
  };
}
