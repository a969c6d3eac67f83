import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryPages, validateXML } from 'xmllint-wasm';
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

test('a report with every outcome conforms to the common form', async () => {
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
    fc.string({ unit: 'binary' }),
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

test('the schema refuses what is not of that form', async () => {
  const xml = junitFormat.document(sampleReport());
  expect(await problems(xml.replace('<failure ', '<failed ').replace('</failure>', '</failed>'))).not.toEqual([]);
  expect(await problems(xml.replace(/ tests="\d+"/, ' tests="many"'))).not.toEqual([]);
});
