import { CheckResult, CheckSubject } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Check } from '../../gen/gatehouse/v1/diagnostics_service_pb.js';
import type { Writing } from './operator-writing.ts';

const subjects = {
  [CheckSubject.DATABASE]: 'database',
  [CheckSubject.DATABASE_POOL]: 'databasePool',
  [CheckSubject.MIGRATIONS]: 'migrations',
  [CheckSubject.CLOCK]: 'clock',
  [CheckSubject.EVENT_ORDER]: 'eventOrder',
  [CheckSubject.ORDER_HISTORIES]: 'orderHistories',
  [CheckSubject.EVENT_RELAY]: 'eventRelay',
  [CheckSubject.STRAY_PAYMENTS]: 'strayPayments',
  [CheckSubject.RECONCILIATION]: 'reconciliation',
  [CheckSubject.BROKER]: 'broker',
  [CheckSubject.UNSETTLED]: 'unsettled',
  [CheckSubject.MONEY]: 'money',
  [CheckSubject.RECOVERY]: 'recovery',
  [CheckSubject.MASTER_KEY]: 'masterKey',
  [CheckSubject.WALLETS]: 'wallets',
  [CheckSubject.WALLET_ACCOUNTS]: 'walletAccounts',
} as const;

/** The pages with more about a subject. */
const pages: Readonly<Partial<Record<CheckSubject, string>>> = {
  [CheckSubject.EVENT_RELAY]: '/operator/pipeline',
  [CheckSubject.STRAY_PAYMENTS]: '/operator/stray-payments',
  [CheckSubject.UNSETTLED]: '/operator/settlements',
  [CheckSubject.RECONCILIATION]: '/operator/reconciliations',
};

/** Core's checks, the worst result first. Figures and errors are in core's English. */
export function checkRows(checks: readonly Check[], { words }: Writing) {
  const { good, needsAttention, broken, ofChecks } = words.overview;
  return checks
    .toSorted((a, b) => b.result - a.result)
    .map(({ subject, name, result, detail, facts }) => {
      // A core of a later version may have a check that this version does not know. It is named in English.
      const text = subject === CheckSubject.UNSPECIFIED ? undefined : ofChecks[subjects[subject]];
      const meaning = text?.[result === CheckResult.OK ? 'good' : 'bad'] ?? '';
      // Without figures, the detail of a good result says the same again.
      const isRepeated = result === CheckResult.OK && meaning !== '' && !hasFigures(facts);
      return {
        subject,
        name,
        title: text?.name ?? '',
        meaning,
        detail: isRepeated ? '' : detail,
        href: result === CheckResult.OK ? undefined : pages[subject],
        ...(result === CheckResult.OK
          ? { tone: 'good', text: good }
          : result === CheckResult.WARNING
            ? { tone: 'warn', text: needsAttention }
            : { tone: 'bad', text: broken }),
      };
    });
}

/**
 * Whether the detail says more than the result. The detail of a recovery does so only while payments of lost orders wait. The details of
 * unsettled money, of wallets and of wallet accounts never do.
 */
function hasFigures({ case: kind, value }: Check['facts']): boolean {
  if (kind === 'unsettled' || kind === 'wallets' || kind === 'walletAccounts') return false;
  if (kind === 'recovery') return value.unclaimedPaymentCount > 0n;
  return kind !== undefined;
}
