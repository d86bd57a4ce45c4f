import { describe, expect, test } from '@jest/globals';
import { fromBinary } from '@bufbuild/protobuf';
import { accountChangeIn, accountChangeMessage } from '../../../src/core/events/account-changes.ts';
import type { AccountChange } from '../../../src/core/events/account-changes.ts';
import { createAccountTimeline } from '../../../src/core/payments/changes/account-timeline.ts';
import { OrderEventSchema } from '../../../src/gen/gatehouse/v1/order_pb.js';
import { storedId } from '../../support/ids.ts';

const at = (minute: number): Date => new Date(Date.UTC(2026, 2, 10, 12, minute));
const merchantId = storedId('mer', 'mer_01m7xjbb99evv8hx2dqm5r8qgn');
const account = storedId('wac', 'wac_01m7xjbb99evv8hx2dqm5r8qgn');
const later = storedId('wac', 'wac_01m7xjy0avewxs5hk9qy0p24h6');
const change: AccountChange = {
  merchantId,
  environment: 'SANDBOX',
  wallet: 'walleta',
  walletAccountId: account,
  payee: 'accountid 3001 – Ä',
  changedAt: at(1),
};

/** The message as a reader of the stream gets it. */
const stored = (headers: Readonly<Record<string, string>>) => ({
  header: (name: string): string => headers[name] ?? '',
});

describe('a change of accounts in the stream', () => {
  test.each([
    ['of an account', change],
    ['of an account without a known payee', { ...change, payee: null }],
    ["back to the operator's account", { ...change, walletAccountId: null, payee: '' }],
  ])('%s is read as it was written', (_, written) => {
    const { headers } = accountChangeMessage(written, 'id', 'lineage');
    expect(accountChangeIn(stored(headers), 'lineage')).toEqual(written);
  });

  test('says nothing to another database, and to a reader of events', () => {
    const { subject, headers, body } = accountChangeMessage(change, 'id', 'lineage');

    expect(accountChangeIn(stored(headers), 'another')).toBeUndefined();
    expect(subject).toBe('orders.accounts.mer_01m7xjbb99evv8hx2dqm5r8qgn.changed');
    // Headers of events: a restored core of an earlier version would take the message for an event.
    for (const name of ['Gatehouse-Cursor', 'Gatehouse-Previous-Cursor', 'Gatehouse-Lineage'])
      expect(headers).not.toHaveProperty(name);
    expect(fromBinary(OrderEventSchema, body).order).toBeUndefined();
  });

  test.each([
    ['text', 'not base64 of JSON'],
    ['no object', Buffer.from('7').toString('base64url')],
    ['an unknown environment', told({ environment: 'LUNAR' })],
    ['no time', told({ change_time: 'soon' })],
    ['an account of another form', told({ wallet_account_id: 'account-1' })],
  ])('with %s is not taken for no change', (_, text) => {
    const headers = { 'Gatehouse-Account-Change': text };
    expect(accountChangeIn(stored(headers), 'lineage')).toBe('unreadable');
  });

  test('is absent from an event', () => {
    expect(accountChangeIn(stored({ 'Gatehouse-Cursor': '1.2' }), 'lineage')).toBeUndefined();
  });
});

function told(over: object): string {
  const { headers } = accountChangeMessage(change, 'id', 'lineage');
  const text = Buffer.from(headers['Gatehouse-Account-Change'] ?? '', 'base64url').toString();
  return Buffer.from(JSON.stringify({ ...(JSON.parse(text) as object), ...over })).toString('base64url');
}

describe('the account of a payment that has not ended', () => {
  const timeline = createAccountTimeline();
  timeline.add([{ ...change, walletAccountId: later, changedAt: at(5) }]);
  timeline.add([change, { ...change, walletAccountId: null, changedAt: at(9) }]);
  const payment = { merchantId, environment: 'SANDBOX', wallet: 'walleta' } as const;

  test.each([
    ['unknown before the first change', 0, undefined],
    ['that of the change before it', 4, account],
    ['the next one from its change on', 5, later],
    ["the operator's after the merchant's was retired", 9, null],
  ])('is %s', (_, minute, expected) => {
    expect(timeline.at({ ...payment, createdAt: at(minute) })).toBe(expected);
  });

  test.each([
    ['wallet', { wallet: 'walletb' }],
    ['environment', { environment: 'PRODUCTION' as const }],
    ['merchant', { merchantId: storedId('mer', 'mer_01m7xjy0avewxs5hk9qy0p24h6') }],
  ])('is not that of another %s', (_, over) => {
    expect(timeline.at({ ...payment, ...over, createdAt: at(4) })).toBeUndefined();
  });
});
