// Which modules of a package an import need not evaluate, and a plugin that keeps them in a file of its own, `later.js`, until one of
// their functions is called. The modules that are evaluated refer to such a function by a stub of the same name, which requires the file.
// What a module is evaluated for: it is an entry; an evaluated module needs a constant or a class of it; its top level calls one of its
// functions; or it does something when it is evaluated, as attaching methods does, in a package that says so (`sideEffects`).
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'rolldown/utils';

/**
 * A declaration at the top level of a module. `calls`: what calling it, or making one, calls.
 * @typedef {{ kind: 'function' | 'class' | 'constant', parameters: number, calls: Set<string> }} Declaration
 * @typedef {{ file: string, name: string }} Origin a module and what it exports under a name; `*` is all
 * @typedef {{ file: string, bytes: number, sources: Set<string>, imports: Map<string, Origin>, exports: Map<string, Origin | { local: string }>, all: string[], bare: string[],
 *   declarations: Map<string, Declaration>, calls: Set<string>, names: Set<string>, effects: boolean }} Module
 */

const isFunction = (/** @type {any} */ node) =>
  /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node?.type ?? '');

/** Each child node, but for types. */
function* children(/** @type {any} */ node) {
  for (const [key, value] of Object.entries(node)) {
    if (
      /^(type|start|end|typeAnnotation|returnType|typeParameters|typeArguments|superTypeArguments|implements)$/.test(
        key,
      )
    )
      continue;
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one && typeof one.type === 'string' && !/^TS(Interface|Type)/.test(one.type)) yield one;
    }
  }
}

/** Names of a property or method; they refer to nothing. */
const isName = (/** @type {any} */ node, /** @type {any} */ child) =>
  !node.computed &&
  ((node.type === 'MemberExpression' && child === node.property) ||
    (/^(Property|PropertyDefinition|MethodDefinition)$/.test(node.type) &&
      child === node.key &&
      !node.shorthand));

/** All names that a node refers to. */
function collectNames(/** @type {any} */ node, /** @type {Set<string>} */ into) {
  if (node.type === 'Identifier') into.add(node.name);
  for (const child of children(node)) if (!isName(node, child)) collectNames(child, into);
}

/** Methods that call their argument at once. */
const CALLING = /^(every|filter|find|flatMap|forEach|from|map|reduce|some|sort|toSorted)$/;

/** Names of functions and classes that evaluating a node calls. */
function collectCalled(/** @type {any} */ node, /** @type {Set<string>} */ into) {
  const calls = /^(CallExpression|NewExpression)$/.test(node.type);
  if (calls && node.callee.type === 'Identifier') into.add(node.callee.name);
  if (node.type === 'TaggedTemplateExpression' && node.tag.type === 'Identifier')
    into.add(node.tag.name);
  const atOnce = calls && CALLING.test(node.callee.property?.name ?? '');
  if (node.type === 'ClassDeclaration' && node.superClass) collectNames(node.superClass, into);
  for (const child of children(node)) {
    const later = isFunction(child) && child !== node.callee && !atOnce;
    if (later || (node.type === 'PropertyDefinition' && !node.static)) continue;
    if (atOnce && child.type === 'Identifier' && child !== node.callee) into.add(child.name);
    collectCalled(child, into);
  }
}

/** What making an object of a class executes: the initial values of its fields, its constructor and the methods that it calls on `this`. */
function collectConstruction(/** @type {any} */ node, /** @type {Set<string>} */ into) {
  const methods = new Map(
    node.body.body
      .filter((/** @type {any} */ one) => one.type === 'MethodDefinition')
      .map((/** @type {any} */ one) => [one.key.name, one.value]),
  );
  const seen = new Set();
  const follow = (/** @type {string} */ name) => {
    const method = methods.get(name);
    if (!method?.body || seen.has(name)) return;
    seen.add(name);
    collectCalled(method.body, into);
    const calls = (/** @type {any} */ inner) => {
      if (inner.type === 'MemberExpression' && inner.object.type === 'ThisExpression')
        follow(inner.property.name);
      for (const child of children(inner)) calls(child);
    };
    calls(method.body);
  };
  follow('constructor');
  for (const one of node.body.body)
    if (one.type === 'PropertyDefinition' && one.value) collectCalled(one.value, into);
}

/** @param {any} node @returns {[string, Declaration][]} */
function declared(node) {
  const made = (/** @type {any} */ what, /** @type {Declaration['kind']} */ kind) => {
    const calls = new Set();
    if (kind === 'function') {
      for (const one of [what.body, ...what.params]) if (one) collectCalled(one, calls);
    } else if (kind === 'class') collectConstruction(what, calls);
    const first =
      what.params?.findIndex((/** @type {any} */ one) => one.type !== 'Identifier') ?? 0;
    const parameters = kind !== 'function' ? 0 : first < 0 ? what.params.length : first;
    return /** @type {Declaration} */ ({ kind, parameters, calls });
  };
  if (node?.type === 'FunctionDeclaration') return [[node.id.name, made(node, 'function')]];
  if (node?.type === 'ClassDeclaration') return [[node.id.name, made(node, 'class')]];
  if (node?.type === 'TSEnumDeclaration') return [[node.id.name, made(node, 'constant')]];
  if (node?.type !== 'VariableDeclaration') return [];
  return node.declarations
    .filter((/** @type {any} */ one) => one.id.type === 'Identifier')
    .map((/** @type {any} */ one) => [
      one.id.name,
      isFunction(one.init) && node.kind === 'const'
        ? made(one.init, 'function')
        : made(one, 'constant'),
    ]);
}

/** The source that an import of a checked-out package names. */
function resolved(
  /** @type {string} */ from,
  /** @type {string} */ source,
  /** @type {ReadonlyMap<string, string>} */ entries,
) {
  if (!source.startsWith('.')) return entries.get(source);
  const file = path.resolve(path.dirname(from), source).replace(/\.js$/, '.ts');
  return existsSync(file) ? file : undefined;
}

/** @param {string} file @param {ReadonlyMap<string, string>} entries @returns {Module} */
function read(file, entries) {
  const text = readFileSync(file, 'utf8');
  /** @type {any} */
  const program = parseSync(file, text).program;
  /** @type {Module} */
  const module = {
    file,
    bytes: text.length,
    sources: new Set(),
    imports: new Map(),
    exports: new Map(),
    all: [],
    bare: [],
    declarations: new Map(),
    calls: new Set(),
    names: new Set(),
    effects: false,
  };
  for (const /** @type {any} */ node of program.body) {
    if ((node.importKind ?? node.exportKind) === 'type') continue;
    const source = node.source && resolved(file, node.source.value, entries);
    if (node.source && !source) continue; // of another project, or of Node
    if (source) module.sources.add(source);
    if (node.type === 'ImportDeclaration') {
      if (node.specifiers.length === 0) module.bare.push(source);
      for (const one of node.specifiers) {
        if (one.importKind === 'type') continue;
        const name =
          one.imported?.name ?? (one.type === 'ImportNamespaceSpecifier' ? '*' : 'default');
        module.imports.set(one.local.name, { file: source, name });
      }
    } else if (node.type === 'ExportAllDeclaration') {
      if (node.exported) module.exports.set(node.exported.name, { file: source, name: '*' });
      else module.all.push(source);
    } else {
      for (const one of node.type === 'ExportNamedDeclaration' ? node.specifiers : []) {
        if (one.exportKind === 'type') continue;
        const from = source ? { file: source, name: one.local.name } : { local: one.local.name };
        module.exports.set(one.exported.name, from);
      }
      const inner = node.type === 'ExportNamedDeclaration' ? node.declaration : node;
      for (const [name, declaration] of declared(inner)) {
        module.declarations.set(name, declaration);
        if (inner !== node) module.exports.set(name, { local: name });
      }
      if (!node.source && inner && !isFunction(inner)) collectCalled(inner, module.calls);
      if (inner) collectNames(inner, module.names);
      if (/^(Expression|If|For|ForIn|ForOf|While|Block|Try)Statement$/.test(node.type))
        module.effects = true;
    }
  }
  return module;
}

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

const sourceOf = (/** @type {string} */ built) =>
  built.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts');

/** @typedef {import('../lib/workspace.mjs').WorkspacePackage} Package */

/** Of a package with fewer bytes behind stubs than this, all is evaluated: finding another file takes longer than reading them. */
const LEAST_LATER = 32_768;

/**
 * `evaluated`: sources that an import evaluates. `stubs`: functions of other sources that those refer to, with the number of their
 * parameters.
 * @typedef {{ evaluated: Set<string>, stubs: Map<string, Map<string, number>> }} Split
 */

/** @param {readonly Package[]} packages that import each other @returns {Split} */
export function splitModules(packages) {
  const entries = entriesOf(packages);
  /** @type {Map<string, Module>} */
  const modules = new Map();
  const moduleOf = (/** @type {string} */ file) => {
    const module = modules.get(file) ?? read(file, entries);
    modules.set(file, module);
    return module;
  };
  const evaluated = new Set();
  const executed = new Set();
  /** @type {Split['stubs']} */
  const stubs = new Map();

  /** The modules on the way only pass names on; they are evaluated. @returns {Origin | undefined} */
  function originOf(/** @type {string} */ file, /** @type {string} */ name) {
    const { exports, imports, all } = moduleOf(file);
    if (name === '*') return { file, name };
    const found = exports.get(name);
    if (found && 'file' in found) return passed(file, found);
    if (found) {
      const imported = imports.get(found.local);
      return imported ? passed(file, imported) : { file, name: found.local };
    }
    for (const one of all) {
      const origin = originOf(one, name);
      if (origin) return passed(file, origin);
    }
    return undefined;
  }
  function passed(/** @type {string} */ by, /** @type {Origin} */ { file, name }) {
    evaluate(by);
    return originOf(file, name) ?? { file, name };
  }

  /** @returns {string[]} */
  function namesOf(/** @type {string} */ file) {
    const { exports, all } = moduleOf(file);
    return [...exports.keys(), ...all.flatMap(namesOf)];
  }

  /** An evaluated module refers to what `origin` is, or executes it. */
  function touch(/** @type {Origin | undefined} */ origin, /** @type {boolean} */ executes) {
    if (!origin) return;
    const { file, name } = origin;
    if (name === '*') {
      evaluate(file);
      for (const one of namesOf(file)) touch(originOf(file, one), executes);
      return;
    }
    const declaration = moduleOf(file).declarations.get(name);
    if (declaration?.kind === 'function' && !executes) {
      const named = stubs.get(file) ?? new Map();
      stubs.set(file, named.set(name, declaration.parameters));
      return;
    }
    evaluate(file);
    if (executes && declaration && !executed.has(declaration)) {
      executed.add(declaration);
      for (const one of declaration.calls) refer(file, one, true);
    }
  }

  function refer(
    /** @type {string} */ file,
    /** @type {string} */ name,
    /** @type {boolean} */ executes,
  ) {
    const { imports, declarations } = moduleOf(file);
    const imported = imports.get(name);
    if (imported) touch(originOf(imported.file, imported.name), executes);
    else if (executes && declarations.has(name)) touch({ file, name }, true);
  }

  function evaluate(/** @type {string} */ file) {
    if (evaluated.has(file)) return;
    evaluated.add(file);
    const module = moduleOf(file);
    for (const one of module.bare) evaluate(one);
    for (const name of module.names) refer(file, name, false);
    for (const name of module.calls) refer(file, name, true);
    for (const name of module.exports.keys()) {
      const origin = originOf(file, name);
      if (origin && origin.file !== file) touch(origin, false);
    }
    for (const one of module.all)
      for (const name of namesOf(one)) touch(originOf(one, name), false);
  }

  /** What is evaluated for its effects. */
  function evaluateEffects(/** @type {string} */ entry) {
    const seen = new Set([entry]);
    for (const file of seen) {
      const { sources, effects } = moduleOf(file);
      const owner = packages.find(({ directory }) => file.startsWith(directory + path.sep));
      if (effects && owner?.manifest.sideEffects !== false) evaluate(file);
      for (const one of sources) seen.add(one);
    }
  }

  for (const entry of entries.values()) {
    evaluate(entry);
    evaluateEffects(entry);
  }
  for (const { directory } of packages) {
    const rest = [...modules.values()].filter(
      ({ file }) => file.startsWith(directory + path.sep) && !evaluated.has(file),
    );
    if (rest.reduce((sum, { bytes }) => sum + bytes, 0) > LEAST_LATER) continue;
    for (const { file } of rest) evaluated.add(file);
  }
  for (const file of evaluated) stubs.delete(file);
  return { evaluated, stubs };
}

/** The command is apart: it loads what it runs, and nobody imports it. */
export function splitWorkspace(/** @type {readonly Package[]} */ packages) {
  return splitModules(packages.filter(({ name }) => name !== '@mercer/cli'));
}

const STUBS = '\0stubs:';
const LOADER = '\0later';
/** The entry that holds the functions behind stubs. */
export const LATER = '\0later-functions';

/**
 * For the modules of one package.
 * @param {Split} split @param {string} source folder of the package
 * @returns {{ plugin: import('rolldown').Plugin, isEarly: (id: string) => boolean } | undefined} nothing where all is evaluated
 */
export function laterPlugin({ evaluated, stubs }, source) {
  const inside = (/** @type {string} */ file) => file.startsWith(source + path.sep);
  const own = [...stubs].filter(([file]) => inside(file));
  // Functions of one name in two modules.
  const names = new Map();
  const publicName = (/** @type {string} */ file, /** @type {string} */ name) => {
    const same = names.get(name) ?? [];
    names.set(name, same.includes(file) ? same : [...same, file]);
    const at = names.get(name).indexOf(file);
    return at === 0 ? name : `${name}_${at + 1}`;
  };
  const functions = own.flatMap(([file, named]) =>
    [...named].map(([name, parameters]) => ({
      file,
      name,
      parameters,
      known: publicName(file, name),
    })),
  );
  const stub = (/** @type {typeof functions[number]} */ { name, parameters, known }) => {
    const list = [...Array.from({ length: parameters }, (_, i) => `a${i}`), '...rest'].join(', ');
    return `export function ${name}(${list}) {\n  return later().${known}(${list});\n}`;
  };
  if (functions.length === 0) return undefined;
  return {
    isEarly: (id) => evaluated.has(id) || id === LOADER || id.startsWith(STUBS),
    plugin: {
      name: 'later',
      resolveId(id, importer) {
        if (id === LATER || id === LOADER) return id;
        if (!id.startsWith('.') || !importer || !evaluated.has(importer)) return null;
        const file = resolved(importer, id, new Map());
        return file && stubs.has(file) ? STUBS + file : null;
      },
      load(id) {
        if (id === LOADER) {
          return (
            "import { createRequire } from 'node:module';\nlet functions;\n" +
            '/** What few programs call is loaded when it is called. */\n' +
            "export const later = () => (functions ??= createRequire(import.meta.url)('./later.js'));\n"
          );
        }
        if (id === LATER) {
          return functions
            .map(({ file, name, known }) => `export { ${name} as ${known} } from '${file}';`)
            .join('\n');
        }
        if (!id.startsWith(STUBS)) return null;
        const file = id.slice(STUBS.length);
        const texts = functions.filter((one) => one.file === file).map(stub);
        return { code: `import { later } from '${LOADER}';\n${texts.join('\n')}\n`, map: null };
      },
    },
  };
}
