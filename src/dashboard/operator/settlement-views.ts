import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { User } from '../../gen/gatehouse/v1/account_service_pb.js';
import { SettlementOutcome, SettlementStatus } from '../../gen/gatehouse/v1/settlement_service_pb.js';
import type { Settlement, Unsettled } from '../../gen/gatehouse/v1/settlement_service_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { noMerchantId } from '../../contract/public-id.ts';
import { durationText } from '../../platform/language/duration-text.ts';
import { settlements as amharic } from '../language/amharic/settlements.ts';
import { settlements as english } from '../language/english/settlements.ts';
import { momentOf } from '../moment-text.ts';
import { optionText } from '../payments/order-words.ts';
import { environmentName } from './operator-writing.ts';
import type { Writing } from './operator-writing.ts';

export const settlementWords = { en: english, am: amharic };
export type Words = typeof english;
type OutcomeName = keyof Words['outcomes'];

export const outcomeNumbers = {
  paid: SettlementOutcome.PAID,
  notPaid: SettlementOutcome.NOT_PAID,
  returned: SettlementOutcome.RETURNED,
  notReturned: SettlementOutcome.NOT_RETURNED,
} as const satisfies Record<OutcomeName, SettlementOutcome>;

/** A subject of settlements: its field in the contract, and the outcomes that it can have. */
export const subjectKinds = {
  payment: { field: 'paymentAttemptId', outcomes: ['paid', 'notPaid'] },
  stray: { field: 'strayPaymentId', outcomes: ['returned'] },
  refund: { field: 'refundId', outcomes: ['returned', 'notReturned'] },
} as const satisfies Record<keyof Words['subjects'], { field: string; outcomes: readonly OutcomeName[] }>;
type SubjectKind = keyof typeof subjectKinds;

export interface SettlementWriting extends Writing {
  readonly own: Words;
  /** The operators. The entries name them by their ids. */
  readonly users: readonly User[];
  readonly now: Date;
}

const kindOf = (field: string | undefined): SubjectKind =>
  (Object.keys(subjectKinds) as SubjectKind[]).find((kind) => subjectKinds[kind].field === field) ??
  'payment';

const outcomeText = (outcome: SettlementOutcome, { outcomes }: Words): string => {
  const name = (Object.keys(outcomeNumbers) as OutcomeName[]).find(
    (each) => outcomeNumbers[each] === outcome,
  );
  return name === undefined ? '' : outcomes[name];
};

/** An operator as the audit log names it, such as `dashboard:usr_…`. */
function operatorText(actor: string, { users, own }: SettlementWriting): string {
  const [role = '', name = ''] = actor.split(/:(.*)/s);
  if (role !== 'dashboard') return name === '' ? own.commandLine : `${own.commandLine}: ${name}`;
  return users.find(({ userId }) => userId === name)?.email ?? name;
}

/** A row of money that waits for a person, with the proposal or the outcomes that can be proposed. */
export function unsettledRow(each: Unsettled, userId: string, writing: SettlementWriting) {
  const { own, words, language, timeZone, now } = writing;
  const { subject, sinceTime, proposal } = each;
  const kind = kindOf(subject.case);
  const seconds =
    sinceTime === undefined ? 0 : Math.max(0, (now.getTime() - timestampDate(sinceTime).getTime()) / 1000);
  const base = `/m/${each.merchantId}/${environmentName(each.environment)}`;
  return {
    kind,
    merchantId: each.merchantId,
    subjectId: subject.value ?? '',
    merchantHref: each.merchantId === noMerchantId ? '' : `/operator/merchants/${each.merchantId}`,
    orderHref: each.orderId === '' ? '' : `${base}/orders/${each.orderId}`,
    environment: words.environments[environmentName(each.environment)],
    since: momentOf(sinceTime, language, timeZone),
    age: own.age(durationText(Math.floor(seconds), language)),
    what: own.subjects[kind],
    detail: each.detail,
    option: optionText(each.paymentOption, writing),
    amount: amountText(each.amount, each.currency, language),
    outcomes: subjectKinds[kind].outcomes.map((value) => ({
      value,
      text: own.outcomes[value],
      effect: own.effects[value],
    })),
    proposal:
      proposal === undefined
        ? undefined
        : {
            id: proposal.settlementId,
            isOwn: proposal.proposedBy === `dashboard:${userId}`,
            outcome: outcomeText(proposal.outcome, own),
            by: own.proposal.by(
              operatorText(proposal.proposedBy, writing),
              momentOf(proposal.expireTime, language, timeZone)?.text ?? '',
            ),
            reason: own.proposal.reason(proposal.reason),
            reference: own.proposal.reference(proposal.providerReference),
          },
  };
}

const states = {
  [SettlementStatus.UNSPECIFIED]: { name: 'proposed', tone: 'info' },
  [SettlementStatus.PROPOSED]: { name: 'proposed', tone: 'info' },
  [SettlementStatus.CONFIRMED]: { name: 'confirmed', tone: 'good' },
  [SettlementStatus.WITHDRAWN]: { name: 'withdrawn', tone: 'warn' },
  [SettlementStatus.EXPIRED]: { name: 'expired', tone: 'warn' },
} as const satisfies Record<SettlementStatus, { name: keyof Words['history']['states']; tone: string }>;

/** A row of the latest settlements. */
export function settlementRow(settlement: Settlement, writing: SettlementWriting) {
  const { own, language, timeZone } = writing;
  const { name, tone } = states[settlement.status];
  const base = `/m/${settlement.merchantId}/${environmentName(settlement.environment)}`;
  return {
    id: settlement.settlementId,
    orderHref: settlement.orderId === '' ? '' : `${base}/orders/${settlement.orderId}`,
    when: momentOf(settlement.createTime, language, timeZone),
    outcome: outcomeText(settlement.outcome, own),
    reason: own.proposal.reason(settlement.reason),
    reference: own.proposal.reference(settlement.providerReference),
    who: [settlement.proposedBy, settlement.decidedBy]
      .filter((actor) => actor !== '')
      .map((actor) => operatorText(actor, writing))
      .join(', '),
    state: { text: own.history.states[name], tone },
  };
}
