import { empty, memory, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { DTYPES } from '../matrices.test-support.js';
import { everyRuleCall, type RuleCall } from './every-rule.test-support.js';

type Gradients = Readonly<Record<string, Tensor>>;

const numbersOf = async (gradients: Gradients): Promise<Record<string, unknown>> => {
  const found: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(gradients)) found[name] = await one.toTypedArray();
  return found;
};

/** Places for results of their kind, every second column of memory twice as wide. */
const placesLike = (gradients: Gradients): Gradients =>
  Object.fromEntries(
    Object.entries(gradients).map(([name, { shape, dtype, device }]) => {
      const wide = empty([...shape.slice(0, -1), 2 * (shape.at(-1) ?? 1)], { dtype, device });
      const every = shape.map((_, axis) =>
        axis === shape.length - 1 ? ([null, null, 2] as const) : null,
      );
      return [name, wide.slice(...every)];
    }),
  );

/** What every backward rule is as an operation: `out`, `prepare`, `debug`, its options, and calls made again. */
export function backwardCallsSuite(
  where: string,
  deviceOf: () => Device,
  { hasNumbers = true, dtypes = DTYPES }: { hasNumbers?: boolean; dtypes?: typeof DTYPES } = {},
): void {
  const each = async (check: (name: string, call: RuleCall) => Promise<void>): Promise<void> => {
    for (const dtype of dtypes) {
      const calls = Object.entries(await everyRuleCall(dtype, deviceOf()));
      expect(calls.length).toBeGreaterThan(20);
      for (const [name, call] of calls) await check(`${name} ${dtype}`, call);
    }
  };
  const equal = async (name: string, found: Gradients, wanted: Gradients): Promise<void> => {
    expect([name, Object.keys(found)]).toEqual([name, Object.keys(wanted)]);
    if (hasNumbers) expect([name, await numbersOf(found)]).toEqual([name, await numbersOf(wanted)]);
  };

  describe(`backward rules as operations, ${where}`, { timeout: 300_000 }, () => {
    it('write into what is given, whatever its strides are, and give it', async () => {
      await each(async (name, { face, args, options }) => {
        const wanted = await face(...args, options);
        const out = placesLike(wanted);
        const found = await face(...args, { ...options, out });
        for (const [input, one] of Object.entries(out)) expect(found[input]).toBe(one);
        await equal(name, found, wanted);
      });
    });

    it('are prepared, and write nothing but what they are given then', async () => {
      await each(async (name, { face, args, options }) => {
        const wanted = await face(...args, options);
        const prepared = await face.prepare(...args, options);
        await equal(name, await prepared(...args), wanted);
        const out = Object.fromEntries(
          Object.entries(wanted).map(([input, one]) => [
            input,
            empty(one.shape, { dtype: one.dtype, device: one.device }),
          ]),
        );
        const written = await prepared(...args, { out });
        for (const [input, one] of Object.entries(out)) expect(written[input]).toBe(one);
        await equal(name, written, wanted);
        const before = memory().tensors;
        const made = await prepared(...args);
        for (const one of Object.values(made)) one.dispose();
        expect([name, Math.max(0, memory().tensors - before)]).toEqual([name, 0]);
      });
    });

    it('tell their launches, and refuse options that there are not and outputs that are inputs', async () => {
      await each(async (name, { face, args, options }) => {
        const lines: string[] = [];
        const debug = (line: string): number => lines.push(line);
        const results = await face(...args, { ...options, debug });
        expect([name, lines.length > 0]).toEqual([name, true]);
        const what = /^\w+Backward: there is no option 'outs'/;
        await expect(face(...args, { ...options, outs: results })).rejects.toThrow(what);
        await expect(face.prepare(...args, { ...options, outs: results })).rejects.toThrow(
          /no option 'outs'/,
        );
        const [[input, wanted] = ['a', undefined]] = Object.entries(results);
        const { shape, dtype } = wanted as Tensor;
        const alike = args.flatMap((one) => Object.values<unknown>({ ...(one as object) }));
        const same = [...args, ...alike].find(
          (one) =>
            String((one as Partial<Tensor> | undefined)?.shape) === String(shape) &&
            (one as Tensor).dtype === dtype,
        );
        if (same === undefined) return;
        const call = face(...args, { ...options, out: { [input]: same } });
        await expect(call).rejects.toMatchObject({ code: 'OVERLAP' });
      });
    });
  });
}
