import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { amountPattern } from '../amount.ts';
import type { Journal as AnyJournal } from '../journal.ts';
import { errorCategories, errorCodes } from './refusal.ts';
import { descriptionSchema } from './schemas.ts';

const text = Type.String();
const party = Type.Object({ key: text, value: text });

/** The date was validated on arrival. The validator here does not know date formats. */
const description = Type.Object({ ...descriptionSchema.properties, requestDate: Type.Optional(text) });

/** A payment or a reversal was accepted. */
const opened = Type.Object({
  kind: Type.Literal('opened'),
  serverCorrelationId: text,
  clientCorrelationId: Type.Optional(text),
  callbackUrl: Type.Optional(text),
  awaitsPerson: Type.Boolean(),
  transaction: Type.Object({
    reference: text,
    type: Type.Union([Type.Literal('merchantpay'), Type.Literal('reversal'), Type.Literal('adjustment')]),
    debitAccount: text,
    creditAccount: text,
    debitParty: Type.Array(party),
    creditParty: Type.Array(party),
    amount: Type.String({ pattern: amountPattern }),
    currency: text,
    description,
    originalReference: Type.Optional(text),
    createdAt: text,
  }),
});

/** The request ended. It failed if there is a refusal, and completed otherwise. */
const ended = Type.Object({
  kind: Type.Literal('ended'),
  serverCorrelationId: text,
  at: text,
  refusal: Type.Optional(
    Type.Object({
      category: Type.Union(errorCategories.map((category) => Type.Literal(category))),
      code: Type.Union(errorCodes.map((code) => Type.Literal(code))),
      description: text,
      parameters: Type.Array(party),
    }),
  ),
});

export const journalEntry = Type.Union([opened, ended]);

export type OpenedEntry = Static<typeof opened>;
export type JournalEntry = Static<typeof journalEntry>;
export type Journal = AnyJournal<JournalEntry>;
