import { describe, expect, test } from '@jest/globals';
import { languageFor } from '../../../src/platform/language/language.ts';
import { durationText } from '../../../src/platform/language/duration-text.ts';

describe('a page', () => {
  test.each([
    ['nothing is known', {}, 'en'],
    ['the browser prefers Amharic', { accepted: 'am-ET,am;q=0.9,en;q=0.8' }, 'am'],
    ['the browser prefers English to Amharic', { accepted: 'en-GB,en;q=0.9,am;q=0.8' }, 'en'],
    ['the browser prefers another, then Amharic', { accepted: 'om-ET,am;q=0.7' }, 'am'],
    ['the browser refuses English', { accepted: 'en;q=0,am' }, 'am'],
    ['the browser takes anything', { accepted: '*' }, 'en'],
    ['the header is invalid', { accepted: ';;=,,q' }, 'en'],
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
    expect(durationText(seconds, language)).toBe(text);
  });
});
