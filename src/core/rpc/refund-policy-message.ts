import { MemberRole } from '../../gen/gatehouse/v1/account_service_pb.js';
import type { RefundLimits, RefundPolicy, RefundingRole } from '../domain/refund-limits.ts';

/** The contract's number for each role that can refund. */
export const refundingRoles = {
  OWNER: MemberRole.OWNER,
  DEVELOPER: MemberRole.DEVELOPER,
} as const satisfies Record<RefundingRole, MemberRole>;

/** The contract's number for the role whose limit it is. */
export const refundingRoleNumber = (role: RefundingRole | undefined): MemberRole =>
  role === undefined ? MemberRole.UNSPECIFIED : refundingRoles[role];

/** The limits as messages of the contract, those for every requester first. */
export const approvalLimitMessages = ({ refundApprovalLimits, refundRoleLimits }: RefundPolicy) => [
  ...limitMessages(refundApprovalLimits, MemberRole.UNSPECIFIED),
  ...(Object.keys(refundingRoles) as RefundingRole[]).flatMap((role) =>
    limitMessages(refundRoleLimits[role] ?? {}, refundingRoles[role]),
  ),
];

const limitMessages = (limits: RefundLimits, role: MemberRole) =>
  Object.entries(limits).map(([currency, amount]) => ({ currency, amount, role }));
