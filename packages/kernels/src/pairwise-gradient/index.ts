export {
  bothRolesFormula,
  parameterGradientFormulas,
  rowsGradientFormula,
  type GradientOperands,
} from './gradient-formula.js';
export { exchangeOperands } from './gradient-expressions.js';
export type { ForwardExpressions } from './scaled-norm.js';
