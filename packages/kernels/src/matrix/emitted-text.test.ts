import { expect, it } from 'vitest';
import { emittedText } from '../testing/emitted-text.test-support.js';
import { emitIdentityMatrices, emitKron } from './index.js';

it('the text of identity matrices', () => {
  expect(emittedText(emitIdentityMatrices('float64'))).toMatchInlineSnapshot(`
    "typedef long long i64;
    extern "C" __global__ void __launch_bounds__(256) identity_matrices_float64(double* to, const int* infos, i64 rows, i64 columns) {
      // Blocks are fewer than 2^31, and a division of 64 bits costs as much as the rest of a tile.
      const unsigned across = (unsigned)((rows + 31) / 32);
      const unsigned tiles = across * (unsigned)((columns + 31) / 32);
      const unsigned matrix = blockIdx.x / tiles, tileIndex = blockIdx.x - matrix * tiles, down = tileIndex / across;
      const i64 z = matrix;
      const i64 row0 = (i64)(tileIndex - down * across) * 32, column0 = (i64)down * 32;
      const int lane = threadIdx.x % 32, group = threadIdx.x / 32;
      if (infos != nullptr && infos[z] == 0) return;
      for (int k = group; k < 32; k += 8) {
        const i64 row = row0 + lane, column = column0 + k;
        if (row < rows && column < columns) {
          const i64 at = (z * columns + column) * rows + row;
          to[at] = (double)(row == column);
        }
      }
    }
    "
  `);
});

it('the text of Kronecker products', () => {
  expect(emittedText(emitKron('float32'))).toMatchInlineSnapshot(`
    "typedef long long i64;
    extern "C" __global__ void __launch_bounds__(256) kron_float32(const float* a, const float* b, float* c, i64 p, i64 q, i64 r, i64 s, i64 aRow, i64 aColumn, i64 aBatch0, i64 aBatch1, i64 aBatch2, i64 aBatch3, i64 aBatch4, i64 aBatch5, i64 bRow, i64 bColumn, i64 bBatch0, i64 bBatch1, i64 bBatch2, i64 bBatch3, i64 bBatch4, i64 bBatch5, i64 cRow, i64 cColumn, i64 cBatch0, i64 cBatch1, i64 cBatch2, i64 cBatch3, i64 cBatch4, i64 cBatch5, i64 batch0, i64 batch1, i64 batch2, i64 batch3, i64 batch4, i64 batch5) {
      const i64 elements = p * q * r * s, blocks = (elements + 255) / 256;
      const i64 z = blockIdx.x / blocks;
      const i64 at = (blockIdx.x - z * blocks) * 256 + threadIdx.x;
      if (at >= elements) return;
      i64 aStart = 0;
      {
        i64 rest = z;
        if (batch5 > 1) aStart += (rest % batch5) * aBatch5, rest /= batch5;
        if (batch4 > 1) aStart += (rest % batch4) * aBatch4, rest /= batch4;
        if (batch3 > 1) aStart += (rest % batch3) * aBatch3, rest /= batch3;
        if (batch2 > 1) aStart += (rest % batch2) * aBatch2, rest /= batch2;
        if (batch1 > 1) aStart += (rest % batch1) * aBatch1, rest /= batch1;
        if (batch0 > 1) aStart += (rest % batch0) * aBatch0, rest /= batch0;
      }
      i64 bStart = 0;
      {
        i64 rest = z;
        if (batch5 > 1) bStart += (rest % batch5) * bBatch5, rest /= batch5;
        if (batch4 > 1) bStart += (rest % batch4) * bBatch4, rest /= batch4;
        if (batch3 > 1) bStart += (rest % batch3) * bBatch3, rest /= batch3;
        if (batch2 > 1) bStart += (rest % batch2) * bBatch2, rest /= batch2;
        if (batch1 > 1) bStart += (rest % batch1) * bBatch1, rest /= batch1;
        if (batch0 > 1) bStart += (rest % batch0) * bBatch0, rest /= batch0;
      }
      i64 cStart = 0;
      {
        i64 rest = z;
        if (batch5 > 1) cStart += (rest % batch5) * cBatch5, rest /= batch5;
        if (batch4 > 1) cStart += (rest % batch4) * cBatch4, rest /= batch4;
        if (batch3 > 1) cStart += (rest % batch3) * cBatch3, rest /= batch3;
        if (batch2 > 1) cStart += (rest % batch2) * cBatch2, rest /= batch2;
        if (batch1 > 1) cStart += (rest % batch1) * cBatch1, rest /= batch1;
        if (batch0 > 1) cStart += (rest % batch0) * cBatch0, rest /= batch0;
      }
      const i64 row = at / (q * s), column = at - row * (q * s);
      const i64 i = row / r, k = row - i * r, j = column / s, l = column - j * s;
      c[cStart + row * cRow + column * cColumn] = a[aStart + i * aRow + j * aColumn] * b[bStart + k * bRow + l * bColumn];
    }
    "
  `);
});
