import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Value } from '@sinclair/typebox/value';
import type { TSchema } from '@sinclair/typebox';
import { findNodeAtLocation, parseTree, printParseErrorCode } from 'jsonc-parser';
import type { Node, ParseError } from 'jsonc-parser';
import { SettingsError } from '../../platform/settings/read-settings.ts';
import { mistakeText } from './mistake-text.ts';
import { readLogo } from './read-logo.ts';
import type { Logo } from './read-logo.ts';
import { walletsSchema } from './wallets-schema.ts';
import type { WalletEntry } from './wallets-schema.ts';

/** A configured wallet, and a function that reports a mistake in it with its path in the configuration. */
export interface ConfiguredWallet extends WalletEntry {
  readonly logoFile: Logo | undefined;
  /** A SettingsError with the line and the path. `path` is that below the wallet. */
  readonly problemAt: (path: readonly (string | number)[], problem: string) => SettingsError;
}

export interface WalletsSource {
  /** GATEHOUSE_WALLETS_FILE: the path of the file. */
  readonly file: string | undefined;
  /** GATEHOUSE_WALLETS: the same JSON in the environment. */
  readonly json: string | undefined;
}

/**
 * Reads the configured wallets, without their secrets. It leaves out the settings of their connectors too, because only the wallets
 * process understands these.
 * @throws SettingsError that names the file, the line and the path of a mistake. It never contains the value, which may be a secret
 */
export function readWallets({ file, json }: WalletsSource): readonly ConfiguredWallet[] {
  if ((file === undefined) === (json === undefined))
    throw new SettingsError(
      'GATEHOUSE_WALLETS_FILE must name the JSON file of the wallets (or GATEHOUSE_WALLETS must contain it, but not both)',
    );
  const source = file === undefined ? 'GATEHOUSE_WALLETS' : `GATEHOUSE_WALLETS_FILE ${file}`;
  const text = file === undefined ? (json ?? '') : readText(file);
  const document = new JsonDocument(source, text);
  const content = document.content;
  const mistake = document.firstMistake(walletsSchema, content, []);
  if (mistake !== undefined) throw mistake;
  const { wallets } = Value.Decode(walletsSchema, content);
  const folder = file === undefined ? '.' : dirname(file);
  return wallets.map((wallet, index) => {
    const problemAt = (path: readonly (string | number)[], problem: string) =>
      document.problemAt(['wallets', index, ...path], problem);
    if (wallets.findIndex(({ id }) => id === wallet.id) < index)
      throw problemAt(['id'], `names the wallet ${wallet.id} a second time`);
    for (const [
      position,
      { code, least_amount: least, greatest_amount: greatest },
    ] of wallet.currencies.entries()) {
      if (wallet.currencies.findIndex((each) => each.code === code) < position)
        throw problemAt(['currencies', position, 'code'], `names ${code} a second time`);
      if (least !== undefined && greatest !== undefined && isGreater(least, greatest))
        throw problemAt(['currencies', position, 'least_amount'], 'must not be above greatest_amount');
    }
    const read = (): Logo | undefined => {
      if (wallet.logo === undefined) return undefined;
      const logo = readLogo(resolve(folder, wallet.logo));
      if ('problem' in logo) throw problemAt(['logo'], logo.problem);
      return logo;
    };
    return { ...wallet, logoFile: read(), problemAt };
  });
}

/** A setting of a connector that names its secret (`secretReference`). */
export const isSecretReference = (value: unknown): value is { readonly secret: string } =>
  typeof value === 'object' && value !== null && 'secret' in value && typeof value.secret === 'string';

/** The environment variables that configured wallets name as their secrets. The operator chooses these names. */
export const secretNames = (wallets: readonly WalletEntry[]): string[] =>
  wallets
    .flatMap(({ environments }) => Object.values(environments))
    .flatMap(({ settings, callbacks }) => [...Object.values(settings), callbacks?.api_key])
    .filter(isSecretReference)
    .map(({ secret }) => secret);

/** Checks a part of the configuration against its own schema, such as the settings of a connector. */
export function mistakeIn(
  wallet: ConfiguredWallet,
  path: readonly (string | number)[],
  schema: TSchema,
  value: unknown,
): SettingsError | undefined {
  const first = Value.Errors(schema, value).First();
  return first === undefined
    ? undefined
    : wallet.problemAt([...path, ...keysOf(first.path)], mistakeText(first));
}

function readText(file: string): string {
  try {
    // Some editors begin a file with a byte order mark.
    return readFileSync(file, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new SettingsError(`GATEHOUSE_WALLETS_FILE ${file} cannot be read (${why})`);
  }
}

/** JSON text, with the line of each value. */
class JsonDocument {
  readonly content: unknown;
  readonly #source: string;
  readonly #text: string;
  readonly #tree: Node | undefined;

  constructor(source: string, text: string) {
    this.#source = source;
    this.#text = text;
    const errors: ParseError[] = [];
    this.#tree = parseTree(text, errors, { disallowComments: true });
    const [error] = errors;
    if (error !== undefined || this.#tree === undefined) {
      const code = error === undefined ? 'ValueExpected' : printParseErrorCode(error.error);
      const what = code.replace(/\B[A-Z]/g, ' $&').toLowerCase();
      throw new SettingsError(`${source}, line ${this.#lineOf(error?.offset ?? 0)}: is not JSON (${what})`);
    }
    this.content = JSON.parse(text);
  }

  firstMistake(
    schema: TSchema,
    value: unknown,
    path: readonly (string | number)[],
  ): SettingsError | undefined {
    const first = Value.Errors(schema, value).First();
    return first === undefined
      ? undefined
      : this.problemAt([...path, ...keysOf(first.path)], mistakeText(first));
  }

  problemAt(path: readonly (string | number)[], problem: string): SettingsError {
    // A missing value has no line, so that of its parent is used.
    let at = [...path];
    let node = this.#find(at);
    while (node === undefined && at.length > 0) {
      at = at.slice(0, -1);
      node = this.#find(at);
    }
    const name = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`)).join('');
    return new SettingsError(
      `${this.#source}, line ${this.#lineOf(node?.offset ?? 0)}: ${name.replace(/^\./, '') || 'the file'}: ${problem}`,
    );
  }

  #find(path: readonly (string | number)[]): Node | undefined {
    return this.#tree === undefined ? undefined : findNodeAtLocation(this.#tree, [...path]);
  }

  #lineOf(offset: number): number {
    return this.#text.slice(0, offset).split('\n').length;
  }
}

/** The keys of a JSON pointer. A number is an index, because no name in the configuration is a number. */
const keysOf = (pointer: string): (string | number)[] =>
  pointer
    .split('/')
    .slice(1)
    .map((key) => (/^\d+$/.test(key) ? Number(key) : key.replaceAll('~1', '/').replaceAll('~0', '~')));

/** Compares decimal text exactly. */
function isGreater(a: string, b: string): boolean {
  const scaled = (text: string): bigint => {
    const [whole = '', decimals = ''] = text.split('.');
    return BigInt(whole + decimals.padEnd(4, '0'));
  };
  return scaled(a) > scaled(b);
}
