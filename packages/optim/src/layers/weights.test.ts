import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { random, tensor, type Tensor } from '@mercer/tensor';
import { listSafetensors, readSafetensors, writeSafetensors } from '@mercer/tensor/safetensors';
import { beforeAll, describe, expect, it } from 'vitest';
import { layers } from '../index.js';

const where = { device: 'cpu' } as const;

describe('weights in files', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mercer-weights-'));
  });

  const model = layers.sequential({
    conv: layers.conv2d({ inputs: 2, outputs: 3, kernel: [3, 2] }),
    norm: layers.batchNorm({ features: 3 }),
    flatten: layers.flatten(),
    block: layers.sequential([
      layers.linear({ inputs: 12, outputs: 4, bias: false }),
      layers.relu(),
      layers.layerNorm({ shape: 4 }),
    ]),
    attention: layers.multiHeadAttention({ features: 4, heads: 2 }),
    table: layers.embedding({ entries: 5, features: 2 }),
  });

  it('have the names and shapes of torch, and come back bit for bit', async () => {
    const file = join(folder, 'model.safetensors');
    const params = await model.init(random.key(1), where);
    const state = await model.initState(where);
    await layers.saveWeights(file, params, { state });
    const { arrays, metadata } = await listSafetensors(file);
    expect(metadata.get('format')).toBe('pt');
    const shapes = [...arrays].map(([name, { shape }]) => `${name} ${shape.join('x')}`);
    expect(shapes.sort()).toEqual(
      [
        'attention.in_proj_bias 12',
        'attention.in_proj_weight 12x4',
        'attention.out_proj.bias 4',
        'attention.out_proj.weight 4x4',
        'block.0.weight 4x12',
        'block.2.bias 4',
        'block.2.weight 4',
        'conv.bias 3',
        'conv.weight 3x2x3x2',
        'norm.bias 3',
        'norm.num_batches_tracked ',
        'norm.running_mean 3',
        'norm.running_var 3',
        'norm.weight 3',
        'table.weight 5x2',
      ].sort(),
    );
    const like = await model.init(random.key(2), where);
    const read = await layers.loadWeights(file, like, { state: await model.initState(where) });
    expect(await read.params.conv.weight.toNested()).toEqual(await params.conv.weight.toNested());
    expect(await read.params.attention.outProj.weight.toNested()).toEqual(
      await params.attention.outProj.weight.toNested(),
    );
    expect(await read.state?.norm.runningVar.toNested()).toEqual([1, 1, 1]);
    expect(await like.conv.weight.toNested()).not.toEqual(await params.conv.weight.toNested());
  });

  it('are read as torch writes them, into the dtype of the parameters', async () => {
    const file = join(folder, 'torch.safetensors');
    await writeSafetensors(file, {
      'fc.weight': { data: Float32Array.of(1, 2, 3, 4, 5, 6), shape: [2, 3] },
      'fc.bias': { data: Float32Array.of(7, 8), shape: [2] },
      'bn.running_mean': { data: Float32Array.of(1), shape: [1] },
      'bn.running_var': { data: Float32Array.of(2), shape: [1] },
      'bn.num_batches_tracked': { data: BigInt64Array.of(9n), shape: [] },
    });
    const net = layers.sequential({
      fc: layers.linear({ inputs: 3, outputs: 2 }),
      bn: layers.batchNorm({ features: 1, affine: false }),
    });
    const like = await net.init(random.key(1), { ...where, dtype: 'float64' });
    const { params, state } = await layers.loadWeights(file, like, {
      state: await net.initState(where),
    });
    const x = await tensor([[1, 0, 0]], { ...where, dtype: 'float64' });
    const fc = layers.linear({ inputs: 3, outputs: 2 });
    expect(await fc.apply(params.fc, x).toNested()).toEqual([[8, 12]]);
    expect(await state?.bn.runningVar.toNested()).toEqual([2]);
  });

  it('keep 16 bits', async () => {
    const file = join(folder, 'half.safetensors');
    const layer = layers.linear({ inputs: 3, outputs: 2 });
    const params = await layer.init(random.key(1), { ...where, dtype: 'bfloat16' });
    await layers.saveWeights(file, params);
    expect((await readSafetensors(file)).arrays.get('weight')?.dtype).toBe('bfloat16');
    const { params: read } = await layers.loadWeights(file, params);
    expect(await read.weight.toNested()).toEqual(await params.weight.toNested());
  });

  it('of another network are refused, by name', async () => {
    const file = join(folder, 'other.safetensors');
    const layer = layers.linear({ inputs: 3, outputs: 2 });
    const params = await layer.init(random.key(1), where);
    await layers.saveWeights(file, params);
    const wider = await layers.linear({ inputs: 4, outputs: 2 }).init(random.key(1), where);
    await expect(layers.loadWeights(file, wider)).rejects.toThrow(
      /^loadWeights: weight has shape \[2, 3\] in .*, and the parameters have \[2, 4\]\./,
    );
    await expect(layers.loadWeights(file, { first: params })).rejects.toThrow(
      /Missing: first\.weight, first\.bias; more: .*weight/,
    );
    await expect(layers.saveWeights(file, params.weight)).rejects.toThrow(
      /one tensor without a name/,
    );
    const both = { a: { b: params.weight }, 'a.b': params.weight };
    await expect(layers.saveWeights(file, both)).rejects.toThrow(
      /two tensors have the name "a\.b"/,
    );
    await writeFile(file, (await import('node:fs')).readFileSync(file).subarray(0, 90));
    await expect(layers.loadWeights(file, params)).rejects.toMatchObject({ name: 'NpyError' });
    const wrong = layers.saveWeights(file, params, { stat: {} } as never);
    await expect(wrong).rejects.toThrow(/there is no option 'stat'\. Did you mean 'state'/);
    await expect(layers.loadWeights(file, 3 as unknown as Tensor)).rejects.toThrow(/is 3/);
  });
});
