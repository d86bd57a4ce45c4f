import { answeredWith, outcomeTable, paid } from '../payer-outcomes.ts';
import type { PayerOutcome } from '../payer-outcomes.ts';
import { errorBody } from './mpesa-reply.ts';

/** The behaviour of M-Pesa besides the outcomes that all wallets have. */
export type Quirk =
  /** The query says that the payment is being processed by an error with status 500. */
  | 'processing_as_error'
  /** The first answer to a status query does not arrive. */
  | 'status_result_lost'
  /** The result of a reversal does not arrive. */
  | 'reversal_result_lost'
  /** The first query is refused because there were too many. */
  | 'query_rate_limited_once'
  | 'missing_in_statement'
  | 'another_amount_in_statement';

export interface MpesaOutcome extends PayerOutcome {
  readonly quirk?: Quirk;
}

/** The result codes of a payer who declines, and of one who does not answer. */
export const codes = { declined: '1032', expired: '1037' };

const common = outcomeTable({
  insufficientFunds: '1',
  wrongPin: '2001',
  declined: codes.declined,
  expired: codes.expired,
  payerNotFound: 'C2B00011',
  limitExceeded: '4',
  accountBarred: '8006',
  undefinedStatus: '7777',
  unavailable: {
    status: 503,
    body: errorBody('6b8a-4d5c-1', '500.003.1001', 'Service is currently under maintenance'),
  },
  internalError: { status: 500, body: errorBody('6b8a-4d5c-2', '500.003.1001', 'Internal Server Error') },
});

const special: ReadonlyMap<number, MpesaOutcome> = new Map<number, MpesaOutcome>([
  [
    5,
    answeredWith('unknown subscriber', {
      status: 400,
      body: errorBody('6b8a-4d5c-3', '400.002.02', 'Bad Request - Invalid PhoneNumber'),
    }),
  ],
  [24, { ...paid, summary: 'paid; missing from the statement', quirk: 'missing_in_statement' }],
  [25, { ...paid, summary: 'paid; statement shows another amount', quirk: 'another_amount_in_statement' }],
  [
    30,
    answeredWith('subscriber busy with another transaction', {
      status: 500,
      body: errorBody(
        '6b8a-4d5c-4',
        '500.001.1001',
        'Unable to lock subscriber, a transaction is already in process for the current subscriber',
      ),
    }),
  ],
  [31, { ...paid, summary: 'success; processing is reported as an error', quirk: 'processing_as_error' }],
  [32, { ...paid, summary: 'paid; first answer to a status query lost', quirk: 'status_result_lost' }],
  [33, { ...paid, summary: 'paid; result of the reversal lost', quirk: 'reversal_result_lost' }],
  [34, { ...paid, summary: 'paid; first query refused by spike arrest', quirk: 'query_rate_limited_once' }],
]);

/** The outcome that the last two digits of a number select; undefined for other numbers. */
export function outcomeOfNumber(prefix: string, msisdn: string): MpesaOutcome | undefined {
  if (msisdn.length !== 12 || !msisdn.startsWith(`${prefix}7000000`)) return undefined;
  const index = Number(msisdn.slice(-2));
  return special.get(index) ?? common[index];
}

/** The texts of the result codes of a payment request. */
export const resultTexts: Readonly<Record<string, string>> = {
  '0': 'The service request is processed successfully.',
  '1': 'The balance is insufficient for the transaction.',
  '4': 'Declined due to limit rule: would exceed daily transfer limit.',
  '1032': 'Request Cancelled by user.',
  '1037': 'DS timeout user cannot be reached.',
  '2001': 'The initiator information is invalid.',
  '4999': 'The transaction is still under processing',
  '7777': 'The request is under review.',
  '8006': 'The security credential is locked.',
};
