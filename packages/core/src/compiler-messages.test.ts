import path from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { beforeAll, describe, expect, it } from 'vitest';

/** Wrong calls with what the first line of the compiler's message says, and where needed one of the next. */
const WRONG: readonly (readonly [call: string, first: RegExp, then?: RegExp])[] = [
  [
    'cdist(a, a, { P: 1 })',
    /'P' does not exist in type 'CdistOptions<"float32", Tensor<"float32">>'.* 'p'\?$/,
  ],
  ["cdist(a, a, { p: '1' })", /^Type 'string' is not assignable to type 'number'/],
  ['cdist(a, wide)', /'Tensor<"float64">' .* 'BlockRowsBeside<Tensor<"float32">>'/],
  ['cdist(a)', /^Expected 2-3 arguments, but got 1/],
  [
    'weightedDifferences(a, a, a, a, { P: 2 })',
    /'P' does not exist in type 'WeightedDifferencesOptions<"float32">'/,
  ],
  ['runKernel(kernels.gaussian, a)', /^Expected 3 arguments, but got 2/],
  ['runKernel(kernels.gaussian, a, a)', /^Expected 4 arguments, but got 3/],
  ['runKernel(kernels.gaussian, a, {})', /^Argument of type '{}' is not/, /'bandwidth' is missing/],
  [
    'runKernel(kernels.gaussian, a, { bandwith: 1 })',
    /'bandwith' does not exist .* 'bandwidth'\?$/,
  ],
  [
    'runKernel(kernels.gaussian, a, { bandwidth: 1, gamma: 1 })',
    /'gamma' does not exist in type 'PairwiseCallOptions<"float32", Tensor<"float32">>/,
  ],
  [
    "runKernel(kernels.gaussian, a, { bandwidth: '1' })",
    /^Type 'string' is not assignable to type/,
  ],
  ['runKernel(kernels.gaussian, a, o, o)', /^Expected 3 arguments, but got 4/],
  ['runKernel(kernels.dot, a, wide)', /'Tensor<"float64">' .* 'BlockRowsBeside<Tensor<"float32">>/],
  ['runKernel.prepare(kernels.gaussian, a)', /^Expected 3 arguments, but got 2/],
  [
    'runKernel.prepare(kernels.gaussian, a, { bandwith: 1 })',
    /'bandwith' does not exist .* 'bandwidth'\?$/,
  ],
  ['prepared(a, { gamma: 1 })', /'gamma' does not exist in type 'PreparedKernelOptions</],
  ['prepared(a, wide)', /'Tensor<"float64">' .* parameter of type 'Tensor<"float32">'/],
  ['runKernelBackward(kernels.gaussian, a, a)', /^Expected 4 arguments, but got 3/],
  [
    'runKernelBackward(kernels.gaussian, a, a, { bandwith: 1 })',
    /'bandwith' does not exist in type 'RunKernelBackwardOptions<.* 'bandwidth'\?$/,
  ],
  [
    "runKernelBackward(kernels.gaussian, a, a, { bandwidth: 1, wrt: ['gamma'] })",
    /^Type '"gamma"' is not assignable to type 'RunKernelVariable</,
  ],
  [
    'runKernel(kernels.gaussian, a, a, { bandwith: 1 })',
    /'bandwith' does not exist .* 'bandwidth'\?$/,
  ],
  ['tensor([1], { shpe: [1] })', /'shpe' does not exist in type 'TensorOptions<.*'shape'\?$/],
  ["tensor([1], { dtype: 'float99' })", /^Type '"float99"' is not assignable to type 'DType/],
  ['tensor(tensor([1]))', /'Pending<Tensor<"float32">>' .* 'TensorSource'/],
  ['lazyI(tensor([[1]]))', /'Pending<Tensor<"float32">>' .* parameter of type 'TensorSource/],
  ['lazyI(a).sqdist(a)', /'Tensor<"float32">' .* 'LazyOperand'/, /lazyIOrLazyJ/i],
  ['const rows: number[] = a', /^Type 'Tensor<"float32">' /],
];

const RIGHT = `
const rows: number[][] = await a.toNested();
const row: number[] = await a.slice(0).toNested();
const ids: bigint[] = await (await tensor([1n])).toNested();
const near = await cdist(tensor([[1, 2]]), a);
const products = await runKernel(kernels.dot, a, tensor([[1, 2]]));
`;

/** Modules that the compiler reads together, each behind what {@link messages} puts in front. */
const BODIES = {
  wrong: WRONG.map(([call]) => `${call};\n`).join(''),
  right: RIGHT,
  text: 'const text: string[] = await a.toNested();',
};

type Messages = Readonly<Record<keyof typeof BODIES, readonly (readonly string[])[]>>;

/** The compiler's messages about programs with two tensors, each as its lines. */
function messages(): Messages {
  const index = fileURLToPath(new URL('../dist/index.js', import.meta.url));
  const texts = new Map(
    Object.entries(BODIES).map(([name, body]) => [
      path.join(path.dirname(index), `../in-memory-${name}.mts`),
      `import { cdist, kernels, lazyI, runKernel, runKernelBackward, tensor, weightedDifferences } from '${index}';\n` +
        `const a = await tensor([[1, 2]]);\nconst wide = await tensor([[1]], { dtype: 'float64' });\n` +
        `const o = { bandwidth: 1 };\nconst prepared = await runKernel.prepare(kernels.gaussian, a, o);\n${body}`,
    ]),
  );
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    types: ['node'],
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...rest) => {
    const text = texts.get(name);
    return text === undefined
      ? read(name, ...rest)
      : ts.createSourceFile(name, text, ts.ScriptTarget.ES2022);
  };
  const exists = host.fileExists.bind(host);
  host.fileExists = (name) => texts.has(name) || exists(name);
  const program = ts.createProgram([...texts.keys()], options, host);
  const found = [...texts.keys()].map((file) =>
    program
      .getSemanticDiagnostics(program.getSourceFile(file))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n').split('\n')),
  );
  const [wrong = [], right = [], text = []] = found;
  return { wrong, right, text };
}

describe('the compiler', () => {
  let all: Messages;
  beforeAll(() => {
    all = messages();
  }, 120_000);

  it('says in its first line what is wrong with a call', () => {
    const found = all.wrong;
    expect(found).toHaveLength(WRONG.length);
    for (const [at, [call, first, then]] of WRONG.entries()) {
      const [line, ...others] = found[at] ?? [];
      expect(line, call).toMatch(first);
      if (then !== undefined) expect(others.join('\n'), call).toMatch(then);
      expect(found[at]?.join('\n'), call).not.toMatch(/overload/i);
      // A promise of a tensor has most of a tensor's methods: behind the first line the compiler lists what it lacks.
      if (!line?.includes('Pending<')) expect(others.join('\n'), call).not.toContain('#private');
    }
  });

  it('takes what toNested gives as rows of numbers, and not as something else', () => {
    expect(all.right).toEqual([]);
    const [[wrong = ''] = []] = all.text;
    expect(wrong).toMatch(/not assignable to type 'string\[\]'/);
  });
});
