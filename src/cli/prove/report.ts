import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
} from 'node:crypto';
import { Type } from '@sinclair/typebox';
import type { Static } from '@sinclair/typebox';
import { Value } from '@sinclair/typebox/value';
import { parseJson } from '../../platform/parse-json.ts';

const text = Type.String();
const count = Type.Integer({ minimum: 0 });
const seconds = Type.Number({ minimum: 0 });
const result = Type.Union([Type.Literal('held'), Type.Literal('broken'), Type.Literal('not_tried')]);

const InvariantResult = Type.Object({
  name: text,
  promise: text,
  result,
  /** The compared things, or the reason why it was not tried. */
  seen: text,
  violation_count: count,
  /** The first violations. */
  violations: Type.Array(Type.Object({ order_number: text, seen: text })),
});

const FaultResult = Type.Object({
  round: count,
  target: text,
  fault: text,
  tried: Type.Boolean(),
  /** Whether the fault was possible, and was not tried because the time was over. */
  missed: Type.Boolean(),
  /** The way in which the fault was inflicted, or the reason for which it was not tried. */
  detail: text,
  began_at: text,
  lasted_seconds: seconds,
  /** Orders that merchants placed and got acknowledged while the fault lasted. */
  acknowledged_meanwhile: count,
  /** From the end of the fault until all processes were ready and a new order was paid; null when that did not happen. */
  serving_again_after_seconds: Type.Union([seconds, Type.Null()]),
});

const Report = Type.Object({
  verdict: Type.Union([Type.Literal('passed'), Type.Literal('failed'), Type.Literal('incomplete')]),
  /** Why it is not passed; empty when it is. */
  reasons: Type.Array(text),
  gatehouse: Type.Object({ version: text, commit: text }),
  machine: Type.Object({
    system: text,
    processors: text,
    memory_bytes: count,
    node: text,
    database: text,
    file_system: text,
  }),
  campaign: Type.Object({
    seed: count,
    rounds: count,
    rate_per_second: Type.Number(),
    faults: Type.Array(text),
    began_at: text,
    ended_at: text,
    seconds,
    settled_after_seconds: seconds,
  }),
  /** Without secrets. */
  configuration: Type.Object({
    database: text,
    broker: text,
    settings: Type.Record(text, text),
    settings_of_the_campaign: Type.Record(text, text),
    settings_left_out: Type.Array(text),
  }),
  counts: Type.Record(text, count),
  invariants: Type.Array(InvariantResult),
  faults: Type.Array(FaultResult),
});
// The signature covers the report only, so nothing may stand beside it.
const nothingElse = { additionalProperties: false };
const SignedReport = Type.Object(
  {
    format: Type.Literal('gatehouse-prove-1'),
    report: Report,
    signature: Type.Object(
      { algorithm: Type.Literal('Ed25519'), public_key: text, signature: text },
      nothingElse,
    ),
  },
  nothingElse,
);

export type InvariantResult = Static<typeof InvariantResult>;
/** The course of one fault. */
export type FaultResult = Static<typeof FaultResult>;
/** The results of a campaign. */
export type ProveReport = Static<typeof Report>;
/** The content of a report's file. */
export type SignedReport = Static<typeof SignedReport>;

const textOf = (signed: SignedReport): string => `${JSON.stringify(signed, undefined, 2)}\n`;
const signedBytes = (report: ProveReport): Buffer =>
  Buffer.from(`gatehouse-prove-1\n${JSON.stringify(report)}`);

/** A new private key, as PEM. */
export const newSigningKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

/** The file of a signed report. @throws Error when the key is not an Ed25519 private key in PEM */
export function signReport(report: ProveReport, privateKeyPem: string): string {
  const key = readPrivateKey(privateKeyPem);
  return textOf({
    format: 'gatehouse-prove-1',
    report,
    signature: {
      algorithm: 'Ed25519',
      public_key: publicKeyOf(privateKeyPem),
      signature: sign(null, signedBytes(report), key).toString('base64'),
    },
  });
}

/** @throws Error when the text is not an Ed25519 private key in PEM */
function readPrivateKey(pem: string) {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('the key is not an Ed25519 key');
  return key;
}

/** The public half of a private or public key in PEM, as base64 of its SPKI form. @throws Error for anything else */
export function publicKeyOf(pem: string): string {
  const key = createPublicKey(pem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('the key is not an Ed25519 key');
  return key.export({ type: 'spki', format: 'der' }).toString('base64');
}

/** Identifies a public key for people. */
export const fingerprintOf = (publicKey: string): string =>
  `SHA256:${createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('base64').replace(/=+$/, '')}`;

/** Why a file is not an unchanged report; otherwise the report and the key that signed it. */
export type VerifiedReport =
  | { readonly problem: string }
  | { readonly report: ProveReport; readonly publicKey: string };

/** Checks the signature of a report's file. The caller decides whether it trusts the key. */
export function verifyReport(file: string): VerifiedReport {
  const content = parseJson(file);
  if (!Value.Check(SignedReport, content)) return { problem: 'the file is not a report of gatehouse prove' };
  // Other readers of JSON may understand repeated names in another way than this one.
  if (textOf(content) !== file)
    return { problem: 'the file was changed: it does not have the form of a signed report' };
  const { public_key: publicKey, signature } = content.signature;
  const isGenuine = verifyWith(publicKey, signedBytes(content.report), Buffer.from(signature, 'base64'));
  if (!isGenuine) return { problem: 'the report was changed: its signature does not match' };
  return { report: content.report, publicKey };
}

function verifyWith(publicKey: string, bytes: Buffer, signature: Buffer): boolean {
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ed25519' && verify(null, bytes, key, signature);
  } catch {
    return false;
  }
}
