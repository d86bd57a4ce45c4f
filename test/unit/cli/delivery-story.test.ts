import { create } from '@bufbuild/protobuf';
import type { MessageShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { describe, expect, test } from '@jest/globals';
import {
  showAnswer,
  showBody,
  showDue,
  showDeliveryAttempts,
  showResult,
  storyJson,
} from '../../../src/cli/webhooks/delivery-story.ts';
import { showNextAttempt } from '../../../src/cli/webhooks/next-attempt.ts';
import { Environment } from '../../../src/gen/gatehouse/v1/order_pb.js';
import {
  DeliveryAttemptResult,
  DeliveryAttemptSchema,
  DeliverySchema,
  DeliveryState,
  EndpointState,
  ExplainDeliveryResponseSchema,
  GetDeliveryResponseSchema,
} from '../../../src/gen/gatehouse/v1/webhook_service_pb.js';

type Attempt = Partial<Omit<MessageShape<typeof DeliveryAttemptSchema>, '$typeName' | '$unknown'>>;

const refused: Attempt = {
  number: 1,
  startTime: timestampFromDate(new Date('2026-11-21T12:00:00Z')),
  duration: durationFromMs(12),
  result: DeliveryAttemptResult.REFUSED,
  statusCode: 500,
  detail: 'answered 500 Internal Server Error; only 2xx counts as received',
  remoteAddress: '203.0.113.7',
  responseBody: '{"error":"boom"}',
};

const attempt = (changes: Attempt = {}) => create(DeliveryAttemptSchema, { ...refused, ...changes });
const story = (attempts: readonly Attempt[], body = '{}') =>
  create(GetDeliveryResponseSchema, {
    delivery: { deliveryId: 'whd_1', attemptCount: attempts.length },
    body: Buffer.from(body),
    attempts: attempts.map((changes) => attempt(changes)),
  });

type StateName = keyof typeof DeliveryState;
type EndpointName = keyof typeof EndpointState;
const at = '2026-11-21T12:00:00Z';

test.each<[StateName, EndpointName, string]>([
  ['PENDING', 'OPEN', at],
  ['PENDING', 'UNSPECIFIED', at],
  ['PENDING', 'RESTING', `${at} or later: the circuit of its host is open`],
  ['PENDING', 'PAUSED', 'when its host, which is paused, is resumed'],
  ['DELIVERED', 'PAUSED', ''],
  ['GIVEN_UP', 'OPEN', ''],
])('a delivery that is %s of an endpoint that is %s is due: %s', (state, of, words) => {
  const dueTime = timestampFromDate(new Date(at));
  const delivery = { state: DeliveryState[state], endpointState: EndpointState[of], dueTime };
  expect(showDue(create(DeliverySchema, delivery))).toBe(words);
  const ofAwaited = words === at ? 'when a signing secret is created' : undefined;
  if (ofAwaited !== undefined)
    expect(showDue(create(DeliverySchema, { ...delivery, awaitsSecret: true }))).toBe(ofAwaited);
});

test.each<[StateName, EndpointName, boolean, string]>([
  ['PENDING', 'OPEN', true, `It is sent again at ${at}. To see why it fails:`],
  ['PENDING', 'OPEN', false, 'Another delivery must end first. To see which:'],
  ['PENDING', 'RESTING', true, 'The circuit of its host is open, so it is sent again at 2026'],
  ['PENDING', 'PAUSED', false, 'It is not sent while its host is paused.'],
  ['GIVEN_UP', 'OPEN', false, 'It is abandoned, and Gatehouse does not send it again automatically.'],
  ['GIVEN_UP', 'PAUSED', false, 'It is abandoned, and Gatehouse does not send it again automatically.'],
  ['DELIVERED', 'OPEN', false, 'It has been delivered since then.'],
])(
  'a failed delivery that is %s of an endpoint that is %s is shown with its next attempt and commands',
  (state, of, isNext, words) => {
    const ids = { merchantId: 'mer_1', deliveryId: 'whd_1', environment: Environment.SANDBOX };
    const explained = create(ExplainDeliveryResponseSchema, {
      delivery: { ...ids, state: DeliveryState[state] },
      endpoint: { endpoint: 'https://shop.example', state: EndpointState[of] },
      ...(isNext ? { nextAttemptTime: timestampFromDate(new Date(at)) } : {}),
    });
    const said = showNextAttempt(explained);

    expect(said).toContain(words);
    expect(said.includes('gatehouse webhook resume mer_1 https://shop.example --environment sandbox')).toBe(
      of === 'PAUSED' && state === 'PENDING',
    );
  },
);

test('the command that resumes a host quotes an address that a shell would expand', () => {
  const explained = create(ExplainDeliveryResponseSchema, {
    delivery: { merchantId: 'mer_1', environment: Environment.SANDBOX, state: DeliveryState.PENDING },
    endpoint: { endpoint: 'http://[::1]:3000', state: EndpointState.PAUSED },
  });

  expect(showNextAttempt(explained)).toMatch(
    /\ngatehouse webhook resume mer_1 'http:\/\/\[::1\]:3000' --environment sandbox$/,
  );
});

test('a failed delivery of a paused webhook endpoint names the command that resumes this endpoint', () => {
  const delivery = { merchantId: 'mer_1', deliveryId: 'whd_1', webhookEndpointId: 'whe_1' };
  const explained = create(ExplainDeliveryResponseSchema, {
    delivery: { ...delivery, state: DeliveryState.PENDING },
    endpoint: { endpoint: 'https://shop.example', state: EndpointState.PAUSED },
  });

  expect(showNextAttempt(explained)).toMatch(/\ngatehouse webhook endpoint resume mer_1 whe_1$/);
});

describe('the outcome of an attempt', () => {
  test.each<[keyof typeof DeliveryAttemptResult, Attempt, string]>([
    ['DELIVERED', { statusCode: 204 }, 'answered 204 in 12 ms'],
    ['REFUSED', {}, 'answered 500 in 12 ms'],
    ['GONE', { statusCode: 410 }, 'answered 410 in 12 ms'],
    ['TIMED_OUT', { statusCode: 200, duration: durationFromMs(15_000) }, 'timed out after 15000 ms'],
    ['CONNECTION_FAILED', { statusCode: 0 }, 'connection failed after 12 ms'],
    ['UNREADABLE', { statusCode: 0 }, 'unreadable answer after 12 ms'],
    ['UNSPECIFIED', { statusCode: 0 }, 'unknown result after 12 ms'],
    ['TLS_FAILED', { statusCode: 0 }, 'TLS failed after 12 ms'],
    ['NAME_NOT_RESOLVED', { statusCode: 0 }, 'name not resolved after 12 ms'],
    ['ADDRESS_NOT_ALLOWED', { statusCode: 0 }, 'address not allowed after 12 ms'],
  ])('is described for the result %s', (result, changes, words) => {
    expect(showResult(attempt({ ...changes, result: DeliveryAttemptResult[result] }))).toBe(words);
  });

  test('shows the error, the request and the answer', () => {
    expect(showAnswer(attempt({ retryAfter: '120' }))).toEqual([
      refused.detail,
      'asked to wait: Retry-After: 120',
      '< {"error":"boom"}',
    ]);
  });

  test('omits what the delivery does not have', () => {
    expect(showAnswer(attempt({ detail: '', responseBody: ' \n' }))).toEqual([]);
  });

  test('shows the beginning of a long answer on one line', () => {
    const [, line = ''] = showAnswer(attempt({ responseBody: `<html>\r\n\t<body>${'x'.repeat(5_000)}` }));

    expect(line).toMatch(/^< <html> <body>x+… \(more of it: --json\)$/);
    expect(line.length).toBeLessThan(340);
  });
});

describe('attempts', () => {
  test('are listed in sequence, each with its time, result and sender', () => {
    expect(showDeliveryAttempts(story([refused]), 100).split('\n')).toEqual([
      'Attempts, newest first',
      '#1  2026-11-21T12:00:00Z  answered 500 in 12 ms by 203.0.113.7',
      '    answered 500 Internal Server Error; only 2xx counts as received',
      '    < {"error":"boom"}',
    ]);
  });

  test('are shown without the control characters that a receiver may have sent', () => {
    const evil = '\u001b]0;owned\u0007\u009b2J\u202e\u0000\u007f';

    const shown = showDeliveryAttempts(story([{ responseBody: evil, detail: evil, retryAfter: evil }]), 100);

    // eslint-disable-next-line no-control-regex -- what must not be there
    expect(shown).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
    expect(shown).toContain(String.raw`\u001b]0;owned\u0007`);
  });

  test('are counted when there are more than fit a screen', () => {
    const attempts = Array.from({ length: 25 }, (_, index) => ({ number: 25 - index }));

    const shown = showDeliveryAttempts(story(attempts), 100);

    expect(shown).toContain('#25 ');
    expect(shown).toContain('#6 ');
    expect(shown).not.toContain('#5 ');
    expect(shown).toContain('… and 5 before that');
  });

  test('are replaced by a sentence when there are none yet', () => {
    expect(showDeliveryAttempts(story([]), 100)).toBe('It has not been sent yet');
  });
});

describe('a body', () => {
  test('is formatted for people, and its escapes are kept', () => {
    const body = Buffer.from('{"data":{"reason":"\\u001b[2J ቡና \u009b"}}');

    expect(showBody(body)).toBe(
      String.raw`{
  "data": {
    "reason": "\u001b[2J ቡና \u009b"
  }
}`,
    );
  });

  test('that is not JSON is shown unchanged', () => {
    expect(showBody(Buffer.from('so \u0007 what'))).toBe(String.raw`so \u0007 what`);
  });

  test('is printed unchanged for scripts', () => {
    expect(storyJson(story([], '{"a": 1}'))).toMatchObject({ body: '{"a": 1}', attempts: [] });
  });
});
