import { expect, test } from 'vitest';
import { sampleExchange } from '../reports/samples.ts';
import { Recorder } from './recorder.ts';
import { Redactor } from './redact.ts';

const said = (recorder: Recorder): string[] | undefined =>
  recorder.steps?.map((step) => ('drive' in step ? step.drive.what : step.exchange.url));

test('what drove the target stands between the exchanges, without secrets', () => {
  const redactor = new Redactor();
  redactor.add('s3cret-token');
  const recorder = new Recorder(redactor);
  recorder.add(sampleExchange({ url: 'http://localhost/1' }));
  recorder.drove({ what: 'POST /events s3cret-token', line: "curl -H 'x: s3cret-token' http://localhost/events" });
  recorder.add(sampleExchange({ url: 'http://localhost/2' }));
  expect(said(recorder)).toEqual(['http://localhost/1', 'POST /events ***', 'http://localhost/2']);
  // A line without its secret would not work.
  expect(recorder.steps?.[1]).toEqual({ drive: { what: 'POST /events ***' } });
  recorder.drove({ what: 'x', line: 'curl http://localhost/' });
  expect(recorder.steps?.at(-1)).toEqual({ drive: { what: 'x', line: 'curl http://localhost/' } });
});

test('each run of a property begins with what drove the target before it', () => {
  const recorder = new Recorder();
  recorder.drove({ what: 'before' });
  recorder.add(sampleExchange());
  const kept = recorder.keepDrives();
  for (const run of ['first', 'second']) {
    recorder.clear(kept);
    recorder.drove({ what: run });
    recorder.add(sampleExchange({ url: `http://localhost/${run}` }));
  }
  expect(said(recorder)).toEqual(['before', 'second', 'http://localhost/second']);
  const found = recorder.snapshot();
  recorder.clear(kept);
  recorder.restore(found);
  expect(said(recorder)).toEqual(['before', 'second', 'http://localhost/second']);
  expect(recorder.exchanges).toHaveLength(1);
});

test('too many steps are none, and a check without end fills no memory', () => {
  const recorder = new Recorder();
  for (let index = 0; index < 5000; index += 1) recorder.drove({ what: String(index) });
  expect(recorder.steps).toBeUndefined();
  expect(recorder.snapshot().steps.length).toBeLessThan(200);
});
