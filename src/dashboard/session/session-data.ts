import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { ownPath } from '../access/own-path.ts';
import type { Viewer } from '../access/viewer.ts';

/** A form that could not be taken because its sender had to prove who they are first. */
const CarriedForm = Type.Object({
  /** The path that it was sent to: one of ours, which `ownPath` has read. */
  action: Type.String(),
  fields: Type.Array(Type.Tuple([Type.String(), Type.String()])),
});
export type CarriedForm = Static<typeof CarriedForm>;

/** Said once, on the next page. */
const Flash = Type.Object({
  tone: Type.Union([Type.Literal('good'), Type.Literal('warn'), Type.Literal('bad')]),
  text: Type.String(),
});
export type Flash = Static<typeof Flash>;

const SessionData = Type.Object({
  /** `code`: the password was right, and the one-time code is still to come. */
  stage: Type.Union([Type.Literal('code'), Type.Literal('in')]),
  /** Times in milliseconds since 1970. */
  signedInAt: Type.Number(),
  /** When they last proved who they are. */
  provedAt: Type.Number(),
  /** When they last asked for something, to the minute. */
  seenAt: Type.Number(),
  /** Where to go when they are in. */
  next: Type.Optional(Type.String()),
  carried: Type.Optional(CarriedForm),
  flash: Type.Optional(Type.Array(Flash)),
});
/** What a session holds besides whose it is. */
export type SessionData = Static<typeof SessionData>;

declare module 'fastify' {
  interface Session {
    /** Whose session this is; undefined before anybody has signed in. */
    userId?: string | undefined;
    data?: SessionData | undefined;
    /** The user as core had them when the session was read. Never written. */
    viewer?: Viewer | undefined;
  }
}

export const writeSessionData = (data: SessionData): Uint8Array => Buffer.from(JSON.stringify(data));

/** Undefined for what another version of Gatehouse wrote and this one cannot read: its user signs in again. */
export function readSessionData(bytes: Uint8Array): SessionData | undefined {
  const data = parseJson(Buffer.from(bytes).toString());
  if (!Value.Check(SessionData, data)) return undefined;
  const { next: storedNext, carried: storedForm, ...rest } = data;
  const next = ownPath(storedNext, 'GET');
  const carried = storedForm && ownForm(storedForm);
  return {
    ...rest,
    ...(next === undefined ? {} : { next }),
    ...(carried === undefined ? {} : { carried }),
  };
}

/** A form from a browser, which may bring back anything; undefined unless one of our routes takes it. */
export function readCarriedForm(text: string): CarriedForm | undefined {
  const form = parseJson(Buffer.from(text, 'base64url').toString());
  return Value.Check(CarriedForm, form) ? ownForm(form) : undefined;
}

function ownForm({ action: given, fields }: CarriedForm): CarriedForm | undefined {
  const action = ownPath(given, 'POST');
  return action === undefined ? undefined : { action, fields };
}

export const writeCarriedForm = (form: CarriedForm): string =>
  Buffer.from(JSON.stringify(form)).toString('base64url');

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
