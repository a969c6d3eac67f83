import { expect, test } from 'vitest';
import { htmlFormat } from './html.ts';
import { sampleFailure, sampleReport } from './samples.ts';

test('the page is complete: every check, every finding, and nothing from anywhere else', () => {
  const page = htmlFormat.document(sampleReport());
  for (const { id } of sampleReport().checks) expect(page).toContain(id);
  expect(page).toContain('a first event with an id above 7');
  expect(page).toContain('default-src &#39;none&#39;');
  expect(page).not.toMatch(/<(link|img|iframe)\b|\ssrc=|url\(|@import|fetch\(/);
});

test('a few failures are told at length; of many the first, the others in a line each', () => {
  const cards = (count: number): string[] => {
    const failing = Array.from({ length: count }, (_, index) => sampleFailure({ id: `device.f${index}` }));
    return [
      ...htmlFormat.document(sampleReport(failing)).matchAll(/<details class="finding fail" id="\S+" (open)?>/g),
    ].map(([, open]) => open ?? 'closed');
  };
  expect(cards(3)).toEqual(['open', 'open', 'open']);
  expect(cards(5)).toEqual(['open', 'closed', 'closed', 'closed', 'closed']);
  expect(htmlFormat.document(sampleReport([sampleFailure()]))).toContain(
    '<span class="brief">the first event has id 7</span>',
  );
});

test('what a target says stays text', () => {
  const actual = `</pre><script>alert(1)</script>" onload='x' &amp;`;
  const page = htmlFormat.document(sampleReport([sampleFailure({ actual, counterexample: actual, curl: actual })]));
  expect(page).not.toContain('<script>alert');
  expect(page.match(/<script>/g)).toHaveLength(1);
  expect(page).toContain('&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39; &amp;amp;');
});
