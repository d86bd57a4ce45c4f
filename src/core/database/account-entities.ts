import { defineEntity, p } from '@mikro-orm/core';
import type { InferEntity } from '@mikro-orm/core';
import type { Language } from '../../platform/language/language.ts';
import { idOf, schema, time } from './columns.ts';

/* The people who use the dashboard, as they are stored. The note at the head of entities.ts applies here too. */

export type MemberRole = 'OWNER' | 'DEVELOPER' | 'VIEWER';

const role = () => p.string().columnType('core.member_role').$type<MemberRole>();

export const UserRow = defineEntity({
  name: 'UserRow',
  tableName: 'users',
  schema,
  properties: {
    id: idOf<'usr'>().primary(),
    email: p.text(),
    /** The address without regard to case. Accounts are found by it. */
    emailKey: p.text(),
    name: p.text(),
    language: p.text().$type<Language>(),
    isOperator: p.boolean(),
    /** Null for other users, and for operators that a core of an earlier version accepted. */
    operatorSince: time().nullable(),
    /** Argon2id, in the PHC string format. */
    passwordHash: p.text(),
    /** Encrypted. Already set before the second factor is turned on. */
    totpSecret: p.blob().nullable(),
    totpEnabledAt: time().nullable(),
    /** The latest 30-second step since 1970 whose code was accepted. Codes of this step and earlier are refused. */
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

/** The permission of a one-time link. The row is deleted after its use. */
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
    createdAt: time(),
    expiresAt: time(),
  },
});
export type AccountLinkRow = InferEntity<typeof AccountLinkRow>;

export type HelpKind = 'NEW_PASSWORD' | 'REMOVE_SECOND_FACTOR';

/** An operator's request to help a user who cannot sign in. The row is deleted after approval or withdrawal. */
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

/** A notice to a user about a change of the account that the user did not make. */
export const AccountNoticeRow = defineEntity({
  name: 'AccountNoticeRow',
  tableName: 'account_notices',
  schema,
  properties: {
    id: p.uuid().primary(),
    userId: idOf<'usr'>(),
    event: p.text().$type<NoticeEvent>(),
    /** The name of the merchant, if there is one; else empty. */
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
    /** An ended session is kept until it expires, so that a process that read it earlier cannot write it back. */
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
