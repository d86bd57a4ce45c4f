import { durationText } from '../../platform/language/duration-text.ts';
import { isLanguage, languages } from '../../platform/language/language.ts';
import type { Language } from '../../platform/language/language.ts';
import type { Duration } from '@bufbuild/protobuf/wkt';
import {
  AccountHelp as HelpMessage,
  MemberRole as RoleMessage,
} from '../../gen/gatehouse/v1/account_service_pb.js';
import type { ListUsersRequest } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { HelpKind, MemberRole } from '../database/account-entities.ts';
import type { Issue } from '../domain/issue.ts';
import { requiredIssue } from '../domain/issue.ts';
import { err, ok } from '../domain/result.ts';
import type { Result } from '../domain/result.ts';
import { parseId, parseOptionalId } from '../rpc/request-fields.ts';
import { combine } from '../domain/combine.ts';
import { parseText } from '../domain/text.ts';
import type { OfferedMembership } from './invite-user.ts';

const roles: Readonly<Partial<Record<RoleMessage, MemberRole>>> = {
  [RoleMessage.OWNER]: 'OWNER',
  [RoleMessage.DEVELOPER]: 'DEVELOPER',
  [RoleMessage.VIEWER]: 'VIEWER',
};

/** Parses a required role. */
export function parseRole(role: RoleMessage, field: string): Result<MemberRole, Issue> {
  const known = roles[role];
  return known === undefined ? err({ field, issue: 'must be owner, developer or viewer' }) : ok(known);
}

const helpKinds: Readonly<Partial<Record<HelpMessage, HelpKind>>> = {
  [HelpMessage.NEW_PASSWORD]: 'NEW_PASSWORD',
  [HelpMessage.REMOVE_SECOND_FACTOR]: 'REMOVE_SECOND_FACTOR',
};

/** Parses a required kind of help. */
export function parseHelpKind(help: HelpMessage): Result<HelpKind, Issue> {
  const known = helpKinds[help];
  return known === undefined
    ? err({ field: 'help', issue: 'must be new_password or remove_second_factor' })
    : ok(known);
}

/** Parses what an invitation offers: a merchant with a role, or neither for an operator. */
export function parseMembership(request: {
  readonly merchantId: string;
  readonly role: RoleMessage;
  readonly asOperator: boolean;
}): Result<OfferedMembership, Issue | readonly Issue[]> {
  const { merchantId, role, asOperator } = request;
  if (asOperator) {
    if (merchantId !== '') return err({ field: 'merchant_id', issue: 'must be empty for an operator' });
    if (role !== RoleMessage.UNSPECIFIED)
      return err({ field: 'role', issue: 'must be empty for an operator' });
    return ok(undefined);
  }
  const merchant = parseId('mer', merchantId, 'merchant_id');
  const known = parseRole(role, 'role');
  if (!merchant.ok || !known.ok)
    return err([merchant, known].flatMap((result) => (result.ok ? [] : [result.error])));
  return ok({ merchantId: merchant.value, role: known.value });
}

/** Parses an optional language of the pages. The default is English. */
export function parseLanguage(
  text: string,
  { required }: { readonly required: boolean },
): Result<Language, Issue> {
  if (isLanguage(text)) return ok(text);
  if (text === '' && !required) return ok(languages[0]);
  return err({ field: 'language', issue: `must be ${languages.join(' or ')}` });
}

/** Parses the validity of a link, in milliseconds. */
export function parseValidity(
  validFor: Duration | undefined,
  { standardSeconds, maxSeconds }: { readonly standardSeconds: number; readonly maxSeconds: number },
): Result<number, Issue> {
  const seconds = validFor === undefined ? standardSeconds : Number(validFor.seconds);
  if (seconds < 60 || seconds > maxSeconds || (validFor?.nanos ?? 0) !== 0)
    return err({
      field: 'valid_for',
      issue: `must be whole seconds from 60s (a minute) to ${maxSeconds}s (${durationText(maxSeconds, 'en')})`,
    });
  return ok(seconds * 1000);
}

const hashBytes = 32;

/** Parses the hash of a session id. */
export function parseSessionHash(hash: Uint8Array, field: string): Result<Buffer, Issue> {
  if (hash.length === 0) return err({ field, issue: requiredIssue });
  return hash.length === hashBytes
    ? ok(Buffer.from(hash))
    : err({ field, issue: 'must be a SHA-256, 32 bytes' });
}

/** The session to keep, as `parseSessionHash`; empty for none. */
export const parseKeptSessionHash = (hash: Uint8Array): Result<Buffer, Issue> =>
  hash.length === 0 ? ok(Buffer.alloc(0)) : parseSessionHash(hash, 'keep_session_hash');

/** At most this many characters of an address or a name are searched for. */
const maxSearched = 254;

/** The filter of a list of users. Operators have no role. */
export function parseUserFilter({ merchantId, text, role }: ListUsersRequest) {
  return combine({
    merchantId: parseOptionalId('mer', merchantId, 'merchant_id'),
    text: parseText(text.trim(), 'text', { max: maxSearched, required: false }),
    role:
      role === RoleMessage.UNSPECIFIED
        ? ok(undefined)
        : merchantId === ''
          ? err({ field: 'role', issue: 'must be unspecified for operators' })
          : parseRole(role, 'role'),
  });
}
