export {
  chooseProducts,
  partsLength,
  predictProducts,
  predictReductionByProducts,
  productsConfig,
  type PredictedProducts,
  type ProductsConfig,
} from './choose-products.js';
export { emitCentre } from './emit-centre.js';
export { emitCentredParts, type ProductsRole } from './emit-centred-parts.js';
