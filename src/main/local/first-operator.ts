import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Type } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import type { Client } from '@connectrpc/connect';
import type { AccountService } from '../../gen/gatehouse/v1/account_service_pb.js';
import { parseJson } from '../../platform/parse-json.ts';

export interface FirstOperatorParts {
  readonly accounts: Pick<Client<typeof AccountService>, 'listUsers' | 'inviteUser'>;
  readonly email: string;
  /** Where the links of invitations lead. */
  readonly dashboardUrl: string;
  /** The text of the file that an earlier start has written; undefined without one. */
  readonly kept: string | undefined;
}

/** The invitation of the first operator, as the file of the first start contains it. */
export interface FirstOperator {
  readonly invitation: string;
  /** ISO 8601. */
  readonly expire_time: string;
  readonly new_invitation_command: string;
}

/**
 * Invites the first operator. Undefined when there is nothing to do. A start that was interrupted may have invited the operator without
 * writing the link, and nobody can read it again, so it invites once more. A link that has expired is replaced while there is no operator.
 */
export async function inviteFirstOperator({
  accounts,
  email,
  dashboardUrl,
  kept,
}: FirstOperatorParts): Promise<FirstOperator | undefined> {
  const { users, invitations } = await accounts.listUsers({ merchantId: '' });
  const isOf = (each: { readonly email: string }): boolean =>
    each.email.toLowerCase() === email.toLowerCase();
  if (users.some(isOf)) return undefined;
  const isInvited = invitations.some(isOf);
  // An operator can invite by command, and may have sent a link that must stay valid.
  if (users.length > 0 && (isInvited || kept !== undefined)) return undefined;
  if (kept !== undefined && (isInvited || !hasInvitation(kept))) return undefined;
  const { token, expireTime } = await accounts.inviteUser({ email, asOperator: true });
  return {
    invitation: `${dashboardUrl}/invitation/${token}`,
    expire_time: expireTime === undefined ? '' : timestampDate(expireTime).toISOString(),
    new_invitation_command: `gatehouse user invite ${email} --operator`,
  };
}

/** Whether an earlier start has invited an operator, and made no demo. */
const hasInvitation = (text: string): boolean =>
  Value.Check(Type.Object({ invitation: Type.String() }), parseJson(text));
