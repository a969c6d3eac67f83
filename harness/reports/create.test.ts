import { execFile, execFileSync } from 'node:child_process';
import { existsSync, lstatSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Redactor } from '../common/redact.ts';
import { UsageError } from '../common/usage.ts';
import { temporaryFolder } from '../targets/testing/places.ts';
import { createReporters, jsonReportFile } from './create.ts';
import { sampleReport } from './testing/samples.ts';

const folder = temporaryFolder();

function streams() {
  const said = { out: '', err: '' };
  const options = {
    redactor: new Redactor(),
    stdout: { write: (text: string) => (said.out += text) },
    stderr: { write: (text: string) => (said.err += text) },
    env: {},
  };
  const write = async (...specs: string[]): Promise<typeof said> => {
    for (const reporter of createReporters(specs, options)) await reporter.onEnd?.(sampleReport());
    return said;
  };
  return { options, write };
}

test('a machine-readable report owns stdout, and text for people moves to stderr', async () => {
  const said = await streams().write('pretty', 'json');
  expect(JSON.parse(said.out)).toEqual(JSON.parse(JSON.stringify(sampleReport())));
  expect(said.err).toContain('NOT CONFORMANT');
});

test('links and pipes are written to, not replaced', async () => {
  const link = join(folder, 'link.json');
  const pipe = join(folder, 'pipe');
  writeFileSync(join(folder, 'linked.json'), 'old');
  symlinkSync(join(folder, 'linked.json'), link);
  execFileSync('mkfifo', [pipe]);
  const reading = new Promise<string>((resolve) => execFile('cat', [pipe], (_, out) => resolve(out)));
  await streams().write(`json=${link}`, `junit=${pipe}`);
  expect(lstatSync(link).isSymbolicLink()).toBe(true);
  expect(readFileSync(join(folder, 'linked.json'), 'utf8')).toContain('4711');
  expect(await reading).toContain('<testsuites');
  expect(lstatSync(pipe).isFIFO()).toBe(true);
});

test.each([
  [['xml'], /--report xml: accepted are pretty, json, junit, ctrf, tap, html, github, sarif, har/],
  [['json='], /the file after = is missing/],
  [['json', 'junit'], /json and junit cannot both go to stdout/],
])('%j is refused', (specs, words) => {
  const { options } = streams();
  expect(() => createReporters(specs, options)).toThrow(words);
  expect(() => createReporters(specs, options)).toThrow(UsageError);
});

test('only a JSON report in a file can be replayed', () => {
  expect(jsonReportFile(['pretty', 'json', 'json=a=b.json', 'junit=c.xml'])).toBe('a=b.json');
  expect(jsonReportFile(['json', 'junit=c.xml'])).toBeUndefined();
});

test('an unwritable place is refused before the run', () => {
  const [file, twice] = [join(folder, 'file'), join(folder, 'twice.json')];
  writeFileSync(file, '');
  for (const [specs, words] of [
    [[`html=${join(file, 'report.html')}`], /cannot write .*report.html/],
    [[`json=${folder}`], /is a folder/],
    // `/proc` reports the file as writable, although writing fails.
    [['json=/proc/report.json'], /cannot write \/proc\/report.json/],
    [[`json=${twice}`, `ctrf=${twice}`], /^--report ctrf=.*twice.json is taken by --report json=/],
  ] as const)
    expect(() => createReporters(specs, streams().options)).toThrow(words);
  expect([join(file, 'report.html'), twice].some((path) => existsSync(path))).toBe(false);
});
