import { describe, expect, test } from '@jest/globals';
import { languageFor } from '../../../src/platform/language/language.ts';
import { durationText, waitText } from '../../../src/platform/language/duration-text.ts';
import { numberFormat, timeFormat } from '../../../src/platform/language/formats.ts';
import { momentFormat } from '../../../src/platform/language/moment-text.ts';

describe('a page', () => {
  test.each([
    ['nothing is known', {}, 'en'],
    ['the browser prefers Amharic', { accepted: 'am-ET,am;q=0.9,en;q=0.8' }, 'am'],
    ['the browser prefers English to Amharic', { accepted: 'en-GB,en;q=0.9,am;q=0.8' }, 'en'],
    ['the browser prefers another, then Amharic', { accepted: 'om-ET,am;q=0.7' }, 'am'],
    ['the browser refuses English', { accepted: 'en;q=0,am' }, 'am'],
    ['the browser takes anything', { accepted: '*' }, 'en'],
    ['the header is invalid', { accepted: ';;=,,q' }, 'en'],
    ['the header goes on for long', { accepted: `om,${'x,'.repeat(500)}am` }, 'en'],
    ['the language was chosen before', { remembered: 'am', accepted: 'en' }, 'am'],
    ['the language is chosen now', { chosen: 'en', remembered: 'am', accepted: 'am' }, 'en'],
    ['the chosen language is not supported', { chosen: 'fr', remembered: 'xx', accepted: 'am' }, 'am'],
  ])('has the right language when %s', (_name, wishes, language) => {
    expect(languageFor(wishes)).toBe(language);
  });
});

describe('a wait is never shown shorter than it is', () => {
  test.each([
    [1, 'en', '1 second'],
    [59, 'en', '59 seconds'],
    [60, 'en', '1 minute'],
    [61, 'en', '2 minutes'],
    [1800, 'am', '30 ደቂቃዎች'],
    [3601, 'en', '2 hours'],
    [86_400, 'en', '24 hours'],
  ] as const)('%d seconds in %s', (seconds, language, text) => {
    expect(waitText(seconds, language)).toBe(text);
  });
});

describe('a duration is shown in its two largest units', () => {
  test.each([
    [0, 'en', '0 seconds'],
    [59.9, 'en', '59 seconds'],
    [90, 'en', '1 minute, 30 seconds'],
    [3599, 'en', '59 minutes, 59 seconds'],
    [3600, 'en', '1 hour'],
    [5400, 'en', '1 hour, 30 minutes'],
    [7199, 'en', '1 hour, 59 minutes'],
    [86_400 + 59, 'en', '1 day'],
    [29 * 86_400 + 3600, 'en', '29 days, 1 hour'],
    [30 * 86_400, 'en', '30 days'],
    [5400, 'am', '1 ሰዓት እና 30 ደቂቃዎች'],
    [86_400, 'am', '1 ቀን'],
    [29 * 86_400, 'am', '29 ቀናት'],
  ] as const)('%d seconds in %s', (seconds, language, text) => {
    expect(durationText(seconds, language)).toBe(text);
  });
});

test.each([
  ['en', 'short', '29 Nov 2026, 14:45'],
  ['en', 'medium', '29 Nov 2026, 14:45:09'],
  ['am', 'short', '29 ኖቬም 2026 14:45'],
  ['am', 'medium', '29 ኖቬም 2026 14:45:09'],
] as const)('a time in %s, %s, has 24 hours', (language, style, text) => {
  const format = momentFormat(language, 'Africa/Addis_Ababa', style);

  expect(format.format(new Date('2026-11-29T11:45:09Z'))).toBe(text);
});

test('a format is created once for a language and options', () => {
  const hour = { hour: 'numeric', timeZone: 'UTC' } as const;

  expect(timeFormat('en-GB', hour)).toBe(timeFormat('en-GB', { ...hour }));
  expect(timeFormat('en-GB', hour)).not.toBe(timeFormat('am-ET', hour));
  expect(numberFormat('en')).toBe(numberFormat('en'));
  expect(numberFormat('en')).not.toBe(numberFormat('en', { style: 'percent' }));
});
