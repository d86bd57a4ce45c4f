import { create } from '@bufbuild/protobuf';
import { expect, test } from '@jest/globals';
import { fingerprintOf } from '../../../src/core/payments/idempotency/keyed-calls.ts';
import { CreateRefundRequestSchema } from '../../../src/gen/gatehouse/v1/refund_service_pb.js';

const request = {
  merchantId: 'mer_1',
  refundNumber: 'R-1',
  amount: '40.50',
  reason: 'Shoes came back',
  apiKeyId: 'key_1',
  idempotencyKey: 'a',
};
const fingerprint = (changes: Partial<typeof request> & { readonly validateOnly?: boolean } = {}): string =>
  fingerprintOf(
    CreateRefundRequestSchema,
    create(CreateRefundRequestSchema, { ...request, ...changes }),
  ).toString('hex');

test.each([{ apiKeyId: 'key_2' }, { idempotencyKey: 'b' }, { validateOnly: true }])(
  'a repeat with %j is the same request',
  (changes) => {
    expect(fingerprint(changes)).toBe(fingerprint());
  },
);

test.each([{ merchantId: 'mer_2' }, { refundNumber: 'R-2' }, { amount: '40.5' }, { reason: '' }])(
  'one with %j is another request',
  (changes) => {
    expect(fingerprint(changes)).not.toBe(fingerprint());
  },
);
