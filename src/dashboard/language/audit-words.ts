import type { AuditKind } from '../../contract/audit-kinds.ts';

/** The actions of the audit log. Unknown actions of a newer core are shown by their code. */
export const knownActions = [
  'merchant.create',
  'merchant.update',
  'merchant.suspend',
  'merchant.resume',
  'merchant.activate_production',
  'merchant.certify',
  'api_key.issue',
  'api_key.rotate',
  'api_key.revoke',
  'api_key.set_scopes',
  'signing_secret.rotate',
  'signing_secret.promote',
  'endpoint.pause',
  'endpoint.resume',
  'webhook_endpoint.create',
  'webhook_endpoint.update',
  'webhook_endpoint.pause',
  'webhook_endpoint.resume',
  'webhook_endpoint.delete',
  'delivery.redeliver',
  'redelivery.start',
  'test_event.send',
  'order.cancel',
  'refund.create',
  'refund.approve',
  'refund.decline',
  'refund.complete',
  'refund.fail',
  'settlement.propose',
  'settlement.confirm',
  'settlement.withdraw',
  'stray_payment.retry_reversal',
  'merchant_wallet.switch_on',
  'merchant_wallet.switch_off',
  'wallet_account.add',
  'wallet_account.check',
  'wallet_account.promote',
  'wallet_account.retire',
  'wallet_account.remove',
  'personal_data.erase',
  'personal_data.period_ended',
  'recovery.begin',
  'recovery.accept',
  'user.invite',
  'user.accept_invitation',
  'user.take_invitation_back',
  'user.change_role',
  'user.remove',
  'user.disable',
  'user.enable',
  'user.start_reset',
  'user.ask_reset',
  'user.approve_reset',
  'user.ask_remove_totp',
  'user.remove_totp',
  'user.reject_help',
  'user.reset_password',
  'user.change_password',
  'user.enable_totp',
  'user.disable_totp',
  'user.use_recovery_code',
  'user.update_profile',
  'session.begin',
  'session.end',
  'session.end_others',
  'session.refuse',
] as const;
export type KnownAction = (typeof knownActions)[number];

/** The values that a sentence may contain; '' when the entry lacks one. */
export interface SentenceFacts {
  readonly target: string;
  readonly name: string;
  readonly reason: string;
  readonly label: string;
  readonly prefix: string;
  readonly environment: string;
  /** The id of the wallet. */
  readonly wallet: string;
  readonly endpoint: string;
  readonly email: string;
  readonly role: string;
  readonly from: string;
  readonly to: string;
  readonly left: string;
  /** An amount with its currency, in the form of the language. */
  readonly money: string;
  readonly orderNumber: string;
  readonly refundNumber: string;
  readonly providerReference: string;
  /** The method of a sign-in, or the reason of its failure, as a part of a sentence. */
  readonly proof: string;
  readonly refusal: string;
}

/** The texts of the audit log's pages. */
export interface AuditWords {
  readonly title: string;
  readonly lead: string;
  readonly operatorLead: string;
  readonly columns: Readonly<Record<'when' | 'who' | 'what' | 'merchant', string>>;
  readonly filter: Readonly<Record<'title' | 'kind' | 'any' | 'from' | 'to' | 'submit' | 'clear', string>>;
  readonly kinds: Readonly<Record<AuditKind, string>>;
  readonly empty: { readonly title: string; readonly body: string };
  readonly noMatch: string;
  readonly actors: {
    readonly operator: (name: string) => string;
    readonly other: string;
    readonly themselves: string;
    /** The actor of a failed sign-in. */
    readonly failedSignIn: string;
  };
  readonly roles: Readonly<Record<'OWNER' | 'DEVELOPER' | 'VIEWER' | 'OPERATOR', string>>;
  readonly environments: Readonly<Record<'SANDBOX' | 'PRODUCTION', string>>;
  readonly proofs: Readonly<Record<'PASSWORD' | 'ONE_TIME_CODE' | 'RECOVERY_CODE', string>>;
  readonly refusals: Readonly<
    Record<'WRONG_PASSWORD' | 'WRONG_CODE' | 'KEPT_OUT' | 'TOO_MANY_TRIES', string>
  >;
  readonly details: string;
  readonly request: string;
  readonly sentences: Readonly<Record<KnownAction, (facts: SentenceFacts) => string>>;
}
