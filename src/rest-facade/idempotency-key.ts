import { Type } from '@sinclair/typebox';
import type { FastifyRequest } from 'fastify';
import type { ErrorDetail } from '../merchant-api/error-envelope.ts';

const field = 'Idempotency-Key';
const form = /^[\x20-\x7e]{1,255}$/;

export interface IdempotencyKeyReading {
  /** '' without a usable key. */
  readonly idempotencyKey: string;
  readonly keyProblems: readonly ErrorDetail[];
}

/**
 * Reads the header Idempotency-Key. The IETF draft asks for a quoted string (RFC 9651), and most clients send the text without
 * quotes. Both spellings are the same key.
 */
export function readIdempotencyKey({ raw }: Pick<FastifyRequest, 'raw'>): IdempotencyKeyReading {
  // Node builds the list of distinct headers on first use, which costs more than the rest of this function.
  const values =
    raw.headers['idempotency-key'] === undefined ? undefined : raw.headersDistinct['idempotency-key'];
  if (values === undefined) return { idempotencyKey: '', keyProblems: [] };
  const problem = (issue: string) => ({ idempotencyKey: '', keyProblems: [{ field, issue }] });
  const [value = ''] = values;
  if (values.length > 1) return problem('must be given only once');
  const key = /^"(?:[^"\\]|\\["\\])*"$/.test(value) ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
  if (form.test(key)) return { idempotencyKey: key, keyProblems: [] };
  return problem('must be 1 to 255 printable ASCII characters');
}

/** The header in the OpenAPI document. */
export const idempotencyKeyHeader = Type.Object({
  'Idempotency-Key': Type.Optional(
    Type.String({
      description:
        'A key that you choose for this request: 1 to 255 printable ASCII characters. For 24 hours, the same request with the same key gets ' +
        'the first 201 again, byte for byte. Another request with the key gets 422.',
      examples: ['8e03978e-40d5-43e8-bc93-6894a57f9324'],
    }),
  ),
});
