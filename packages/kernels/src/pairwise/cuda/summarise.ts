import { print } from '@mercer/formula';
import type { UnnamedCudaPlan } from '../plan-types.js';
import { blockThreads } from '../../pair-tile/cuda/tile-operand.js';

/** One readable line about a plan. */
export function summarise(plan: UnnamedCudaPlan): string {
  const operand = (layout: string, aligned: boolean): string =>
    `${layout}${aligned ? '' : ' unaligned'}`;
  const parts = [
    `${plan.reduce} of ${print(plan.inner)}`,
    plan.dtype,
    strategy(plan),
    `${operand(plan.rowsLayout, plan.alignedRows)} x ${operand(plan.columnsLayout, plan.alignedColumns)}`,
  ];
  if (plan.symmetric === true) parts.push('symmetric');
  if (plan.parameters !== undefined) parts.push(`parameters ${plan.parameters.join(' ')}`);
  if (plan.diagonal !== undefined) parts.push(`diagonal ${plan.diagonal}`);
  if (plan.swapped) parts.push('transposed output');
  if (plan.power !== undefined) parts.push(`${plan.power} power`);
  return `pairwise ${parts.join(', ')}`;
}

function strategy(plan: UnnamedCudaPlan): string {
  switch (plan.strategy) {
    case 'tile': {
      const { tileRows, tileColumns, tileK, stages, slicesK } = plan.tile;
      const split = plan.splitK === 1 ? '' : ` split ${plan.splitK}`;
      const threads = String(blockThreads(plan.tile));
      const slices = slicesK === 1 ? '' : `, ${slicesK} slices of k`;
      return `tile ${tileRows}x${tileColumns}x${tileK} (${threads} threads, ${stages} stages${slices})${split}`;
    }
    case 'dot': {
      const { lanes, warps, rows, columns } = plan.dot;
      return `dot ${rows}x${columns} over ${lanes * warps} lanes`;
    }
    case 'products': {
      const { chunk, chunks, closeness } = plan.products;
      return `products on tensor cores (${chunks} chunks of ${chunk}, pairs nearer than ${closeness.toFixed(2)} of their norms by differences)`;
    }
    case 'outer': {
      const { k, threadsX, threadsY, vector } = plan.outerProduct;
      return `outer k=${k} (${threadsX}x${threadsY} threads, ${vector} a store)`;
    }
  }
}
