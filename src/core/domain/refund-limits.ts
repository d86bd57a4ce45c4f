/** Decimal text by ISO 4217 code; "0" holds every refund. A currency without an entry has no limit. */
export type RefundLimits = Readonly<Record<string, string>>;

/** The roles of dashboard users who may refund. */
export type RefundingRole = 'OWNER' | 'DEVELOPER';

/** The limits above which the refunds of one order await a second person. */
export interface RefundPolicy {
  readonly refundApprovalLimits: RefundLimits;
  /** The limits of the people of a role, which take precedence. */
  readonly refundRoleLimits: Readonly<Partial<Record<RefundingRole, RefundLimits>>>;
}

/** The limit of one requester. Amounts are decimal text; '' is no limit. */
export interface RefundLimit {
  readonly amount: string;
  /** The role whose limit it is; undefined for the limit that applies to every requester. */
  readonly role: RefundingRole | undefined;
}

/** The limit for a requester. `role` is undefined for API keys, services and operators, which are not members of the merchant. */
export function refundLimitOf(
  { refundApprovalLimits, refundRoleLimits }: RefundPolicy,
  role: RefundingRole | undefined,
  currency: string,
): RefundLimit {
  const roleLimit = role === undefined ? undefined : refundRoleLimits[role]?.[currency];
  return roleLimit === undefined
    ? { amount: refundApprovalLimits[currency] ?? '', role: undefined }
    : { amount: roleLimit, role };
}
