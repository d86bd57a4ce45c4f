import { paymentOptions } from '../contract/payment-options.ts';
import type { PaymentOptionWord } from '../contract/payment-options.ts';
import { EnvError, makeExactValidator } from 'envalid';

export const currencies = makeExactValidator<readonly string[]>((input) => {
  const list = input.split(',').map((code) => code.trim());
  if (!list.every((code) => /^[A-Z]{3}$/.test(code))) {
    throw new EnvError('must be ISO 4217 codes with commas between, such as ETB,USD');
  }
  return list;
});

/** Payment options as merchants write them. */
export const optionNames = makeExactValidator<readonly PaymentOptionWord[]>((input) => {
  const given = input.split(',').map((name) => name.trim());
  if (given.join() === 'none') return [];
  const known = paymentOptions.filter(({ name }) => given.includes(name));
  if (known.length < given.length) {
    const names = paymentOptions.map(({ name }) => name).join(', ');
    throw new EnvError(`must be none, or some of ${names} with commas between`);
  }
  return known.map(({ word }) => word);
});
