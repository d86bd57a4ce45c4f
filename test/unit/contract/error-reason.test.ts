import { describe, expect, test } from '@jest/globals';
import { fromBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  BadRequestSchema,
  ErrorInfoSchema,
  RetryInfoSchema,
} from '../../../src/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../../src/gen/google/rpc/status_pb.js';
import { errorReasons, rpcError } from '../../../src/contract/error-reason.ts';
import type { ReasonStatus } from '../../../src/platform/rpc/error-reason.ts';
import type { ErrorReason } from '../../../src/contract/error-reason.ts';
import {
  encodeStatus,
  fromStatus,
  invalidFields,
  reasonOf,
  toStatus,
} from '../../../src/platform/rpc/rpc-error.ts';

const full = () =>
  rpcError('OVERLOADED', 'too much', {
    issues: [
      { field: 'amount', issue: 'is required' },
      { field: 'requests', issue: 'must have items' },
    ],
    retryAfterMs: 1_500,
    metadata: { limit: '5' },
    cause: new Error('canary'),
  });

test.each(Object.entries(errorReasons) as [ErrorReason, ReasonStatus][])(
  'an error with the reason %s has its code and the domain',
  (reason, { code }) => {
    const error = rpcError(reason, 'a message');
    expect(error).toMatchObject({ code, rawMessage: 'a message' });
    expect(error.findDetails(ErrorInfoSchema)).toEqual([
      expect.objectContaining({ reason, domain: 'gatehouse', metadata: {} }),
    ]);
    expect(reasonOf(error)).toBe(reason);
  },
);

describe('a round trip through google.rpc.Status', () => {
  const received = () => fromStatus(fromBinary(StatusSchema, encodeStatus(toStatus(full()))));

  test('keeps code, message and every detail', () => {
    const error = received();
    expect(error).toMatchObject({ code: Code.ResourceExhausted, rawMessage: 'too much' });
    expect(error.findDetails(ErrorInfoSchema)).toMatchObject([
      { reason: 'OVERLOADED', domain: 'gatehouse', metadata: { limit: '5' } },
    ]);
    expect(error.findDetails(BadRequestSchema)).toMatchObject([
      {
        fieldViolations: [
          { field: 'amount', description: 'is required' },
          { field: 'requests', description: 'must have items' },
        ],
      },
    ]);
    expect(error.findDetails(RetryInfoSchema)).toMatchObject([
      { retryDelay: { seconds: 1n, nanos: 500_000_000 } },
    ]);
    expect(reasonOf(error)).toBe('OVERLOADED');
  });

  test('changes nothing the second time', () => {
    expect(toStatus(received())).toEqual(toStatus(full()));
  });

  test('omits the cause', () => {
    expect(received().cause).toBeUndefined();
    expect(encodeStatus(toStatus(full())).toString('latin1')).not.toContain('canary');
  });
});

test('the types of the details are named as in google.protobuf.Any', () => {
  expect(toStatus(full()).details.map(({ typeUrl }) => typeUrl)).toEqual([
    'type.googleapis.com/google.rpc.ErrorInfo',
    'type.googleapis.com/google.rpc.BadRequest',
    'type.googleapis.com/google.rpc.RetryInfo',
  ]);
});

test('invalidFields names every issue in its message, too', () => {
  const error = invalidFields([
    { field: 'amount', issue: 'is required' },
    { field: 'reason', issue: 'is too long' },
  ]);
  expect(error.rawMessage).toBe('amount is required; reason is too long');
});

test('invalidFields has at most 50 issues, and says how many it leaves out', () => {
  const error = invalidFields(
    Array.from({ length: 52 }, (_, i) => ({ field: `f${i}`, issue: 'is unknown' })),
  );
  expect(error.rawMessage).toMatch(/^f0 is unknown; .*; f49 is unknown; and 2 more$/);
  const { fieldViolations } = fromBinary(BadRequestSchema, toStatus(error).details[1]!.value);
  expect(fieldViolations).toHaveLength(50);
});

test.each([
  ['an error without details', new ConnectError('x', Code.Internal)],
  [
    "another system's error",
    new ConnectError('x', Code.Internal, undefined, [
      { desc: ErrorInfoSchema, value: { reason: 'THEIRS', domain: 'example.com' } },
    ]),
  ],
])('%s has no reason of Gatehouse', (_what, error) => {
  expect(reasonOf(fromStatus(toStatus(error)))).toBeUndefined();
});
