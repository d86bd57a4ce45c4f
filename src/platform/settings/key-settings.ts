import { EnvError, makeExactValidator } from 'envalid';

export const key256 = makeExactValidator<Buffer>((input) => {
  if (!/^[0-9a-f]{64}$/i.test(input)) {
    throw new EnvError('must be 64 hexadecimal digits; make one with: openssl rand -hex 32');
  }
  return Buffer.from(input, 'hex');
});
