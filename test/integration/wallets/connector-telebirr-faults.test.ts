import { describeFaultTolerance } from './connector-conformance.ts';
import { startTelebirr } from './telebirr-subject.ts';

describeFaultTolerance(
  'the telebirr connector',
  ['initiate', 'query', 'recover', 'reverse', 'queryReversal', 'health'],
  () => startTelebirr(),
);
