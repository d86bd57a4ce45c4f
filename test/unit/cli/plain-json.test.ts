import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import { jsonLine } from '../../../src/cli/output.ts';
import { plainJson, valueOf, wordOf, wordsOf } from '../../../src/cli/plain-json.ts';
import { ApiKeySchema, ApiKeyScope } from '../../../src/gen/gatehouse/v1/api_key_service_pb.js';
import { AuditEntrySchema } from '../../../src/gen/gatehouse/v1/audit_service_pb.js';
import {
  OrderEventSchema,
  OrderStatus,
  OrderStatusSchema,
  PaymentTypeSchema,
} from '../../../src/gen/gatehouse/v1/order_pb.js';

describe('a message as JSON', () => {
  test('has every field of the contract under its name there, and null without a value', () => {
    const json = plainJson(OrderEventSchema, create(OrderEventSchema, { sequence: 1n }));

    expect(json).toEqual({
      ...{ event_id: '', type: null, sequence: '1', occur_time: null, previous_status: null },
      ...{ order: null, payment_attempt: null, decision: null, request_id: '' },
      ...{
        refund: null,
        settlement_id: '',
        stray_payment_id: '',
        traceparent: '',
        provider_transaction_id: '',
      },
    });
  });

  test('has enums as lower-case words, also in nested messages and lists', () => {
    const event = create(OrderEventSchema, {
      previousStatus: OrderStatus.PENDING,
      order: { status: OrderStatus.COMPLETED, paymentOption: 'walleta_ussd', amount: '1.50' },
    });

    expect(plainJson(OrderEventSchema, event)).toMatchObject({
      previous_status: 'pending',
      order: { status: 'completed', payment_option: 'walleta_ussd', amount: '1.50' },
    });
    const key = create(ApiKeySchema, { scopes: [ApiKeyScope.REFUNDS] });
    expect(plainJson(ApiKeySchema, key)).toMatchObject({ scopes: ['refunds'] });
  });

  test('has times and free-form details as in ProtoJSON', () => {
    const createTime = timestampFromDate(new Date('2026-01-31T08:30:15.250Z'));
    const entry = create(AuditEntrySchema, { createTime, details: { reason: 'fraud', count: 2 } });

    expect(plainJson(AuditEntrySchema, entry)).toMatchObject({
      create_time: '2026-01-31T08:30:15.250Z',
      details: { reason: 'fraud', count: 2 },
    });
  });
});

describe('the words of an enum', () => {
  test('omit unspecified values', () => {
    expect(wordsOf(OrderStatusSchema)).toEqual(['pending', 'completed', 'failed', 'expired']);
    expect(wordOf(PaymentTypeSchema, 0)).toBeUndefined();
    expect(valueOf(OrderStatusSchema, 'unspecified')).toBeUndefined();
  });

  test('are read in either case', () => {
    expect(valueOf(OrderStatusSchema, 'Expired')).toBe(OrderStatus.EXPIRED);
  });

  test('are replaced by the number of a value that a newer core has added', () => {
    expect(wordOf(OrderStatusSchema, 99)).toBe('99');
  });
});

test('a line of JSON has the same values, without characters that control the terminal', () => {
  const hostile = 'boom \u001b[2J\u001b]0;owned\u0007\u009b31m\u202egnp';

  const line = jsonLine({ response_body: hostile });

  // eslint-disable-next-line no-control-regex -- what must not be there
  expect(line).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
  expect(JSON.parse(line)).toEqual({ response_body: hostile });
});
