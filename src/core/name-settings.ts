import { EnvError, makeExactValidator } from 'envalid';

export const currencies = makeExactValidator<readonly string[]>((input) => {
  const list = input.split(',').map((code) => code.trim());
  if (!list.every((code) => /^[A-Z]{3}$/.test(code))) {
    throw new EnvError('must be ISO 4217 codes with commas between, such as ETB,USD');
  }
  return list;
});

/** Payment options as merchants write them. */
export const allOptionNames = ['walleta_ussd', 'walletb_ussd', 'walleta_wallet'] as const;
export type PaymentOptionName = (typeof allOptionNames)[number];

export const optionNames = makeExactValidator<readonly PaymentOptionName[]>((input) => {
  const given = input.split(',').map((name) => name.trim());
  if (given.join() === 'none') return [];
  const known = allOptionNames.filter((name) => given.includes(name));
  if (known.length < given.length) {
    throw new EnvError(`must be none, or some of ${allOptionNames.join(', ')} with commas between`);
  }
  return known;
});
