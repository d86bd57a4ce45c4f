import { expect, test } from '@jest/globals';

test.each<[string, object, object]>([
  ['a text and a pattern', { value: 'late' }, { value: /early/ }],
  ['a text and a pattern that would match', { value: 'late' }, { value: /late/ }],
  ['nothing and a pattern', { value: undefined }, { value: /late/ }],
  ['two patterns', { value: /a/ }, { value: /b/ }],
  ['two URLs', { value: new URL('http://a.example') }, { value: new URL('http://b.example') }],
  ['a text and an object without keys', { value: 'late' }, { value: {} }],
  ['nothing and an object without keys', { value: undefined }, { value: {} }],
  ['values in a list', [{ value: 'late' }], [{ value: /late/ }]],
])('%s do not match', (_, received, expected) => {
  expect(received).not.toMatchObject(expected);
});

test.each<[string, object, object]>([
  ['an object and one without keys', { value: { a: 1 } }, { value: {} }],
  ['equal patterns', { value: /a/g }, { value: /a/g }],
  ['equal URLs', { value: new URL('http://a.example') }, { value: new URL('http://a.example') }],
  ['equal times', { value: new Date(0) }, { value: new Date(0) }],
  ['empty sets', { value: new Set() }, { value: new Set() }],
  ['errors with the same message', { value: new Error('late') }, { value: new Error('late') }],
  ['a text and expect.stringMatching', { value: 'late' }, { value: expect.stringMatching(/^late$/) }],
])('%s match', (_, received, expected) => {
  expect(received).toMatchObject(expected);
});
