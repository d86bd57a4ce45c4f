import { isIP } from 'node:net';
import { EnvError, makeExactValidator } from 'envalid';

const addressForm = /^(?:dns:\/\/\/)?(\[[0-9a-f:]+\]|[^\s,:/[\]]+):([1-9][0-9]{0,4})$/i;

/** The kind of a host. A list may contain IP addresses of one kind, or one name: see rpc/grpc-transport.ts. */
function familyOf(host: string): 4 | 6 | 'name' {
  if (host === 'localhost' || isIP(host) === 4) return 4;
  return host.startsWith('[') ? 6 : 'name';
}

export const addresses = makeExactValidator<readonly string[]>((input) => {
  const list = input.split(',').map((address) => address.trim());
  const families = new Set<ReturnType<typeof familyOf>>();
  for (const address of list) {
    const [, host = '', port = '0'] = addressForm.exec(address) ?? [];
    if (host === '' || Number(port) > 65535) {
      throw new EnvError('must be host:port, or several separated by commas');
    }
    families.add(familyOf(host));
  }
  if (list.length > 1 && (families.size > 1 || families.has('name'))) {
    throw new EnvError(
      'may list several addresses only as IPv4:port, or only as [IPv6]:port; for machines with names, give one ' +
        'name that DNS resolves to all of them, such as dns:///core:50051',
    );
  }
  return list;
});

export const networks = makeExactValidator<readonly string[]>((input) => {
  const list = input.split(',').map((network) => network.trim());
  if (!list.every((network) => isIP(network) !== 0 || isNetwork(network))) {
    throw new EnvError('must be IP addresses or networks separated by commas, such as 10.0.0.0/8');
  }
  return list;
});

/** Whether a text is a network in CIDR form, such as 10.0.0.0/8. */
export function isNetwork(text: string): boolean {
  const [address = '', bits = '', ...rest] = text.split('/');
  const version = isIP(address);
  return (
    version !== 0 &&
    rest.length === 0 &&
    /^[0-9]{1,3}$/.test(bits) &&
    Number(bits) <= (version === 4 ? 32 : 128)
  );
}

const notValid =
  'is not a valid URL. In a user name or password, write / as %2F, # as %23, @ as %40, : as %3A, ? as %3F and % as %25';

const urlSetting = (
  protocols: readonly string[],
  problemOf: (url: URL, text: string) => string | undefined = () => undefined,
) =>
  makeExactValidator<string>((input) => {
    const expected = protocols.map((protocol) => `${protocol}//`).join(' or ');
    if (!protocols.some((protocol) => input.startsWith(`${protocol}//`))) {
      throw new EnvError(`must be a URL starting with ${expected}`);
    }
    if (!URL.canParse(input)) throw new EnvError(notValid);
    const problem = problemOf(new URL(input), input);
    if (problem !== undefined) throw new EnvError(problem);
    return input.replace(/\/+$/, '');
  });

/**
 * An address to listen on. `localhost` becomes 127.0.0.1. Otherwise Fastify would open a second listener on ::1, which
 * lacks our handler for errors of the HTTP parser.
 */
export const listenHost = makeExactValidator<string>((input) => {
  if (isIP(input) === 0 && !/^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/i.test(input))
    throw new EnvError('must be an IP address or a host name, without a port');
  return input.toLowerCase() === 'localhost' ? '127.0.0.1' : input;
});

/** An origin without a path, because the pages' cookies are valid for the whole host. */
export const origin = makeExactValidator<string>((input) => {
  const parsed = URL.canParse(input) ? new URL(input) : undefined;
  const isOrigin = parsed?.origin === input.replace(/\/$/, '');
  if (!isOrigin || !/^https?:$/.test(parsed.protocol))
    throw new EnvError('must be https://<host> or http://<host>, with a port or without, and without a path');
  return parsed.origin;
});

/** Whether a character of the password ends the user part of a URL too early, or a percent sign encodes nothing. */
function endsTooEarly({ username, password, pathname, searchParams, hash }: URL): boolean {
  const afterHost = [pathname, ...searchParams.keys()];
  return (
    hash !== '' ||
    afterHost.some((text) => text.includes('@')) ||
    [username, password, pathname].some((text) => /%(?![0-9a-f]{2})/i.test(text))
  );
}

const sslModes = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];
/** The parameters that libpq also reads after the question mark. One of our two drivers does not, and would connect to another server. */
const destinations = [
  'host',
  'hostaddr',
  'port',
  'dbname',
  'user',
  'password',
  'service',
  'target_session_attrs',
];
export const databaseUrl = urlSetting(['postgres:', 'postgresql:'], (parsed) => {
  if (endsTooEarly(parsed)) return notValid;
  const { hostname, searchParams } = parsed;
  const misplaced = destinations.find((name) => searchParams.has(name));
  if (misplaced !== undefined)
    return (
      `has ${misplaced} after the question mark, where it has no effect. Write postgres://user:password@host:port/database. ` +
      'The host of a Unix socket is its folder, such as %2Frun%2Fpostgresql'
    );
  const mode = searchParams.get('sslmode') ?? 'disable';
  if (mode !== 'disable' && /^%2f/i.test(hostname))
    return 'has an sslmode, but PostgreSQL has no TLS on a Unix socket. Remove sslmode';
  return sslModes.includes(mode) ? undefined : `has an sslmode other than ${sslModes.join(', ')}`;
});
export const natsUrl = urlSetting(['nats:', 'tls:']);
export const httpUrl = urlSetting(['http:', 'https:']);

/** The start of URLs, to which paths are appended. */
export const baseUrl = urlSetting(['http:', 'https:'], (_url, text) =>
  /[\s?#]/.test(text) ? 'must have no blanks, no ? and no #, because paths are appended to it' : undefined,
);
export const smtpUrl = urlSetting(['smtp:', 'smtps:']);
