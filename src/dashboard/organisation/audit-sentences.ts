import type { JsonObject } from '@bufbuild/protobuf';
import { amountText } from '../../contract/amount-text.ts';
import type { AuditEntry } from '../../gen/gatehouse/v1/audit_service_pb.js';
import { knownActions } from '../language/audit-words.ts';
import type { AuditWords, KnownAction } from '../language/audit-words.ts';
import type { Language } from '../../platform/language/language.ts';

const isKnown = (action: string): action is KnownAction => knownActions.some((known) => known === action);

/** The change as a sentence in the user's language. */
export function auditSentence(
  { action, targetId, details = {} }: AuditEntry,
  words: AuditWords,
  language: Language,
): string {
  if (!isKnown(action)) return `${action}: ${targetId}`;
  const text = (name: string): string => textOf(details[name]);
  const role = (name: string): string => lookUp(words.roles, text(name));
  return words.sentences[action]({
    target: targetId,
    name: text('name'),
    // The sentence ends with the reason, and has a full stop of its own.
    reason: text('reason').replace(/[.።\s]+$/u, ''),
    label: text('label'),
    prefix: text('prefix'),
    environment: lookUp(words.environments, text('environment').toUpperCase()),
    wallet: text('wallet'),
    endpoint: text('endpoint'),
    email: text('email'),
    role: role('role'),
    from: role('from'),
    to: role('to'),
    left: text('left'),
    money: amountText(text('amount'), text('currency'), language),
    orderNumber: text('order_number'),
    refundNumber: text('refund_number'),
    providerReference: text('provider_reference'),
    proof: lookUp(words.proofs, text('proof')),
    refusal: lookUp(words.refusals, text('reason')),
  });
}

const textOf = (value: JsonObject[string] | undefined): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

const lookUp = (words: Readonly<Record<string, string>>, name: string): string =>
  Object.hasOwn(words, name) ? (words[name] ?? name) : name;

/** The actor: a user of the dashboard, a person at the command line, or a program. */
export function auditActor({ actor, actorEmail, action }: AuditEntry, { actors }: AuditWords): string {
  if (actorEmail !== '') return actorEmail;
  const [role = '', name = ''] = actor.split(/:(.*)/s);
  // A request for a link proves nothing, and a refused sign-in neither.
  if (action === 'session.refuse' || (action === 'user.start_reset' && role === 'dashboard'))
    return actors.failedSignIn;
  if (role === 'operator' && name !== '') return actors.operator(name);
  return role === 'dashboard' ? actors.themselves : actors.other;
}
