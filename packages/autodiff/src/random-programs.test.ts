import { device } from '@mercer/tensor';
import {
  describeMappedPrograms,
  describeRandomPrograms,
  describeSecondOfPrograms,
} from './testing/random-programs-suite.test-support.js';

describeRandomPrograms(() => device('cpu'), 200);
describeMappedPrograms(() => device('cpu'), 120);
describeSecondOfPrograms(() => device('cpu'), 60);
