import { EnvError, makeExactValidator } from 'envalid';

export const timeZone = makeExactValidator<string>((input) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: input }).resolvedOptions().timeZone;
  } catch {
    throw new EnvError('must be the name of a time zone such as Africa/Addis_Ababa or UTC');
  }
});
