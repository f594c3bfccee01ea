export { MAX_COPY_RANK } from './collapse-dims.js';
export { emitCopyPieces, MOST_PIECES, pieceScalars, type PieceSize } from './copy-pieces.js';
export { emitRepeats } from './repeats.js';
export {
  planCopy,
  planFill,
  type CopyProblem,
  type ElementsPlan,
  type FillProblem,
} from './plan-copy.js';
export { planMap } from './plan-map.js';
export type { MapInput, MapPlan, MapProblem, PlannedMap } from './map-plan-types.js';
export { emitMap } from './emit.js';
export { segmentNames } from './map-params.js';
export { groupSegments, planSegments } from './map-segments.js';
export { otherWalks } from './map-walk.js';
export { emitCopy } from './emit.js';
export type { ElementType } from './element-type.js';
export { planSum, type SumDType, type SumPlan, type SumProblem } from './emit-sum.js';
export { emitSum } from './emit-sum.js';
