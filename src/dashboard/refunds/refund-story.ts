import { RefundStatus } from '../../gen/gatehouse/v1/order_pb.js';
import type { Refund } from '../../gen/gatehouse/v1/order_pb.js';
import type { ListUsersResponse } from '../../gen/gatehouse/v1/account_service_pb.js';
import { amountText } from '../../contract/amount-text.ts';
import { momentOf } from '../moment-text.ts';
import { optionText } from '../payments/order-words.ts';
import { refundStateText } from './refund-writing.ts';
import type { RefundWords, RefundWriting } from './refund-writing.ts';
import { numberFormat } from '../../platform/language/formats.ts';

/** The users of the team that are known. */
export type KnownTeam = Pick<ListUsersResponse, 'users' | 'hasMore'>;

/** A person or program as the audit log names it, such as `dashboard:usr_…`, in words. */
function personText(actor: string, team: KnownTeam | undefined, { one }: RefundWords): string {
  const { people } = one;
  const [role = '', name = ''] = actor.split(/:(.*)/s);
  switch (role) {
    case 'dashboard': {
      const user = team?.users.find(({ userId }) => userId === name);
      if (user !== undefined) return `${user.name} (${user.email})`;
      // The user may be one of those that are not known.
      return team === undefined || team.hasMore ? name : people.former(name);
    }
    case 'facade':
      return people.apiKey(name);
    case 'operator':
      return name === '' ? people.someOperator : people.operator(name);
    default:
      return people.service;
  }
}

/** The state of a refund in one sentence. */
function refundSummary(refund: Refund, writing: RefundWriting): string {
  const { own, language, timeZone } = writing;
  const { summary } = own.one;
  const option = optionText(refund.paymentOption, writing);
  const amount = amountText(refund.amount, refund.currency, language);
  const when = momentOf(refund.updateTime, language, timeZone)?.text ?? '';
  const isSettled = refund.settlementId !== '';
  switch (refund.status) {
    case RefundStatus.AWAITING_APPROVAL:
      return summary.awaiting;
    case RefundStatus.REQUESTED:
      return summary.requested(option);
    case RefundStatus.SENT:
      return summary.sent(option);
    case RefundStatus.COMPLETED:
      return isSettled ? summary.settledCompleted(amount, when) : summary.completed(amount, option, when);
    case RefundStatus.FAILED:
      if (refund.failureReason === 'approval_declined') return summary.declined(when);
      return isSettled ? summary.settledFailed(when) : summary.failed(when, failureOf(refund, own).reason);
    default:
      return summary.unknown(option);
  }
}

const failureOf = ({ failureReason }: Refund, { failures, otherFailure }: RefundWords) =>
  failures[failureReason] ?? otherFailure;

/** The view of the page of a refund. */
export function refundStory(refund: Refund, team: KnownTeam | undefined, writing: RefundWriting) {
  const { own, language, timeZone } = writing;
  const words = own.one.facts;
  const isFailed = refund.status === RefundStatus.FAILED;
  const isDeclined = refund.failureReason === 'approval_declined';
  const person = (actor: string): string => (actor === '' ? '' : personText(actor, team, own));
  const texts: readonly (readonly [string, string])[] = [
    [words.id, refund.refundId],
    [words.number, refund.refundNumber],
    [words.reason, refund.reason],
    [words.option, optionText(refund.paymentOption, writing)],
    [words.askedBy, person(refund.requestedBy)],
    [isDeclined ? words.declinedBy : words.approvedBy, person(refund.decidedBy)],
    [words.reference, refund.providerReference],
    [words.transaction, refund.providerTransactionId],
    [words.answer, refund.detail],
    [words.tries, refund.tries === 0 ? '' : numberFormat(language).format(refund.tries)],
    [words.settlement, refund.settlementId],
  ];
  const moment = (time: Refund['createTime']) => momentOf(time, language, timeZone);
  return {
    amount: amountText(refund.amount, refund.currency, language),
    state: refundStateText(refund, own),
    summary: refundSummary(refund, writing),
    advice: isFailed ? failureOf(refund, own).advice : undefined,
    texts: texts.filter(([, text]) => text !== '').map(([label, text]) => ({ label, text })),
    times: [
      { label: words.created, moment: moment(refund.createTime) },
      { label: words.updated, moment: moment(refund.updateTime) },
    ],
  };
}
