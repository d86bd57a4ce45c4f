import { CheckResult } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Writing } from './operator-writing.ts';

/** What core looked at, what is wrong first; with core's own sentences, which are in English. */
export function checkRows(checks: readonly Check[], { words }: Writing) {
  const { good, look, broken, ofChecks } = words.overview;
  return checks
    .toSorted((a, b) => b.result - a.result)
    .map(({ name, result, detail, advice }) => ({
      name,
      title: ofChecks[name]?.name ?? '',
      said: ofChecks[name]?.[result === CheckResult.OK ? 'good' : 'bad'] ?? '',
      detail,
      advice,
      ...(result === CheckResult.OK
        ? { tone: 'good', text: good }
        : result === CheckResult.WARNING
          ? { tone: 'warn', text: look }
          : { tone: 'bad', text: broken }),
    }));
}
