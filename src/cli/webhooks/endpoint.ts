import { InvalidArgumentError, Option } from 'commander';

/** Scheme, host and port of an endpoint or of a complete webhook_url. */
export function readEndpoint(text: string): string {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError(
      'Write it as https://shop.example or http://127.0.0.1:3000. A complete webhook_url is also accepted.',
    );
  return new URL(text).origin;
}

export const hostOption = (): Option =>
  new Option(
    '--host <url>',
    "only deliveries to orders' webhook_urls at this scheme, host and port",
  ).argParser(readEndpoint);

/** The former name of `--host`. */
export const formerHostOption = (): Option =>
  new Option('--endpoint <url>').argParser(readEndpoint).hideHelp();
