import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { Recorder, type Step } from '../client/recorder.ts';
import { sampleExchange } from '../reports/testing/samples.ts';
import { scriptOf } from './script.ts';

const call = (line: string, ids: Record<string, string> = {}): Step => ({ drive: { what: 'POST /events', line, ids } });
const PUBLISHED = call('curl http://control/events', { first_id: '9', last_id: '9' });
const asked = (curl: string): Step => ({ exchange: sampleExchange({ curl }) });
const url = 'http://localhost/v0.2/events';

function ran(script: string | undefined, answer: string): string {
  const cases = `*control*) printf '%s' '${answer}';; *) echo "asked $*";;`;
  const curl = `curl() { case "$*" in ${cases} esac; }; sleep() { :; }\n`;
  return execFileSync('/bin/sh', ['-c', curl + script], { encoding: 'utf8' });
}

test('a script replaces ids of control with ids of the new run', () => {
  const script = scriptOf([
    call(`curl http://control/events`, { first_id: '5', last_id: '7' }),
    asked(`curl -s -i '${url}?after=6'`),
    asked(`curl -s -i -H 'last-event-id: 7' '${url}?types=a&after=5'`),
  ]);
  const said = ran(script, '{"first_id": 105, "last_id": 107}');
  expect(said).toContain(`asked -s -i ${url}?after=106\n`);
  expect(said).toContain(`asked -s -i -H last-event-id: 107 ${url}?types=a&after=105\n`);
});

test('a script replaces deployment ids with those of the new run, quoted or not', () => {
  const script = scriptOf([
    call('curl http://control/deployments', { id: 'dpl_old' }),
    call('curl http://control/deployments/dpl_old/remove', { id: 'dpl_old' }),
    asked(`curl -s -i '${url}?note=dpl_old&other=dpl_older'`),
  ]);
  expect(script).toContain('http://control/deployments/"$deployment1"/remove');
  const said = ran(script, '{"object":"deployment","id":"dpl_new","device_id":"dvc_1"}');
  expect(said).toContain(`${url}?note=dpl_new&other=dpl_older`);
});

test('a script keeps a stream open while driving, and shows it at the end', () => {
  const script = scriptOf([asked(`curl -sN -i '${url}?after=3'`), PUBLISHED]);
  expect(script).toMatch(/after=3' >"\$out\/1" &\nopened 1\n(.|\n)*control(.|\n)*\nwait\n/);
  expect(ran(script, '{}')).toMatch(/# 2\. POST .*\n\{\}\n# 1\. came on that stream:\nasked -sN -i \S+after=3\n$/);
});

test('a script does not delay a drive for a stream that is still opening', () => {
  const recorder = new Recorder();
  const { status: _, ...waiting } = sampleExchange({ curl: `curl -sN -i '${url}'` });
  recorder.add(waiting);
  recorder.drove({ what: 'publish', line: 'curl http://control/events' });
  expect(scriptOf(recorder.steps)).not.toMatch(/^opened 1$/m);
});

test('a script keeps a cursor unchanged when it is far from driven ids', () => {
  const script = scriptOf([
    PUBLISHED,
    asked(`curl -s -i '${url}?after=1099511627776'`),
    asked(`curl -s -i '${url}?after=-1'`),
  ]);
  expect(ran(script, '{"first_id":1,"last_id":1}')).toMatch(/after=1099511627776\n(.|\n)*after=-1\n/);
});

test('a script derives a cursor from the nearest id, latest drive first', () => {
  const script = scriptOf([
    call('curl http://control/events', { first_id: '1000', last_id: '2000' }),
    call('curl http://control/events', { first_id: '2000', last_id: '2000' }),
    asked(`curl -s -i '${url}?after=1999'`),
    asked(`curl -s -i '${url}?after=1001'`),
    asked(`curl -s -i '${url}?after=102000'`),
    asked(`curl -s -i '${url}?after=102001'`),
  ]);
  expect(script).toContain('first1=$(value 1 first_id)\n');
  expect(script).not.toMatch(/^(last1|first2)=/m);
  expect(script).toMatch(/\$\(\(last2 - 1\)\).*\$\(\(first1 \+ 1\)\).*\$\(\(last2 \+ 100000\)\).*after=102001'/s);
});

test('a script replaces only whole ids, also in double quotes and after escaped quotes', () => {
  const script = scriptOf([call('curl http://c/', { id: 'd1' }), call(String.raw`curl "it's d1" \'d1 'd1"' -d1 d1-`)]);
  expect(script).toContain(String.raw`curl "it's "$deployment1"" \'"$deployment1" ''"$deployment1"'"' -d1 d1-`);
});

test('a script prints each step with its number and request, cut to one line', () => {
  const exchange = (curl: string, address: string): Step => ({ exchange: sampleExchange({ curl, url: address }) });
  const said = ran(
    scriptOf([
      call('curl http://control/'),
      exchange(`curl -s '${url}'`, `http://x/events?types=${'a'.repeat(200)}`),
      exchange(`curl -s '${url}'`, 'no address'),
      exchange(`curl -sN --max-time 300 '${url}'`, 'http://x/events'),
    ]),
    '{}',
  );
  expect(said.split('\n')).toEqual([
    '# 1. POST /events',
    '{}',
    `# 2. ${`GET /events?types=${'a'.repeat(200)}`.slice(0, 100)}`,
    `asked -s ${url}`,
    '',
    '# 3. GET',
    `asked -s ${url}`,
    '',
    '# 4. GET /events: opens a stream',
    '# 4. came on that stream:',
    `asked -sN --max-time 10 ${url}`,
    '',
  ]);
});

test('a script never runs text of a target as a command', () => {
  const drive = { what: "POST /x' `touch /hacked` $(x)\n", line: 'curl http://control/', ids: { id: '$(x)' } };
  const script = scriptOf([{ drive }, asked(`curl -s -i '${url}?a=$(x)'`)]);
  expect(ran(script, '{}')).toContain(`asked -s -i ${url}?a=$(x)`);
  expect(script).not.toMatch(/deployment1|\n`/);
});

test('a script is omitted without drives, without a line, or when too long', () => {
  expect(scriptOf([asked('curl x')])).toBeUndefined();
  expect(scriptOf(undefined)).toBeUndefined();
  for (const line of ['# an upload', 'curl x\ny']) expect(scriptOf([call('curl y'), asked(line)])).toBeUndefined();
  expect(scriptOf([{ drive: { what: 'stops the process' } }, asked('curl x')])).toBeUndefined();
  expect(scriptOf([call(`curl http://control/${'x'.repeat(10_000)}`)])).toBeUndefined();
});
