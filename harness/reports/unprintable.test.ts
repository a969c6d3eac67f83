import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyCharacter } from '../../simulators/common/testing/scratch.ts';
import { Redactor } from '../common/redact.ts';
import type { Report } from '../runner/types.ts';
import { temporaryFolder } from '../targets/testing/places.ts';
import { createReporters, REPORT_FORMATS } from './create.ts';
import { fullReports, poisoned, sampleFailure, sampleReport } from './testing/samples.ts';

const folder = temporaryFolder();

/** Code points one by one, because the tested code selects characters by Unicode properties. */
const FORBIDDEN = [
  ...Array.from({ length: 0x20 }, (_, code) => code).filter((code) => code !== 9 && code !== 10),
  ...Array.from({ length: 0x21 }, (_, index) => 0x7f + index),
  ...[0x061c, 0x200e, 0x200f, 0x2028, 0x2029],
  ...[0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069],
].map((code) => String.fromCharCode(code));
const forbiddenIn = (text: string): string[] => FORBIDDEN.filter((character) => text.includes(character));

const nasty = fc.oneof(
  fc.constantFrom(...FORBIDDEN),
  fc.constantFrom('\u001b[2J', '\u001b]0;title\u0007', '\u009b31m', '\r\n', '\u202egpj.exe'),
  fc.string({ unit: anyCharacter, maxLength: 8 }),
);

async function written(format: string, report: Report): Promise<string> {
  let said = '';
  const output = { write: (text: string) => (said += text) };
  const options = { redactor: new Redactor(), stdout: output, stderr: output, env: { NO_COLOR: '1' }, verbose: true };
  const file = join(folder, format);
  const { target, seed } = report;
  const start = { checks: [], suite: { api: 'device', checks: [] }, requirements: '2026-11-21', target, seed } as never;
  for (const reporter of createReporters([format, `${format}=${file}`], options)) {
    reporter.onStart?.(start);
    await reporter.onEnd?.(report);
  }
  return said + readFileSync(file, 'utf8');
}

test.each(REPORT_FORMATS)('%s shows no raw control character of a target', async (format) => {
  await fc.assert(
    fc.asyncProperty(fc.array(nasty, { minLength: 1, maxLength: 20 }), async (texts) => {
      let next = 0;
      const text = (): string => texts[next++ % texts.length] ?? '';
      for (const report of fullReports()) {
        expect(forbiddenIn(await written(format, poisoned(report, text) as Report)), format).toEqual([]);
      }
    }),
    { numRuns: 12, endOnFailure: true },
  );
});

test.each(['json', 'ctrf'])('%s keeps every character of target text', async (format) => {
  const actual = FORBIDDEN.join('');
  const shown = await written(format, sampleReport([sampleFailure({ actual })]));
  expect(shown).toContain('\\u009b');
  const [stdout = ''] = shown.split('\n}\n');
  expect(JSON.stringify(JSON.parse(`${stdout}\n}`))).toContain(JSON.stringify(actual).slice(1, -1));
});
