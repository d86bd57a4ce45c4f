/** The two parts of a certification: the merchant's webhook receiver, and its calls of the merchant API. */
export const certificationParts = ['receiver', 'integration'] as const;
export type CertificationPart = (typeof certificationParts)[number];

/**
 * The checks of `gatehouse certify` in the order in which they run. The names are public: reports, stored certifications and
 * docs/certification.md use them. A part is certified when all its checks passed, except that an optional one may be untested.
 */
export const certificationChecks = {
  receiver: [
    'reachable',
    'answers_in_time',
    'no_redirect',
    'accepts_genuine',
    'every_type',
    'unknown_type',
    'unknown_fields',
    'raw_body',
    'utf8_body',
    'reordered_orders',
    'late_webhook',
    'parallel_webhooks',
    'duplicate',
    'several_signatures',
    'secret_rotation',
    'forged_signature',
    'missing_signature',
    'replayed_timestamp',
    'stale_timestamp',
    'future_timestamp',
    'malformed_signature',
    'only_post',
  ],
  integration: [
    'places_order',
    'repeats_lost_answer',
    'keeps_order_number',
    'waits_for_slow_answer',
    'repeats_server_error',
    'respects_retry_after',
    'accepts_refusal',
    'return_proves_nothing',
    'forged_has_no_effect',
    'fulfils_paid_order',
    'fulfils_once',
    'failed_not_fulfilled',
    'expired_not_fulfilled',
    'late_money',
    'reordered_fulfilled',
  ],
} as const satisfies Record<CertificationPart, readonly string[]>;

export type ReceiverCheckName = (typeof certificationChecks)['receiver'][number];
export type IntegrationCheckName = (typeof certificationChecks)['integration'][number];
export type CheckName = ReceiverCheckName | IntegrationCheckName;

/** Checks that a certified part may lack, because not every merchant can run them. One of them needs a second secret. */
export const optionalChecks: readonly CheckName[] = ['secret_rotation', 'return_proves_nothing'];

export type CheckResult = 'passed' | 'failed' | 'not_tested';

/** A check with its result. The name may be one of another version. */
export interface CertifiedCheck {
  readonly name: string;
  readonly result: CheckResult;
}

/** Whether the results certify the part: every check of the part is among them, and passed or is optional and was not tested. */
export const isCertified = (part: CertificationPart, checks: readonly CertifiedCheck[]): boolean =>
  certificationChecks[part].every((name) => {
    const result = checks.find((check) => check.name === name)?.result;
    return result === 'passed' || (result === 'not_tested' && optionalChecks.includes(name));
  });
