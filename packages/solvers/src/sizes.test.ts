import { device } from '@mercer/tensor';
import { sizesSuite } from './testing/sizes-suite.test-support.js';

sizesSuite('the CPU', () => device('cpu'));
