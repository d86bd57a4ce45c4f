import { CliError, exitCodes } from '../cli-error.ts';

/** Where a text with signing secrets comes from, and the text. */
export interface SecretsText {
  readonly source: string;
  readonly text: string;
}

/** The form of a signing secret: its key is the decoded part after the prefix. */
const form = /^whsec_[A-Za-z0-9+/]+={0,2}$/;

/**
 * The signing secrets in a text, separated by commas, blanks or line breaks: the current one, and the next one during a rotation.
 * @throws CliError that does not contain the text, because it may be a secret with a typing error
 */
export function readSecrets({ source, text }: SecretsText): readonly [current: string, next?: string] {
  const secrets = text.split(/[\s,]+/).filter((word) => word !== '');
  const [current, next] = secrets;
  const refuse = (why: string): CliError => new CliError(exitCodes.invalidInput, why, howToGiveSecrets);
  if (current === undefined) throw refuse(`there is no signing secret in ${source}`);
  if (secrets.length > 2) throw refuse(`there are more than two signing secrets in ${source}`);
  if (!secrets.every((secret) => form.test(secret)))
    throw refuse(`${source} does not hold a signing secret, which begins with whsec_`);
  return next === undefined ? [current] : [current, next];
}

/** There is no flag for a secret, because other users of a machine can see flags. */
export const howToGiveSecrets = [
  'Put the sandbox signing secret of your webhooks into a file, and name the file with --secret-file.',
  'Or set GATEHOUSE_WEBHOOK_SECRET. During a rotation, give the current and the next secret.',
].join('\n');
