import type { KeyObject } from 'node:crypto';
import { Value } from '@sinclair/typebox/value';
import type { Acknowledgement, Unknown } from '../connector/outcomes.ts';
import type { Answer, ExchangePurpose } from '../connector/raw-exchange.ts';
import { timeoutPath } from '../connector/wallet-connector.ts';
import type { CallOptions } from '../connector/wallet-connector.ts';
import type { JsonReply } from '../connector/json-reply.ts';
import { certificateOf } from './certificate-setting.ts';
import { conversationSchema } from './messages.ts';
import type { MpesaClient } from './mpesa-client.ts';
import { readRefusal, readRefusedToken, unknown, unknownAfter } from './mpesa-error.ts';
import { securityCredential } from './security-credential.ts';

/** The user of the organisation that asks about transactions and reverses them. */
export interface Initiator {
  readonly name: string;
  readonly password: string;
  readonly certificate: KeyObject;
  readonly shortCode: string;
}

/** @throws TypeError for a certificate that cannot be used */
export const initiatorOf = (settings: {
  readonly initiator_name: string;
  readonly initiator_password: string;
  readonly certificate_pem?: string;
  readonly certificate_file?: string;
  readonly short_code: string;
}): Initiator => ({
  name: settings.initiator_name,
  password: settings.initiator_password,
  certificate: certificateOf(settings),
  shortCode: settings.short_code,
});

/** The differences between Daraja and M-Pesa Ethiopia. */
export interface InitiatorDialect {
  readonly statusPath: string;
  readonly reversalPath: string;
  /** The type of identifier that names the own short code in a reversal. */
  readonly reversalIdentifierType: string;
}

/** The callback URL for the result of a request. */
export interface ResultAddress {
  readonly url: string;
  /** The secret part of the URL, which no exchange may contain. */
  readonly secrets: readonly string[];
}

/** The transaction of a status query: by its receipt, or by the conversation in which it was requested. */
export type StatusSubject = { readonly receipt: string } | { readonly conversation: string };

/** The two ids of a request whose result comes by callback. */
export interface Conversation {
  readonly kind: 'asked';
  readonly ids: string[];
}

export interface ReversalCall {
  readonly receipt: string;
  /** Whole units, as text. */
  readonly amount: string;
  readonly remarks: string;
  readonly address: ResultAddress;
  /** Our id of the conversation, where the provider takes one. */
  readonly conversation?: string;
}

/** Requests that an initiator makes. M-Pesa acknowledges them, and sends the result to a URL. */
export class InitiatorApi {
  readonly #client: MpesaClient;
  readonly #initiator: Initiator;
  readonly #dialect: InitiatorDialect;

  /** @throws TypeError for a password that cannot be encrypted */
  constructor(client: MpesaClient, initiator: Initiator, dialect: InitiatorDialect) {
    securityCredential(initiator.certificate, initiator.password);
    this.#client = client;
    this.#initiator = initiator;
    this.#dialect = dialect;
  }

  /** Asks for the status of a transaction. A query may be repeated, because it changes nothing. */
  async askStatus(
    purpose: ExchangePurpose,
    subject: StatusSubject,
    address: ResultAddress,
    options: CallOptions,
  ): Promise<Answer<Conversation | Unknown>> {
    const body = {
      CommandID: 'TransactionStatusQuery',
      TransactionID: 'receipt' in subject ? subject.receipt : '',
      ...('conversation' in subject ? { OriginalConversationID: subject.conversation } : {}),
      PartyA: this.#initiator.shortCode,
      IdentifierType: '4',
      Remarks: 'Payment status',
      Occasion: '',
    };
    const { result: reply, exchanges } = await this.#send(
      purpose,
      this.#dialect.statusPath,
      body,
      address,
      options,
    );
    const ids = idsIn(reply);
    return { result: ids === undefined ? refusedQuery(reply) : { kind: 'asked', ids }, exchanges };
  }

  /** Requests a reversal. M-Pesa takes no id that would make a second request harmless, so it must be sent only once. */
  async reverse(
    call: ReversalCall,
    options: CallOptions,
  ): Promise<Answer<Exclude<Acknowledgement, { readonly kind: 'accepted' }> | Conversation>> {
    const body = {
      ...(call.conversation === undefined ? {} : { OriginatorConversationID: call.conversation }),
      CommandID: 'TransactionReversal',
      TransactionID: call.receipt,
      Amount: call.amount,
      ReceiverParty: this.#initiator.shortCode,
      // M-Pesa spells the field so.
      RecieverIdentifierType: this.#dialect.reversalIdentifierType,
      Remarks: call.remarks,
      Occasion: '',
    };
    const { result: reply, exchanges } = await this.#send(
      'reverse',
      this.#dialect.reversalPath,
      body,
      call.address,
      options,
    );
    const ids = idsIn(reply);
    if (ids !== undefined) return { result: { kind: 'asked', ids }, exchanges };
    if (reply.kind === 'not_sent') return { result: reply, exchanges };
    const failure = reply.kind === 'answered' ? readRefusal(reply) : undefined;
    if (failure !== undefined) return { result: { kind: 'refused', ...failure }, exchanges };
    return { result: readRefusedToken(reply) ?? unknownAfter(reply), exchanges };
  }

  #send(
    purpose: ExchangePurpose,
    path: string,
    body: object,
    { url, secrets }: ResultAddress,
    options: CallOptions,
  ): Promise<Answer<JsonReply>> {
    const { name, password, certificate } = this.#initiator;
    const credential = securityCredential(certificate, password);
    return this.#client.post(
      {
        purpose,
        path,
        body: {
          Initiator: name,
          SecurityCredential: credential,
          ...body,
          ResultURL: url,
          QueueTimeOutURL: `${url}${timeoutPath}`,
        },
        secrets: [password, credential, url, ...secrets],
      },
      options,
    );
  }
}

function idsIn(reply: JsonReply): string[] | undefined {
  if (reply.kind !== 'answered' || reply.status !== 200 || !reply.body.ok) return undefined;
  const { json } = reply.body;
  if (!Value.Check(conversationSchema, json) || String(json.ResponseCode) !== '0') return undefined;
  return [json.OriginatorConversationID, ...(json.ConversationID === undefined ? [] : [json.ConversationID])];
}

function refusedQuery(reply: JsonReply): Unknown {
  const failure = reply.kind === 'answered' ? readRefusal(reply) : undefined;
  if (failure === undefined) return unknownAfter(reply);
  const { providerCode, providerText } = failure;
  return unknown(
    'unrecognised_code',
    `the wallet refused the query of the transaction's status: ${providerCode} ${providerText}`.trim(),
  );
}
