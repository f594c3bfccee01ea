import { device } from '@mercer/tensor';
import {
  describeMappedPrograms,
  describeRandomPrograms,
  describeSecondOfPrograms,
} from './testing/random-programs-suite.test-support.js';

const isFull = process.env['MERCER_TEST_FULL'] === '1';

describeRandomPrograms(() => device('cpu'), isFull ? 200 : 80);
describeMappedPrograms(() => device('cpu'), isFull ? 120 : 50);
describeSecondOfPrograms(() => device('cpu'), isFull ? 60 : 25);
