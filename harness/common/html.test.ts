import fc from 'fast-check';
import { expect, test } from 'vitest';
import { escapeAttribute, escapeText, html, NOTHING, trusted } from './html.ts';

test('text that is put in stays text, markup stays markup', () => {
  const item = html`<li>${'a < b & "c"'}</li>`;
  expect(html`<ul>${[item, item]}${NOTHING}${undefined}${3}</ul>`.markup).toBe(
    '<ul><li>a &lt; b &amp; &quot;c&quot;</li><li>a &lt; b &amp; &quot;c&quot;</li>3</ul>',
  );
  expect(html`<style>${trusted('a > b {}')}</style>`.markup).toBe('<style>a > b {}</style>');
});

test('nothing that is put in opens a tag, ends an attribute or begins an entity', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('<', '>', '&', '"', "'", 'a', ';', '#') }), (text) => {
      const { markup } = html`${text}`;
      expect(markup).not.toMatch(/[<>"']/);
      expect(markup).not.toMatch(/&(?!(amp|lt|gt|quot|#39);)/);
      expect(unescaped(markup)).toBe(text);
      expect(escapeAttribute(text)).toBe(markup);
      expect(unescaped(escapeText(text))).toBe(text);
    }),
  );
});

/** The inverse of escaping; the ampersand last, so that nothing is undone twice. */
const unescaped = (markup: string): string =>
  markup
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
