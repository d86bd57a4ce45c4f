import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import type { IdPrefix, StoredId } from '../../contract/public-id.ts';

/* The people who use the dashboard, as they are stored. What is said at the head of entities.ts holds here too. */

export type MemberRole = 'OWNER' | 'DEVELOPER' | 'VIEWER';
export type Language = 'en' | 'am';

const schema = 'core';
const time = () => p.datetime(3);
const idOf = <P extends IdPrefix>() => p.uuid().$type<StoredId<P>>();
const role = () => p.string().columnType('core.member_role').$type<MemberRole>();

export const UserRow = defineEntity({
  name: 'UserRow',
  tableName: 'users',
  schema,
  properties: {
    id: idOf<'usr'>().primary(),
    email: p.text(),
    /** The address without regard to case: what it is found by. */
    emailKey: p.text(),
    name: p.text(),
    language: p.text().$type<Language>(),
    isOperator: p.boolean(),
    /** Null for others, and for operators whom a core of an older version accepted. */
    operatorSince: time().nullable(),
    /** Argon2id, in the PHC string format. */
    passwordHash: p.text(),
    /** Encrypted; there before the second factor is on, too. */
    totpSecret: p.blob().nullable(),
    totpEnabledAt: time().nullable(),
    /** The last 30 seconds, counted from 1970, of which a code was taken: no code of them or before is taken again. */
    totpLastStep: p.integer().nullable(),
    disabledAt: time().nullable(),
    lastSignInAt: time().nullable(),
    createdAt: time(),
    updatedAt: time(),
  },
});
export type UserRow = InferEntity<typeof UserRow>;

export const MembershipRow = defineEntity({
  name: 'MembershipRow',
  tableName: 'memberships',
  schema,
  properties: {
    merchantId: idOf<'mer'>().primary(),
    userId: idOf<'usr'>().primary(),
    role: role(),
    createdAt: time(),
    updatedAt: time(),
  },
});
export type MembershipRow = InferEntity<typeof MembershipRow>;

export type LinkKind = 'INVITATION' | 'RESET';

/** What somebody may do once by a link; gone when it is done. */
export const AccountLinkRow = defineEntity({
  name: 'AccountLinkRow',
  tableName: 'account_links',
  schema,
  properties: {
    hash: p.blob().primary(),
    kind: p.string().columnType('core.account_link_kind').$type<LinkKind>(),
    email: p.text(),
    emailKey: p.text(),
    /** Null for an operator, and for a reset. */
    merchantId: idOf<'mer'>().nullable(),
    role: role().nullable(),
    removesTotp: p.boolean(),
    createdAt: time(),
    expiresAt: time(),
  },
});
export type AccountLinkRow = InferEntity<typeof AccountLinkRow>;

export type HelpKind = 'NEW_PASSWORD' | 'REMOVE_SECOND_FACTOR';

/** What an operator asked for, for a user who cannot sign in; gone once it is approved or withdrawn. */
export const AccountHelpRow = defineEntity({
  name: 'AccountHelpRow',
  tableName: 'account_help',
  schema,
  properties: {
    userId: idOf<'usr'>().primary(),
    kind: p.string().columnType('core.account_help_kind').$type<HelpKind>().primary(),
    /** As in the audit log. */
    askedBy: p.text(),
    /** The operator's account; null for the holder of an operator service token. */
    askedByUserId: idOf<'usr'>().nullable(),
    createdAt: time(),
    expiresAt: time(),
  },
});
export type AccountHelpRow = InferEntity<typeof AccountHelpRow>;

export type NoticeEvent =
  | 'NEW_PASSWORD_ASKED'
  | 'NEW_PASSWORD_APPROVED'
  | 'PASSWORD_RESET'
  | 'SECOND_FACTOR_REMOVAL_ASKED'
  | 'SECOND_FACTOR_REMOVED'
  | 'OWNER_INVITED';

/** What happened to an account without its user, for the user to be told. */
export const AccountNoticeRow = defineEntity({
  name: 'AccountNoticeRow',
  tableName: 'account_notices',
  schema,
  properties: {
    id: p.uuid().primary(),
    userId: idOf<'usr'>(),
    event: p.text().$type<NoticeEvent>(),
    /** The name of the merchant that it concerns; else empty. */
    subject: p.text(),
    createdAt: time(),
    expiresAt: time(),
    mailedAt: time().nullable(),
  },
});

export const RecoveryCodeRow = defineEntity({
  name: 'RecoveryCodeRow',
  tableName: 'recovery_codes',
  schema,
  properties: {
    userId: idOf<'usr'>().primary(),
    hash: p.blob().primary(),
  },
});

export const DashboardSessionRow = defineEntity({
  name: 'DashboardSessionRow',
  tableName: 'dashboard_sessions',
  schema,
  properties: {
    hash: p.blob().primary(),
    userId: idOf<'usr'>().nullable(),
    data: p.blob(),
    expiresAt: time(),
    /** Kept until it would have ended by itself, so that nobody who has read it before can write it back. */
    endedAt: time().nullable(),
  },
});
export type DashboardSessionRow = InferEntity<typeof DashboardSessionRow>;

export const accountEntities = [
  UserRow,
  MembershipRow,
  AccountLinkRow,
  AccountHelpRow,
  AccountNoticeRow,
  RecoveryCodeRow,
  DashboardSessionRow,
];
