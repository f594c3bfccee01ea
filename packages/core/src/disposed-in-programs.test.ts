import { beforeAll, describe, expect, it, vi } from 'vitest';
import { undisposed } from '../../tensor/test/memory-kept.mjs';
import {
  concat,
  eye,
  functional,
  grad,
  jvp,
  kernels,
  losses,
  memory,
  random,
  runKernel,
  stack,
  tensor,
  vmap,
  where,
  type Tensor,
} from './index.js';

// What is computed is small, and kernels have tests of their own: compiling them would take most of the time.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));

const CPU = { dtype: 'float64', device: 'cpu' } as const;

/** Hands on a result between, in an object, so that nothing waits for it. */
type Note = <T extends Disposable>(one: T | Promise<T>) => Promise<readonly [T]>;
type Value = Tensor | PromiseLike<Tensor>;
type Program = (
  note: Note,
  x: Tensor<'float64'>,
  w: Tensor<'float64'>,
) => Promise<readonly [Value]>;

const labelsOf = async (note: Note): Promise<Tensor> => {
  const [labels] = await note(tensor(Int32Array.of(0, 2, 1), { device: 'cpu' }));
  const [same] = await note(labels.mul(1));
  return same;
};

/** Ordinary programs of matrices of order 3, each result between handed on. */
const PROGRAMS: Readonly<Record<string, Program>> = {
  'a network': async (note, x, w) => {
    const [h] = await note(x.matmul(w).add(w.slice(0)));
    const [active] = await note(h.relu());
    const [mask] = await note(active.gt(0));
    const [kept] = await note(active.mul(mask).div(0.8));
    return [kept.matmul(w).square().mean()];
  },
  'the loss of classes': async (note, x, w) => {
    const labels = await labelsOf(note);
    const [scores] = await note(x.matmul(w));
    return [losses.crossEntropy(scores, labels, { labelSmoothing: 0.1 })];
  },
  'the loss of logarithms': async (note, x, w) => {
    const labels = await labelsOf(note);
    const [scores] = await note(x.mul(w).logSoftmax());
    return [losses.nll(scores, labels)];
  },
  'a recurrent cell': async (note, x, w) => {
    let state = x;
    for (let step = 0; step < 2; step++) {
      const [both] = await note(concat([state, x], 1));
      const [gate] = await note(both.matmul(concat([w, w], 0)).sigmoid());
      const [next] = await note(gate.mul(state).add(gate.neg().add(1).mul(both.slice(null, [0, 3]).tanh()))); // prettier-ignore
      state = next;
    }
    return [state.sum()];
  },
  'attention by hand': async (note, x, w) => {
    const [scores] = await note(x.matmul(w.transpose()));
    const [ones] = await note(tensor([[1, 1, 1], [1, 1, 1], [1, 1, 1]], CPU)); // prettier-ignore
    const [seen] = await note(ones.tril());
    const [masked] = await note(where(seen.gt(0), scores, -1e9));
    const [weights] = await note(masked.softmax());
    return [weights.matmul(x).square().sum()];
  },
  'attention with a mask': async (note, x, w) => {
    const [rows] = await note(x.mul(w).reshape([1, 3, 3]));
    const [mask] = await note(tensor([[true, false, true], [true, true, false], [true, true, true]], { device: 'cpu' })); // prettier-ignore
    const [out] = await note(functional.attention(rows, rows, rows, { mask }));
    return [out.square().sum()];
  },
  'a convolution': async (note, x, w) => {
    const [image] = await note(x.tanh().reshape([1, 1, 3, 3]));
    const [kernel] = await note(w.mul(2).reshape([1, 1, 3, 3]));
    const [out] = await note(functional.conv2d(image, kernel, undefined, { padding: 1 }));
    return [out.square().sum()];
  },
  'reductions of several steps': async (note, x, w) => {
    const [h] = await note(x.matmul(w));
    const [spread] = await note(h.std(0));
    const [norms] = await note(h.norm(1));
    const [top] = await note(h.logSumExp(1));
    return [spread.add(norms).mul(top).sum()];
  },
  'rows by index, sorted and stacked': async (note, x, w) => {
    const [h] = await note(x.matmul(w));
    const [both] = await note(stack([h, x]));
    const [some] = await note(both.index([null, [0, 2], null]));
    const [ordered] = await note(some.sort(-1));
    return [ordered.cumSum(0).square().sum()];
  },
  'a choice beside a product': async (note, x, w) => {
    const [h] = await note(x.matmul(w));
    const [mask] = await note(h.gt(0.1));
    const [chosen] = await note(where(mask, h, x));
    const [lower] = await note(chosen.tril());
    return [lower.triu(-1).square().sum()];
  },
  'a kernel with a bandwidth': async (note, x, w) => {
    const [bandwidth] = await note(w.slice(0, 0).exp());
    const [unit] = await note(eye(3, CPU));
    const [matrix] = await note(runKernel(kernels.gaussian, x, x, { bandwidth: bandwidth }));
    return [matrix.add(unit).matmul(w).sum()];
  },
};

/** A program whose caller waits for every result, or for none and disposes all before the value is there. */
function styled(program: Program, waits: boolean) {
  return async (x: Tensor<'float64'>, w: Tensor<'float64'>): Promise<Tensor> => {
    const made: Disposable[] = [];
    const note = async (one: Disposable | Promise<Disposable>): Promise<readonly [unknown]> => {
      const given = waits ? await one : one;
      made.push(given as Disposable);
      return [given];
    };
    const [value] = await program(note as Note, x, w);
    if (waits) await value;
    for (const one of made) one[Symbol.dispose]();
    return await value;
  };
}

const numbersOf = async (one: Tensor): Promise<readonly number[]> =>
  Array.from(await one.toTypedArray(), Number);

type Run = (f: ReturnType<typeof styled>, x: Tensor<'float64'>, w: Tensor<'float64'>) => unknown;

const TRANSFORMS: Readonly<Record<string, Run>> = {
  'its value': async (f, x, w) => [await f(x, w)],
  'its gradients': (f, x, w) => grad(f, { argnums: [0, 1] })(x, w),
  'its tangent': async (f, x, w) => {
    const { value, tangent } = await jvp(f)([x, w], [w, x]);
    return [value, tangent];
  },
  'the derivative of its gradients': async (f, x, w) =>
    (await jvp(grad(f, { argnums: [0, 1] }))([x, w], [w, x])).tangent,
  'gradients of many': async (f, x, w) => {
    using many = await stack([x, w]);
    return [await vmap(grad(f), { inAxes: [0, null] })(many, w)];
  },
};

describe('results between that are disposed before the value is there', () => {
  for (const [transform, run] of Object.entries(TRANSFORMS)) {
    it.each(Object.entries(PROGRAMS))(`leave ${transform} as it is: %s`, async (_, program) => {
      const [forX, forW] = random.split(random.key(7));
      using x = await random.normal([3, 3], { key: forX, ...CPU });
      using w = await random.normal([3, 3], { key: forW, ...CPU });
      const found = async (waits: boolean): Promise<readonly number[]> => {
        const all = (await run(styled(program, waits), x, w)) as readonly Tensor[];
        const numbers = (await Promise.all(all.map(numbersOf))).flat();
        for (const one of all) one.dispose();
        return numbers;
      };
      const expected = await found(true);
      const got = await found(false);
      expect(got.length).toBe(expected.length);
      for (const [at, one] of got.entries()) expect(one).toBeCloseTo(expected[at] ?? NaN, 9);
    });
  }

  it('and no memory behind', async () => {
    using x = await random.normal([3, 3], { key: random.key(1), ...CPU });
    using w = await random.normal([3, 3], { key: random.key(2), ...CPU });
    const program = styled(PROGRAMS['the loss of classes'] as Program, false);
    const once = async (): Promise<void> => {
      for (const one of await grad(program, { argnums: [0, 1] })(x, w)) one.dispose();
      await new Promise(setImmediate);
    };
    await once();
    const before = undisposed(memory());
    for (let run = 0; run < 5; run++) await once();
    expect(undisposed(memory())).toEqual(before);
  });

  it('a norm of a pending result has its dtype', async () => {
    using x = await tensor([[1, 2], [3, 4]], CPU); // prettier-ignore
    using product = x.matmul(x);
    using norm = await product.norm();
    expect(norm.dtype).toBe('float64');
    expect(await norm.item()).toBeCloseTo(Math.hypot(7, 10, 15, 22), 12);
  });

  it('a pending operand of a reduction of several steps stays its owner’s', async () => {
    using x = await tensor([[1, 2], [3, 4]], CPU); // prettier-ignore
    const product = x.matmul(x);
    for (const one of [product.softmax(), product.std(), product.norm()]) (await one).dispose();
    expect((await product).disposed).toBe(false);
    product.dispose();
  });
});
