export { chooseProducts, predictReductionByProducts } from './choose-products.js';
export { partsLength, type ProductsConfig } from './products-config.js';
export { emitCentre } from './emit-centre.js';
export { emitCentredParts, type ProductsRole } from './emit-centred-parts.js';
