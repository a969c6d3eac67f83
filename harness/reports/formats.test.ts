import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validate } from 'ctrf';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryPages, validateXML } from 'xmllint-wasm';
import { anyCharacter } from '../../simulators/common/testing/text.ts';
import { ctrfFormat } from './ctrf.ts';
import { htmlFormat } from './html.ts';
import { junitFormat } from './junit.ts';
import { sampleFailure, sampleReport, sampleResult } from './samples.ts';

const schema = readFileSync(join(import.meta.dirname, '../../fixtures/schemas/junit.xsd'), 'utf8');
const problems = async (xml: string) =>
  (
    await validateXML({
      xml: [{ fileName: 'junit.xml', contents: xml }],
      schema: [schema],
      initialMemoryPages: 16 * memoryPages.MiB,
    })
  ).errors;

test('a report with every outcome is valid JUnit', async () => {
  expect(await problems(junitFormat.document(sampleReport()))).toEqual([]);
});

test('failures are failures, undecided is an error, not applicable and known are skipped', () => {
  const xml = junitFormat.document(sampleReport());
  expect(xml).toMatch(/<testsuites .* tests="11" failures="1" errors="2" skipped="3"/);
  expect(xml).toMatch(/name="device.events.replay.exclusive"[^>]*>\s*<failure message="expected a first event/);
  expect(xml).toMatch(/name="device.events.expired.410"[^>]*>\s*<error message="control: POST/);
  expect(xml).toMatch(/name="device.version.prefix"[^>]*>\s*<error /);
  expect(xml).toMatch(/name="device.loopback.discovery"[^>]*>\s*<skipped message="not applicable: needs loopback/);
  expect(xml).toMatch(/name="device.events.after-wins"[^>]*>\s*<skipped message="known: /);
  expect(xml).toMatch(/name="device.events.heartbeat"[^>]*>\s*<system-out>/);
});

test('whatever a target says, the document stays well formed and valid', async () => {
  const nasty = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.constantFrom(']]>', '<!--', '\u0000', '\uffff', '\ud800', '"\'&<>', '\u001b[31m', '\r\n\t'),
  );
  // Many in one document: it is the start of the validator that takes time.
  await fc.assert(
    fc.asyncProperty(fc.array(nasty, { minLength: 20, maxLength: 40 }), async (texts) => {
      const checks = texts.flatMap((text, index) => [
        sampleFailure({ id: `device.f${index}`, actual: text, counterexample: text }),
        sampleResult({ id: `device.b${index}`, outcome: 'blocked', reason: text }),
        sampleResult({ id: `device.n${index}`, outcome: 'not_applicable', reason: text }),
      ]);
      expect(await problems(junitFormat.document(sampleReport(checks)))).toEqual([]);
    }),
    { numRuns: 4, endOnFailure: true },
  );
});

test('the JUnit schema refuses other documents', async () => {
  const xml = junitFormat.document(sampleReport());
  expect(await problems(xml.replace('<failure ', '<failed ').replace('</failure>', '</failed>'))).not.toEqual([]);
  expect(await problems(xml.replace(/ tests="\d+"/, ' tests="many"'))).not.toEqual([]);
});

const document = () => JSON.parse(ctrfFormat.document(sampleReport()));

test('a report with every outcome is valid CTRF', () => {
  expect(validate(document())).toMatchObject({ valid: true });
});

test('the CTRF totals count its tests', () => {
  const { summary, tests } = document().results;
  expect(summary).toMatchObject({ tests: 11, passed: 5, failed: 1, skipped: 3, pending: 0, other: 2 });
  for (const status of ['passed', 'failed', 'skipped', 'other']) {
    expect(tests.filter((item: { status: string }) => item.status === status)).toHaveLength(summary[status]);
  }
});

test('the CTRF schema refuses other documents', () => {
  expect(validate({ ...document(), results: { tool: {}, tests: [] } })).toMatchObject({ valid: false });
});

test('the HTML page has every check and every finding, and loads nothing', () => {
  const page = htmlFormat.document(sampleReport());
  for (const { id } of sampleReport().checks) expect(page).toContain(id);
  expect(page).toContain('a first event with an id above 7');
  expect(page).toContain('default-src &#39;none&#39;');
  expect(page).not.toMatch(/<(link|img|iframe)\b|\ssrc=|url\(|@import|fetch\(/);
});

test('the HTML page opens a few failures, and of many only the first', () => {
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

test('HTML in an answer of the target stays text', () => {
  const actual = `</pre><script>alert(1)</script>" onload='x' &amp;`;
  const page = htmlFormat.document(sampleReport([sampleFailure({ actual, counterexample: actual, curl: actual })]));
  expect(page).not.toContain('<script>alert');
  expect(page.match(/<script>/g)).toHaveLength(1);
  expect(page).toContain('&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39; &amp;amp;');
});
