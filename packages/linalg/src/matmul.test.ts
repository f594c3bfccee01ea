import { device } from '@mercer/tensor';
import { halvesSuite, matmulSuite } from './matmul-suite.test-support.js';

matmulSuite('on the CPU', () => device('cpu'), { scatters: true });
matmulSuite('on the CPU', () => device('cpu'), { scatters: true, precision: 'tf32x3' });
halvesSuite('on the CPU', () => device('cpu'));
