import path from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const declarations = path.resolve(import.meta.dirname, '../dist/index.d.ts');
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  strict: true,
  noEmit: true,
  skipLibCheck: true,
};

/** What a walk over public functions and methods found, each by the way to it. */
interface Found {
  /** Those whose promise of one tensor has the tensor's methods, and those whose has not. */
  readonly pending: string[];
  readonly plain: string[];
}

/** Walks the types of all exports that are values, of what these hold and give, and of instances of classes; not those of what callers pass. */
class Walk {
  readonly found: Found = { pending: [], plain: [] };
  readonly #checker: ts.TypeChecker;
  readonly #source: ts.SourceFile;
  readonly #seen = new Set<ts.Symbol>();

  constructor(file: string) {
    const program = ts.createProgram([file], OPTIONS);
    const source = program.getSourceFile(file);
    if (source === undefined) throw new Error(`${file} is there once the package is built`);
    this.#checker = program.getTypeChecker();
    this.#source = source;
    const module = this.#checker.getSymbolAtLocation(source);
    if (module === undefined) throw new Error(`${file} is a module`);
    for (const one of this.#checker.getExportsOfModule(module)) this.#visitExport(one);
  }

  #visitExport(symbol: ts.Symbol): void {
    const of =
      (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : this.#checker.getAliasedSymbol(symbol);
    if ((of.flags & ts.SymbolFlags.Class) !== 0)
      this.#visit(this.#checker.getDeclaredTypeOfSymbol(of), symbol.name);
    if ((of.flags & ts.SymbolFlags.Value) !== 0)
      this.#visit(this.#checker.getTypeOfSymbol(of), symbol.name);
    if ((of.flags & ts.SymbolFlags.ValueModule) !== 0)
      for (const one of this.#checker.getExportsOfModule(of)) this.#visitExport(one);
  }

  #visit(type: ts.Type, way: string): void {
    if (type.isUnionOrIntersection()) {
      for (const one of type.types) this.#visit(one, way);
      return;
    }
    for (const one of type.getCallSignatures()) this.#visitResult(one.getReturnType(), way);
    const symbol = type.getSymbol();
    if (symbol === undefined || this.#seen.has(symbol) || !isOurs(symbol)) return;
    this.#seen.add(symbol);
    for (const one of type.getProperties()) {
      if (isOurs(one))
        this.#visit(
          this.#checker.getTypeOfSymbolAtLocation(one, this.#source),
          `${way}.${one.name}`,
        );
    }
  }

  #visitResult(result: ts.Type, way: string): void {
    const isOpen = (result.flags & ts.TypeFlags.Conditional) !== 0;
    const whole = (isOpen && this.#checker.getBaseConstraintOfType(result)) || result;
    if (whole.isUnion()) {
      for (const one of whole.types) this.#visitResult(one, way);
      return;
    }
    const promised = this.#checker.getAwaitedType(whole) ?? whole;
    if (promised !== whole && isTensor(promised)) {
      const list = whole.getProperty('transpose') ? this.found.pending : this.found.plain;
      list.push(way);
      return;
    }
    this.#visit(promised, `${way}()`);
  }
}

const isTensor = (type: ts.Type): boolean => type.getSymbol()?.name === 'Tensor';

/** Whether it is declared in a package of this repository. */
const isOurs = ({ declarations: all = [] }: ts.Symbol): boolean =>
  all.some((one) => /packages\/[a-z-]+\/dist\//.test(one.getSourceFile().fileName));

describe('a public function that promises one tensor', () => {
  const { pending, plain } = new Walk(declarations).found;

  it('gives one with the methods of the tensor', () => {
    expect(plain).toEqual([]);
  });

  it('is found wherever it stands', () => {
    const found = new Set(pending.map((way) => way.split('.').at(-1)));
    const functions = ['cdist', 'normal', 'jacobian()', 'kernelSolve()', 'gridCluster', 'sortJ'];
    const methods = ['add', 'sumTo', 'matmul', 'toDense', 'solve', 'matvec', 'argMin'];
    expect([...functions, ...methods].filter((name) => !found.has(name))).toEqual([]);
    expect(pending.length).toBeGreaterThan(150);
  });
});
