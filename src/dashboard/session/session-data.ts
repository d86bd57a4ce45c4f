import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { guardedPath } from '../access/guarded-path.ts';
import type { DashboardUser } from '../access/dashboard-user.ts';
import { parseJson } from '../../platform/parse-json.ts';

/** A form that is kept while its sender signs in or confirms the identity. */
const CarriedForm = Type.Object({
  /** The path that it was sent to, as `guardedPath` returned it. */
  action: Type.String(),
  fields: Type.Array(Type.Tuple([Type.String(), Type.String()])),
});
export type CarriedForm = Static<typeof CarriedForm>;

/** A message that the next page shows once. */
const Flash = Type.Object({
  tone: Type.Union([Type.Literal('good'), Type.Literal('warn'), Type.Literal('bad')]),
  text: Type.String(),
});
export type Flash = Static<typeof Flash>;

const SessionData = Type.Object({
  /** `code`: the password was correct, and the one-time code is still required. */
  stage: Type.Union([Type.Literal('code'), Type.Literal('in')]),
  /** Times in milliseconds since 1970. */
  signedInAt: Type.Number(),
  /** When the user last confirmed the identity. */
  provedAt: Type.Number(),
  /** The user's latest request, to the minute. */
  seenAt: Type.Number(),
  /** The page after signing in. */
  next: Type.Optional(Type.String()),
  carried: Type.Optional(CarriedForm),
  flash: Type.Optional(Type.Array(Flash)),
});
/** The contents of a session, except its user. */
export type SessionData = Static<typeof SessionData>;

declare module 'fastify' {
  interface Session {
    /** The user of the session; undefined before signing in. */
    userId?: string | undefined;
    data?: SessionData | undefined;
    /** Core's data of the user when the session was read. Never stored. */
    user?: DashboardUser | undefined;
  }
}

export const writeSessionData = (data: SessionData): Uint8Array => Buffer.from(JSON.stringify(data));

/** Undefined when another version of Gatehouse wrote it in an unknown form. Its user signs in again. */
export function readSessionData(bytes: Uint8Array): SessionData | undefined {
  const data = parseJson(Buffer.from(bytes).toString());
  if (!Value.Check(SessionData, data)) return undefined;
  const { next: storedNext, carried: storedForm, ...rest } = data;
  const next = guardedPath(storedNext, 'GET');
  const carried = storedForm && ownForm(storedForm);
  return {
    ...rest,
    ...(next === undefined ? {} : { next }),
    ...(carried === undefined ? {} : { carried }),
  };
}

/** A kept form that a browser sent back; undefined unless one of our routes accepts it. */
export function readCarriedForm(text: string): CarriedForm | undefined {
  const form = parseJson(Buffer.from(text, 'base64url').toString());
  return Value.Check(CarriedForm, form) && isKept(form) ? ownForm(form) : undefined;
}

function ownForm({ action: given, fields }: CarriedForm): CarriedForm | undefined {
  const action = guardedPath(given, 'POST');
  return action === undefined ? undefined : { action, fields };
}

/** Half of the limit of a session. An Amharic letter has three bytes. */
const maxFormBytes = 8_000;

/** Whether a session has room for the form. */
export const isKept = (form: CarriedForm): boolean => Buffer.byteLength(JSON.stringify(form)) <= maxFormBytes;

export const writeCarriedForm = (form: CarriedForm): string =>
  Buffer.from(JSON.stringify(form)).toString('base64url');
