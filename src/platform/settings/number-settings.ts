import { EnvError, makeExactValidator } from 'envalid';

export const port = makeExactValidator<number>((input) => {
  if (!/^[0-9]{1,5}$/.test(input) || Number(input) > 65535) {
    throw new EnvError('must be a port from 0 to 65535 (0 selects any free port)');
  }
  return Number(input);
});

export const wholeNumber = makeExactValidator<number>((input) => {
  if (!/^[0-9]{1,9}$/.test(input)) throw new EnvError('must be a whole number, 0 or more');
  return Number(input);
});

export const slotCount = makeExactValidator<number>((input) => {
  if (!/^[0-9]{1,7}$/.test(input) || Number(input) < 2)
    throw new EnvError('must be a whole number from 2 to 9999999');
  return Number(input);
});

export const poolSize = makeExactValidator<number>((input) => {
  if (!/^[1-9][0-9]{0,3}$/.test(input)) throw new EnvError('must be a whole number from 1 to 9999');
  return Number(input);
});

/** The relay holds a connection for its advisory lock, a task in the background another, and its work needs a third. */
export const corePoolSize = makeExactValidator<number>((input) => {
  if (!/^[0-9]{1,4}$/.test(input) || Number(input) < 3)
    throw new EnvError('must be a whole number from 3 to 9999');
  return Number(input);
});

/** Four tasks of a webhooks process each hold a connection for their advisory lock. */
export const webhooksPoolSize = makeExactValidator<number>((input) => {
  if (!/^[0-9]{1,4}$/.test(input) || Number(input) < 6)
    throw new EnvError('must be a whole number from 6 to 9999');
  return Number(input);
});

/** Longer than the 76 hours for which a delivery is retried. */
export const retentionDays = makeExactValidator<number>((input) => {
  if (!/^[0-9]{1,5}$/.test(input) || Number(input) < 7)
    throw new EnvError('must be a number of days, 7 or more');
  return Number(input);
});

/** Longer than copies of events are kept. */
export const personalDataDays = makeExactValidator<number>((input) => {
  const days = /^[0-9]{1,5}$/.test(input) ? Number(input) : -1;
  if (days === 0 || (days >= 30 && days <= 36_500)) return days;
  throw new EnvError('must be a number of days from 30 to 36500, or 0 to keep personal data for ever');
});

export const timeScale = makeExactValidator<number>((input) => {
  const scale = /^[0-9]{1,4}([.][0-9]{1,6})?$/.test(input) ? Number(input) : 0;
  if (scale > 0) return scale;
  throw new EnvError('must be a factor above 0 for delays, such as 0.1 for ten times as fast');
});
