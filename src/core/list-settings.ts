import { EnvError, makeExactValidator } from 'envalid';
import { certificationParts } from '../contract/certification-checks.ts';
import type { CertificationPart } from '../contract/certification-checks.ts';

export const currencies = makeExactValidator<readonly string[]>((input) => {
  const list = input.split(',').map((code) => code.trim());
  if (!list.every((code) => /^[A-Z]{3}$/.test(code))) {
    throw new EnvError('must be ISO 4217 codes separated by commas, such as ETB,USD');
  }
  return list;
});

/** The parts of a certification that a merchant needs before production is activated. */
export const requiredCertification = makeExactValidator<readonly CertificationPart[]>((input) => {
  const words = input.split(',').map((word) => word.trim());
  const parts = certificationParts.filter((part) => words.includes(part));
  if (parts.length !== words.length)
    throw new EnvError('must be receiver, integration, or receiver,integration');
  return parts;
});
