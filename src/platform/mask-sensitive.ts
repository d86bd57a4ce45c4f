/**
 * Masks a phone number so that it can be recognised but not called: `+251911223344` -> `+2519*****344`. Short texts are
 * masked completely.
 */
export function maskPhone(phone: string): string {
  if (phone.length < 9) return '*'.repeat(phone.length);
  return phone.slice(0, 5) + '*'.repeat(phone.length - 8) + phone.slice(-3);
}

/** The forms of sensitive values. They are masked in fields of any name. */
const forms = [
  // API keys. The prefix names the environment and is not secret.
  String.raw`[Ss][Vv][Cc]_(?:[Ll][Ii][Vv][Ee]|[Tt][Ee][Ss][Tt])_[\w%-]+`,
  // Signing secrets of webhooks.
  String.raw`whsec_[\w+/=%-]+`,
  String.raw`[Bb]earer(?:\s|%20|\+)[^\s"]+`,
  // Service tokens and other keys of `openssl rand -hex 32`. The 40 digits of a commit are shorter.
  String.raw`(?<![0-9A-Fa-f])[0-9A-Fa-f]{48,}`,
  // Tokens of checkout pages, callbacks, invitations: 32 random bytes or more in base64url.
  String.raw`(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[\d_-])[\w-]{43,}`,
  String.raw`(?<![\w.+%-])[\w.+%-]{1,64}(?:@|%40)[\w-]{1,63}(?:\.[\w-]{1,63})+`,
  // Phone numbers: with their plus, as written or encoded, in any grouping...
  String.raw`(?:\+|%2[Bb])[1-9](?:[ ().-]{0,2}[0-9]){7,14}(?![0-9])`,
  // ...and Ethiopian ones without it. Other digits are a merchant's own numbers, such as a date and a counter.
  String.raw`(?<![0-9])(?:(?:00)?251|0)?[79][0-9]{8}(?![0-9])`,
  String.raw`(?<![0-9])(?:251[ .-]?|0)[79][0-9]{1,2}[ .-][0-9]{2,3}(?:[ .-]?[0-9]{2,4}){1,2}(?![0-9])`,
].join('|');

const anySensitive = new RegExp(forms, 'g');
const firstSensitive = new RegExp(forms);

/** Our ids, UUIDs and hexadecimal ids. They are random and may contain digits like those of a phone number. */
const randomId =
  /^(?:[a-z]{2,4}_[0-9a-hjkmnp-tv-z]{26}|(?=[0-9]*[a-f])(?:[0-9a-f]{16}|[0-9a-f]{32})|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/;

/** The shortest form is an e-mail address. Shorter texts are not checked. */
const shortest = 6;
/** A shorter text cannot be a token. */
const shortestToken = 43;
/** Every form except a token matches this pattern. It is a quick test that most texts fail. */
const hint = /[@+%]|c_|C_|earer|[79][0-9]{1,2}[ .-]?[0-9]{2}/;

/**
 * Makes a text from outside safe for a log. API keys, signing secrets, tokens, e-mail addresses and phone numbers are masked
 * by their form. Ids and all other text are unchanged. Linear in the text's length.
 */
export function maskSensitive(text: string): string {
  return hasSensitive(text) ? text.replace(anySensitive, maskFound) : text;
}

/** Whether `maskSensitive` would change a text. */
export const hasSensitive = (text: string): boolean =>
  text.length >= shortest &&
  (text.length >= shortestToken || hint.test(text)) &&
  !randomId.test(text) &&
  firstSensitive.test(text);

function maskFound(found: string): string {
  if (/^svc_/i.test(found)) return `${found.slice(0, 'svc_live_'.length)}[masked]`;
  if (found.startsWith('whsec_')) return 'whsec_[masked]';
  if (/^bearer/i.test(found)) return 'Bearer [masked]';
  const [, domain] = /(?:@|%40)(.*)$/.exec(found) ?? [];
  if (domain !== undefined) return `${found.charAt(0)}***@${domain}`;
  if (/^(?:\+|%2b)?[\d ().-]+$/i.test(found))
    return maskPhone(found.replace(/%2b/i, '+').replace(/[^+\d]/g, ''));
  return '[masked]';
}

/** The depth to which objects are masked. No logged object is deeper. */
const maxDepth = 4;

/** The fields of a log line with every text masked, even in lists and plain objects. Never changes `fields`. */
export function maskFields<Fields extends object>(fields: Fields, depth = 0): Fields {
  let masked: Fields | undefined;
  for (const name in fields) {
    const value = fields[name];
    if (value === undefined || typeof value === 'number') continue;
    const shown = maskValue(value, depth);
    if (shown === value) continue;
    masked ??= (Array.isArray(fields) ? [...(fields as unknown[])] : { ...fields }) as Fields;
    Object.assign(masked, { [name]: shown });
  }
  return masked ?? fields;
}

function maskValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskSensitive(value);
  if (typeof value !== 'object' || value === null || depth === maxDepth) return value;
  const isPlain = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  return isPlain ? maskFields(value, depth + 1) : value;
}
