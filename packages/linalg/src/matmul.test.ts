import { device } from '@mercer/tensor';
import { matmulSuite } from './matmul-suite.test-support.js';

matmulSuite('on the CPU', () => device('cpu'), { scatters: true });
matmulSuite('on the CPU', () => device('cpu'), { scatters: true, precision: 'tf32x3' });
