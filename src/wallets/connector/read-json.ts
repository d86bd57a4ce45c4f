/** An answer's body as JSON, or the problem with it. */
export type JsonReading =
  | { readonly ok: true; readonly json: unknown }
  | { readonly ok: false; readonly problem: string };

const jsonType = /^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json\s*(?:;|$)/i;

/**
 * Reads a body that is declared as JSON, is not compressed, is UTF-8 (RFC 8259, section 8.1), and is JSON. The text of a
 * problem begins with `name`.
 */
export function readJson(
  answer: { readonly headers: Readonly<Record<string, string>>; readonly body: Uint8Array },
  name = 'the answer',
): JsonReading {
  const type = answer.headers['content-type'] ?? '';
  if (!jsonType.test(type)) return { ok: false, problem: `${name} is not JSON but ${nameType(type)}` };
  const encoding = answer.headers['content-encoding'] ?? 'identity';
  if (encoding.toLowerCase() !== 'identity') {
    return { ok: false, problem: `${name} is compressed, which Gatehouse did not ask for` };
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(answer.body);
    return { ok: true, json: withoutNulls(JSON.parse(text, keepId)) };
  } catch {
    return {
      ok: false,
      problem: answer.body.length === 0 ? `${name} is empty` : `${name} is broken JSON`,
    };
  }
}

const nameType = (type: string): string => (type === '' ? 'of no stated type' : type.slice(0, 64));

/** A whole number that JavaScript would round is an id, and stays as the wallet wrote it. Two ids could be rounded to the same number. */
function keepId(_name: string, value: unknown, context?: { readonly source?: string }): unknown {
  const isRounded = typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
  const source = context?.source ?? '';
  return isRounded && /^[0-9]+$/.test(source) ? source : value;
}

/** The contract has no null. A wallet that sends null means that the property is absent. */
function withoutNulls(json: unknown): unknown {
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json))
    return json.map((item: unknown) => (Array.isArray(item) ? item : withoutNulls(item)));
  return Object.fromEntries(Object.entries(json).filter(([, value]) => value !== null));
}
