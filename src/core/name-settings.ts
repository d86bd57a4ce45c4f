import { EnvError, makeExactValidator } from 'envalid';

export const currencies = makeExactValidator<readonly string[]>((input) => {
  const list = input.split(',').map((code) => code.trim());
  if (!list.every((code) => /^[A-Z]{3}$/.test(code))) {
    throw new EnvError('must be ISO 4217 codes with commas between, such as ETB,USD');
  }
  return list;
});
