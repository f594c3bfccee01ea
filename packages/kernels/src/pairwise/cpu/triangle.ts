/** Blocks of one batch entry that reach the diagonal or what lies below it. */
export function triangleBlocks(count: number, blockRows: number, blockColumns: number): number {
  const rowBlocks = Math.ceil(count / blockRows);
  let blocks = 0;
  for (let start = 0; start < count; start += blockColumns) {
    blocks += rowBlocks - Math.floor(start / blockRows);
  }
  return blocks;
}

/**
 * The function `triangle_block`: the place of the block with this number, column block by column
 * block. It counts rather than solving an equation: a block is worth far more than the counting.
 */
export const TRIANGLE_TEXT = `// row and column block of the given block among those that reach the diagonal or what lies below it
UNUSED static int64_t triangle_blocks(int64_t count) {
  int64_t blocks = 0;
  for (int64_t c0 = 0; c0 < count; c0 += BLOCK_COLUMNS) blocks += (count + BLOCK_ROWS - 1) / BLOCK_ROWS - c0 / BLOCK_ROWS;
  return blocks;
}
static void triangle_block(int64_t block, int64_t count, int64_t& r0, int64_t& c0) {
  const int64_t row_blocks = (count + BLOCK_ROWS - 1) / BLOCK_ROWS;
  for (c0 = 0; block >= row_blocks - c0 / BLOCK_ROWS; c0 += BLOCK_COLUMNS) block -= row_blocks - c0 / BLOCK_ROWS;
  r0 = (c0 / BLOCK_ROWS + block) * BLOCK_ROWS;
}`;
