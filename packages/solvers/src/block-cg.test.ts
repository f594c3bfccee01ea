import { device } from '@mercer/tensor';
import { blockCgSuite } from './testing/block-cg-suite.test-support.js';

blockCgSuite('the CPU', () => device('cpu'));
