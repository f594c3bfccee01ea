// Reads a module of the sources: its imports and exports, and what each of its top-level statements declares, names and calls.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync } from 'rolldown/utils';

/**
 * A statement at the top level; `start` leaves `export` out. `names`: what it declares; `refers`, `assigns`: names that stand in it; `evaluates`: names of what
 * evaluating it calls; `calls`: names of what calling the function does, or making an object of the class. `alias`: what a constant is another name of.
 * @typedef {{ start: number, end: number, kind: 'function' | 'class' | 'constant' | 'effect', names: string[], parameters: number, usesThis: boolean,
 *   refers: Set<string>, assigns: Set<string>, evaluates: Set<string>, calls: Set<string>, alias: string | undefined }} Statement
 * @typedef {{ source: string, file: string | undefined }} Source of an import; `file`: of a package of this checkout
 * @typedef {Source & { name: string }} Passed what an import or an export from another module names there; `*` is all
 * @typedef {{ file: string, text: string, sources: Source[], imports: Map<string, Passed>, exports: Map<string, Passed | { local: string }>, all: Source[], bare: Source[],
 *   statements: Statement[], declared: Map<string, Statement> }} Module
 */

export const isFunction = (/** @type {any} */ node) =>
  /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node?.type ?? '');

/** Each child node, but for types. */
export function* children(/** @type {any} */ node) {
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

/** Names to which a node gives another value. */
export function collectAssigned(/** @type {any} */ node, /** @type {Set<string>} */ into) {
  const target =
    node.type === 'UpdateExpression'
      ? node.argument
      : /^(AssignmentExpression|For(In|Of)Statement)$/.test(node.type)
        ? node.left
        : undefined;
  if (target && target.type !== 'MemberExpression') collectNames(target, into);
  for (const child of children(node)) collectAssigned(child, into);
}

/** Whether a function has the `this` of its caller. @param {any} node @returns {boolean} */
const usesThis = (node) =>
  node.type === 'ThisExpression' ||
  [...children(node)].some(
    (child) =>
      !/^(FunctionDeclaration|FunctionExpression|Class)/.test(child.type) && usesThis(child),
  );

/** Methods that call their argument at once. */
const CALLING = /^(every|filter|find|flatMap|forEach|from|map|reduce|some|sort|toSorted)$/;

/** @param {any} node @returns {any} without parentheses around it */
const unwrapped = (node) =>
  node.type === 'ParenthesizedExpression' ? unwrapped(node.expression) : node;

/** Names of functions and classes that evaluating a node calls. */
function collectCalled(/** @type {any} */ node, /** @type {Set<string>} */ into) {
  const calls = /^(CallExpression|NewExpression)$/.test(node.type);
  if (calls && node.callee.type === 'Identifier') into.add(node.callee.name);
  if (node.type === 'TaggedTemplateExpression' && node.tag.type === 'Identifier')
    into.add(node.tag.name);
  const atOnce = calls && CALLING.test(node.callee.property?.name ?? '');
  if (node.type === 'ClassDeclaration' && node.superClass) collectNames(node.superClass, into);
  for (const child of children(node)) {
    const later = isFunction(unwrapped(child)) && child !== node.callee && !atOnce;
    if (later || (node.type === 'PropertyDefinition' && !node.static)) continue;
    if (atOnce && child.type === 'Identifier' && child !== node.callee) into.add(child.name);
    collectCalled(unwrapped(child), into);
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

/** @param {any} node of a top-level statement without `export` @returns {Statement} */
function statement(node) {
  /** @type {Statement} */
  const made = {
    start: node.start,
    end: node.end,
    kind: 'effect',
    names: [],
    parameters: 0,
    usesThis: false,
    refers: new Set(),
    assigns: new Set(),
    evaluates: new Set(),
    calls: new Set(),
    alias: undefined,
  };
  collectNames(node, made.refers);
  collectAssigned(node, made.assigns);
  const declarations = node.declarations ?? [];
  const whole = declarations.length === 1 && node.kind === 'const' ? declarations[0].init : node;
  if (isFunction(whole)) {
    made.kind = 'function';
    const parameters = whole.params.filter((/** @type {any} */ one) => one.name !== 'this');
    const first = parameters.findIndex((/** @type {any} */ one) => one.type !== 'Identifier');
    made.parameters = first < 0 ? parameters.length : first;
    made.usesThis = whole.type !== 'ArrowFunctionExpression' && usesThis(whole.body);
    for (const one of [whole.body, ...whole.params]) if (one) collectCalled(one, made.calls);
  } else {
    // A loop may call what it goes through.
    if (/^(For|While|DoWhile)/.test(node.type)) collectNames(node, made.evaluates);
    else collectCalled(node, made.evaluates);
    if (node.type === 'ClassDeclaration') {
      made.kind = 'class';
      collectConstruction(node, made.calls);
    } else if (/^(VariableDeclaration|TSEnumDeclaration)$/.test(node.type)) made.kind = 'constant';
    if (whole?.type === 'Identifier') made.alias = whole.name;
  }
  const names = new Set();
  for (const one of declarations) collectNames(one.id, names);
  made.names = node.id ? [node.id.name] : [...names];
  return made;
}

const isType = (/** @type {any} */ node) =>
  node.declare || /^TS(?!EnumDeclaration)/.test(node.type);

/** @param {string} from @param {string} source @param {ReadonlyMap<string, string>} entries sources by the name of what imports them */
export function resolveSource(from, source, entries) {
  if (!source.startsWith('.')) return entries.get(source);
  const file = path.resolve(path.dirname(from), source).replace(/\.js$/, '.ts');
  return existsSync(file) ? file : undefined;
}

/** @param {string} file @param {ReadonlyMap<string, string>} entries @returns {Module} */
export function readModule(file, entries) {
  const text = readFileSync(file, 'utf8');
  /** @type {any} */
  const program = parseSync(file, text).program;
  /** @type {Module} */
  const module = {
    file,
    text,
    sources: [],
    imports: new Map(),
    exports: new Map(),
    all: [],
    bare: [],
    statements: [],
    declared: new Map(),
  };
  for (const node of /** @type {any[]} */ (program.body)) {
    if ((node.importKind ?? node.exportKind) === 'type') continue;
    const source = node.source && {
      source: node.source.value,
      file: resolveSource(file, node.source.value, entries),
    };
    if (source) module.sources.push(source);
    if (node.type === 'ImportDeclaration') {
      if (node.specifiers.length === 0) module.bare.push(source);
      for (const one of node.specifiers) {
        if (one.importKind === 'type') continue;
        const name =
          one.imported?.name ?? (one.type === 'ImportNamespaceSpecifier' ? '*' : 'default');
        module.imports.set(one.local.name, { ...source, name });
      }
    } else if (node.type === 'ExportAllDeclaration') {
      if (node.exported) module.exports.set(node.exported.name, { ...source, name: '*' });
      else module.all.push(source);
    } else if (node.type === 'ExportDefaultDeclaration') {
      throw new Error(`${file} has a default export, which packing does not divide. Name it.`);
    } else {
      for (const one of node.specifiers ?? []) {
        if (one.exportKind === 'type') continue;
        const imported = module.imports.get(one.local.name);
        const from = source ? { ...source, name: one.local.name } : imported;
        module.exports.set(one.exported.name, from ?? { local: one.local.name });
      }
      const inner = node.type === 'ExportNamedDeclaration' ? node.declaration : node;
      if (!inner || isType(inner)) continue;
      const made = statement(inner);
      module.statements.push(made);
      for (const name of made.names) {
        module.declared.set(name, made);
        if (inner !== node) module.exports.set(name, { local: name });
      }
    }
  }
  return module;
}
