import { spawn } from 'node:child_process';
import { createGroupId, devices, joinGroup, tensor, type ProcessGroup } from '@mercer/tensor';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lazyI, lazyJ, valueAndGradients } from '../index.js';
import { numbers, upload } from '../reference.test-support.js';
import { describeGroups } from './group-suite.test-support.js';

const gpus = devices().filter((found) => found.kind === 'cuda');
/** Why there is no group here. */
function missing(): string | undefined {
  if (gpus.length < 2) return `there are ${gpus.length}`;
  try {
    createGroupId();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const why = missing();
if (gpus.length !== 1 && why !== undefined) it.skip(`groups of processes on two GPUs: ${why}`);

if (gpus.length === 1) {
  const [only] = gpus;
  it('one rank is a group, or what NCCL lacks is said by name', async () => {
    const group = await Promise.resolve()
      .then(async () => joinGroup({ id: createGroupId(), size: 1, rank: 0, device: only }))
      .catch((error: unknown) => error as Error & { readonly code: string });
    if (group instanceof Error) {
      expect(group).toMatchObject({ code: 'LIBRARY_NOT_FOUND' });
      expect(group.message).toContain('libnccl');
      return;
    }
    const x = await tensor([1, 2], { device: group.device });
    expect(await (await group.allReduce(x)).toNested()).toEqual([1, 2]);
    await group.close();
  });
}

const [first, second] = gpus;

/** Runs a program of another process, with what is built of the packages, and tells how it ended. */
function otherProcess(
  body: string,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const here = import.meta.url;
  const dist = here.includes('/src/') ? '../../dist/index.js' : '../index.js';
  const entry = new URL(dist, here).href;
  const text = `
    import { createRequire } from 'node:module';
    import { pathToFileURL } from 'node:url';
    const resolve = (name) => pathToFileURL(createRequire(${JSON.stringify(entry)}).resolve(name)).href;
    const { lazyI, lazyJ, valueAndGradients } = await import(${JSON.stringify(entry)});
    const { joinGroup, tensor } = await import(resolve('@mercer/tensor'));
    ${body}`;
  return new Promise((done, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', text], {
      env: process.env,
    });
    let told = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data: Buffer) => (told += data.toString()));
    child.on('error', reject);
    child.on('close', (code) => {
      done({ code, text: told });
    });
  });
}

if (why === undefined)
  describe('groups of processes on two GPUs, through NCCL', () => {
    describe('of two ranks in one process', () => {
      let group: readonly ProcessGroup[] = [];
      beforeAll(async () => {
        const id = createGroupId();
        group = await Promise.all(
          [first, second].map((device, rank) =>
            joinGroup({ id, size: 2, rank, device, timeoutMs: 60_000 }),
          ),
        );
      }, 120_000);
      afterAll(async () => {
        await Promise.all(group.map((one) => one.close()));
      });

      describeGroups(() => group);

      it('reduce elements in each way, and tell each other of what differs', async () => {
        const found = await Promise.all(
          group.map(async (one) => {
            const x = await tensor([one.rank + 1, 5], { device: one.device, dtype: 'float64' });
            const ways = ['sum', 'product', 'maximum', 'minimum', 'mean'] as const;
            const all = ways.map((reduction) => one.allReduce(x, { reduction }));
            const results = await Promise.all(all.map(async (each) => (await each).toNested()));
            const other = await tensor([1, 2, 3].slice(one.rank), { device: one.device });
            await expect(one.allReduce(other)).rejects.toMatchObject({ code: 'GROUP_MISMATCH' });
            return results;
          }),
        );
        for (const one of found)
          expect(one).toEqual([
            [3, 10],
            [2, 25],
            [2, 5],
            [1, 5],
            [1.5, 5],
          ]);
      });
    });

    it('of two processes compute what one computes of all rows', async () => {
      const id = createGroupId();
      const y = numbers(2, 31, 2);
      const program = `
      const group = await joinGroup({ id: ${JSON.stringify(id)}, size: 2, rank: 1, device: ${JSON.stringify(second?.id)}, timeoutMs: 60_000 });
      const of = async (values, rows) =>
        await tensor(new Float64Array(values), { shape: [rows, 2], device: group.device });
      const x = await of(${JSON.stringify([...numbers(1, 13, 2).values])}, 13);
      const y = await of(${JSON.stringify([...y.values].slice(2 * 17))}, 14);
      const square = lazyI(x).sub(lazyJ(y)).square().sum();
      const results = [await square.sum('j', { group }), await square.logSumExp('j', { group }), await square.argKMin(3, 'j', { group })];
      const variables = { x: lazyI(x), y: lazyJ(y) };
      const { gradients } = await valueAndGradients(square.reduction('LogSumExp', 'j'), variables, { group });
      const nested = await Promise.all([...results, gradients.x, gradients.y].map((one) => one.toNested()));
      await group.close();
      console.log(JSON.stringify(nested));`;
      const other = otherProcess(program);
      const group = await joinGroup({ id, size: 2, rank: 0, device: first, timeoutMs: 60_000 });
      const x = await upload<'float64'>(numbers(1, 13, 2), 'float64', group.device);
      const whole = await upload<'float64'>(y, 'float64', group.device);
      const own = whole.slice([0, 17]);
      const square = lazyI(x).sub(lazyJ(own)).square().sum();
      const results = [
        await square.sum('j', { group }),
        await square.logSumExp('j', { group }),
        await square.argKMin(3, 'j', { group }),
      ];
      const { gradients } = await valueAndGradients(
        square.reduction('LogSumExp', 'j'),
        { x: lazyI(x), y: lazyJ(own) },
        { group },
      );
      const nested = await Promise.all(results.map((one) => one.toNested()));
      await group.close();
      const { code, text } = await other;
      expect(code, text).toBe(0);
      const told = JSON.parse(text.trim().split('\n').at(-1) ?? '') as readonly number[][][];
      const byAll = await gradients.x.toNested<number[][]>();
      expect(told.slice(0, -1)).toEqual([...nested, byAll]);
      const all = lazyI(x).sub(lazyJ(whole)).square().sum();
      const alone = await valueAndGradients(all.reduction('LogSumExp', 'j'), {
        x: lazyI(x),
        y: lazyJ(whole),
      });
      const byOwn = [...(await gradients.y.toNested<number[][]>()), ...(told.at(-1) ?? [])];
      for (const [found, one] of [
        [await results[0]!.toNested(), await all.sum('j')],
        [byAll, alone.gradients.x],
        [byOwn, alone.gradients.y],
      ] as const) {
        const values = (found as number[][]).flat();
        for (const [at, value] of (await one.toTypedArray()).entries()) {
          const bound = 1e-12 * Math.max(1, Math.abs(value));
          expect(Math.abs((values[at] ?? NaN) - value)).toBeLessThanOrEqual(bound);
        }
      }
      expect(nested[2]).toEqual(await (await all.argKMin(3, 'j')).toNested());
    }, 180_000);

    it('reject where the other process has ended, and where two ranks have one GPU', async () => {
      const id = createGroupId();
      const other = otherProcess(`
      await joinGroup({ id: ${JSON.stringify(id)}, size: 2, rank: 1, device: ${JSON.stringify(second?.id)} });
      process.kill(process.pid, 'SIGKILL');`);
      const group = await joinGroup({ id, size: 2, rank: 0, device: first, timeoutMs: 5000 });
      await other;
      const x = await tensor([1, 2], { device: group.device });
      await expect(group.allReduce(x)).rejects.toMatchObject({
        code: expect.stringMatching(/^NCCL_(TIMEOUT|REMOTE_ERROR|SYSTEM_ERROR)$/) as string,
      });
      await expect(group.allReduce(x)).rejects.toMatchObject({ code: 'GROUP_ENDED' });
      expect(await x.toNested()).toEqual([1, 2]);
      await group.close();
      const same = createGroupId();
      const ends = await Promise.allSettled(
        [0, 1].map((rank) =>
          joinGroup({ id: same, size: 2, rank, device: first, timeoutMs: 20_000 }),
        ),
      );
      for (const one of ends) {
        expect(one).toMatchObject({ status: 'rejected', reason: { code: 'NCCL_INVALID_USAGE' } });
      }
    }, 180_000);

    it('reject where an id is of nobody', async () => {
      const id = createGroupId();
      const late = joinGroup({ id, size: 2, rank: 0, device: first, timeoutMs: 2000 });
      await expect(late).rejects.toMatchObject({ code: 'NCCL_TIMEOUT' });
    }, 60_000);
  });
