import { signedHeaders } from '../../contract/webhook-signature.ts';
import type { ReceiverCheckName } from '../../contract/certification-checks.ts';
import type { Forwarded } from '../forward-webhook.ts';
import { failed, notTested, passed } from './check.ts';
import type { Check } from './check.ts';
import { madeUpOrder, orderEvent } from './made-up-events.ts';
import {
  allAccepted,
  allRefused,
  answerText,
  completedEvent,
  isAccepted,
  randomSecret,
} from './receiver-answers.ts';
import type { ReceiverParts } from './receiver-answers.ts';

const hourMs = 60 * 60_000;

/** Signatures that the receiver must accept, and those that it must refuse. */
export function signatureChecks(parts: ReceiverParts): readonly Check<ReceiverCheckName>[] {
  return [
    ...rotationChecks(parts),
    ...forgeryChecks(parts),
    ...timestampChecks(parts),
    ...requestChecks(parts),
  ];
}

function rotationChecks({
  sender,
  secret,
  nextSecret,
  now,
}: ReceiverParts): readonly Check<ReceiverCheckName>[] {
  return [
    {
      name: 'several_signatures',
      needs: ['accepts_genuine'],
      fix:
        'Split webhook-signature at its spaces, and accept the webhook if one of the signatures is right. ' +
        'During a rotation there are two.',
      run: async () => {
        const other = randomSecret();
        const ours = await sender.send(completedEvent(now()), { secrets: { current: secret, next: other } });
        const event = completedEvent(now());
        // The receiver's secret now signs second, as if the receiver had replaced it early. X-SVC-HMAC-Signature has no second signature.
        const body = Buffer.from(JSON.stringify(event.body));
        const own = signedHeaders({ eventId: event.id, body, at: now(), secrets: { current: secret } });
        const theirs = await sender.send(event, {
          secrets: { current: other, next: secret },
          headers: { 'X-SVC-HMAC-Signature': own['X-SVC-HMAC-Signature'] },
        });
        return allAccepted([
          ['two signatures of which the first is right', ours],
          ['two signatures of which the second is right', theirs],
        ]);
      },
    },
    {
      name: 'secret_rotation',
      needs: ['several_signatures'],
      fix: 'Keep both secrets during a rotation, and accept a webhook that either of them signed.',
      run: async () => {
        if (nextSecret === undefined)
          return notTested('needs two secrets, the current one and the next one, that the receiver accepts');
        return allAccepted([
          [
            'a webhook signed with both secrets',
            await sender.send(completedEvent(now()), { secrets: { current: secret, next: nextSecret } }),
          ],
          [
            'a webhook signed with the next secret only',
            await sender.send(completedEvent(now()), { secrets: { current: nextSecret } }),
          ],
          ['a webhook signed with the current secret only', await sender.send(completedEvent(now()))],
        ]);
      },
    },
  ];
}

function forgeryChecks({ sender, now }: ReceiverParts): readonly Check<ReceiverCheckName>[] {
  return [
    {
      name: 'forged_signature',
      needs: ['accepts_genuine'],
      fix:
        'Compute the signature of the id, the timestamp and the body with your secret. Compare it in constant time, and ' +
        'answer 401 when it differs.',
      run: async () => {
        const at = now();
        const secrets = { current: randomSecret(), next: randomSecret() };
        const unpaid = orderEvent('order.failed', madeUpOrder(at), at);
        const sentText = JSON.stringify(unpaid.body)
          .replaceAll('failed', 'completed')
          .replaceAll('FAILED', 'COMPLETED');
        return allRefused([
          ['a webhook signed with another secret', await sender.send(completedEvent(at), { secrets })],
          ['an order.failed that was changed to order.completed', await sender.send(unpaid, { sentText })],
        ]);
      },
    },
    {
      name: 'missing_signature',
      needs: ['forged_signature'],
      fix: 'Refuse a request that lacks a signature header. Anyone on the internet can send one.',
      run: async () => {
        const unsigned = { 'webhook-signature': undefined, 'X-SVC-HMAC-Signature': undefined };
        const bare = { ...unsigned, 'webhook-id': undefined, 'webhook-timestamp': undefined };
        return allRefused([
          ['a webhook without signatures', await sender.send(completedEvent(now()), { headers: unsigned })],
          [
            'a webhook with empty signatures',
            await sender.send(completedEvent(now()), {
              headers: { 'webhook-signature': '', 'X-SVC-HMAC-Signature': '' },
            }),
          ],
          ['a body without any webhook header', await sender.send(completedEvent(now()), { headers: bare })],
        ]);
      },
    },
  ];
}

function timestampChecks({ sender, now }: ReceiverParts): readonly Check<ReceiverCheckName>[] {
  const ageFix =
    'Refuse a webhook whose webhook-timestamp is more than five minutes from your clock, in either direction.';
  return [
    {
      name: 'replayed_timestamp',
      needs: ['forged_signature'],
      fix: 'Verify webhook-signature, which covers the timestamp. X-SVC-HMAC-Signature covers the body only.',
      run: async () => {
        const [at, signedAt] = [now(), new Date(now().getTime() - hourMs)];
        const headers = { 'webhook-timestamp': String(Math.floor(at.getTime() / 1000)) };
        return allRefused([
          [
            'a recorded webhook whose timestamp was replaced',
            await sender.send(completedEvent(at), { signedAt, headers }),
          ],
        ]);
      },
    },
    {
      name: 'stale_timestamp',
      needs: ['replayed_timestamp'],
      fix: ageFix,
      run: async () => {
        const signedAt = new Date(now().getTime() - hourMs);
        return allRefused([
          ['a webhook signed an hour ago', await sender.send(completedEvent(now()), { signedAt })],
        ]);
      },
    },
    {
      name: 'future_timestamp',
      needs: ['stale_timestamp'],
      fix: ageFix,
      run: async () => {
        const signedAt = new Date(now().getTime() + hourMs);
        return allRefused([
          ['a webhook signed an hour ahead', await sender.send(completedEvent(now()), { signedAt })],
        ]);
      },
    },
  ];
}

function requestChecks({ sender, now }: ReceiverParts): readonly Check<ReceiverCheckName>[] {
  return [
    {
      name: 'malformed_signature',
      needs: ['forged_signature', 'raw_body'],
      fix:
        'Check the form of headers before you use them, and answer 401. A constant-time comparison throws for two ' +
        'lengths in some languages.',
      run: async () => {
        const garbled: readonly (readonly [string, Record<string, string>])[] = [
          [
            'a signature that is too short',
            { 'webhook-signature': 'v1,AAAA', 'X-SVC-HMAC-Signature': 'abc' },
          ],
          ['a signature that is not base64', { 'webhook-signature': '%%%', 'X-SVC-HMAC-Signature': 'zz zz' }],
          ['a timestamp that is not a number', { 'webhook-timestamp': 'now', 'X-SVC-HMAC-Signature': 'abc' }],
        ];
        const answers: [string, Forwarded][] = [];
        for (const [webhook, headers] of garbled)
          answers.push([webhook, await sender.send(completedEvent(now()), { headers })]);
        const secrets = { current: randomSecret() };
        answers.push([
          'a forged body that is not JSON',
          await sender.send(completedEvent(now()), { secrets, text: '{' }),
        ]);
        const verdict = allRefused(answers);
        const after = await sender.send(completedEvent(now()));
        if (verdict.result === 'failed' || isAccepted(after)) return verdict;
        return failed(`${answerText(after)} to a genuine webhook after them`);
      },
    },
    {
      name: 'only_post',
      needs: ['accepts_genuine'],
      fix: 'Handle POST only. A link or a crawler that visits the URL must have no effect: answer 405.',
      run: async () => {
        const answer = await sender.get();
        return isAccepted(answer)
          ? failed(`answered ${answer.status} to a GET`)
          : passed(`a GET: ${answerText(answer)}`);
      },
    },
  ];
}
