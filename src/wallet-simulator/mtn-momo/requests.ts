import { Type } from '@sinclair/typebox';
import type { Static, TSchema } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parseAmount } from '../amount.ts';
import { mtnError, uuidPattern } from './gateway.ts';

const party = Type.Object({
  partyIdType: Type.Union([Type.Literal('MSISDN'), Type.Literal('EMAIL'), Type.Literal('PARTY_CODE')]),
  partyId: Type.String({ minLength: 1, maxLength: 256 }),
});

const common = {
  amount: Type.String({ minLength: 1, maxLength: 24 }),
  currency: Type.String({ pattern: '^[A-Z]{3}$' }),
  externalId: Type.Optional(Type.String({ maxLength: 256 })),
  payerMessage: Type.Optional(Type.String({ maxLength: 160 })),
  payeeNote: Type.Optional(Type.String({ maxLength: 160 })),
};

export const payBody = Type.Object({ ...common, payer: party });
export const payoutBody = Type.Object({ ...common, payee: party });
export const refundBody = Type.Object({ ...common, referenceIdToRefund: Type.String() });

/** A checked request: the amount is in ten-thousandths. */
export type Checked<Schema extends TSchema> = Static<Schema> & { readonly units: bigint };

/**
 * Checks a body: its form, currency and decimals.
 * @throws MtnError
 */
export function checkBody<Schema extends typeof payBody | typeof payoutBody | typeof refundBody>(
  schema: Schema,
  body: unknown,
  currencies: readonly string[],
): Checked<Schema> {
  if (!Value.Check(schema, body)) {
    const problem = Value.Errors(schema, body).First();
    throw mtnError(400, 'VALIDATION_ERROR', `${problem?.path.slice(1) ?? 'body'}: ${problem?.message ?? ''}`);
  }
  const { amount, currency, payerMessage, payeeNote } = body as Static<typeof payBody>;
  if (!currencies.includes(currency)) {
    throw mtnError(500, 'INVALID_CURRENCY', 'Currency not supported.');
  }
  if (/['"<>&`]/.test(`${payerMessage ?? ''}${payeeNote ?? ''}`)) {
    throw mtnError(400, 'VALIDATION_ERROR', 'payerMessage and payeeNote must not have special characters');
  }
  const decimals = decimalsOf(currency);
  const form = decimals === 0 ? /^[0-9]{1,15}$/ : new RegExp(`^[0-9]{1,15}([.][0-9]{1,${decimals}})?$`);
  const units = form.test(amount) ? parseAmount(amount) : 0n;
  if (units <= 0n)
    throw mtnError(400, 'VALIDATION_ERROR', 'amount must be positive, with the decimals of its currency');
  return { ...body, units };
}

const decimalsOf = (currency: string): number =>
  new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2;

/** The payer's or payee's number, digits only. MTN accepts no plus. @throws MtnError */
export function readMsisdn({ partyIdType, partyId }: Static<typeof party>): string {
  if (partyIdType !== 'MSISDN') return partyId;
  if (/^[1-9][0-9]{7,14}$/.test(partyId)) return partyId;
  throw mtnError(400, 'VALIDATION_ERROR', 'partyId must have the country code, digits only');
}

/** @throws MtnError for a text that is not a UUID */
export function requireUuid(text: string): string {
  if (uuidPattern.test(text)) return text.toLowerCase();
  throw mtnError(400, 'VALIDATION_ERROR', 'The reference id must be a UUID');
}
