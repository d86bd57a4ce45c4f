import { describeFaultTolerance } from './connector-conformance.ts';
import { startMtn } from './mtn-momo-subject.ts';

describeFaultTolerance(
  'the MTN MoMo connector',
  ['initiate', 'query', 'recover', 'reverse', 'queryReversal', 'health'],
  () => startMtn(),
  ['initiate', 'reverse'],
);
