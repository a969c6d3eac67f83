import { expect, test } from 'vitest';
import { Recorder } from '../../client/recorder.ts';
import { Written, withoutOwnDoing } from './started.ts';

const PIPE = `----------------------------------------
Exception occurred during processing of request from ('127.0.0.1', 40000)
Traceback (most recent call last):
  File "socketserver.py", line 318, in _handle_request_noblock
    self.process_request(request, client_address)
  File "agent.py", line 40, in do_GET
    self.wfile.write(frame)
BrokenPipeError: [Errno 32] Broken pipe
----------------------------------------`;
const BUG = `Traceback (most recent call last):
  File "agent.py", line 71, in do_POST
    body = json.loads(text)
json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)`;
const NODE = `Error: write EPIPE
    at afterWriteDispatched (node:internal/stream_base_commons:161:15)
    at Socket._writeGeneric (node:net:966:11)`;

test('only traces of connections closed by Muster are removed from the output', () => {
  expect(withoutOwnDoing(PIPE)).toBe('');
  expect(withoutOwnDoing(`${BUG}\n${PIPE}\nlast`)).toBe(`${BUG}\nlast`);
  expect(withoutOwnDoing(`${PIPE}\n${BUG}`)).toBe(BUG);
  expect(withoutOwnDoing(`before\n${NODE}\nafter`)).toBe('before\nafter');
  expect(withoutOwnDoing(`${BUG}\nwrite: broken pipe`)).toBe(BUG);
  const other = NODE.replace('write EPIPE', 'of its own');
  expect(withoutOwnDoing(`${other}\n${NODE}\n${other}`)).toBe(`${other}\n${other}`);
  expect(withoutOwnDoing('a pipe, unbroken\n\n  indented')).toBe('a pipe, unbroken\n\n  indented');
});

test('output lines have times, and a check gets those of its last exchanges', () => {
  const written = new Written();
  const write = (text: string): void => written.lines.add(Buffer.from(`${text}\n`));
  write('of an earlier check');
  const recorder = new Recorder();
  const ask = (): void =>
    void recorder.add({ method: 'GET', url: 'http://x/', request_headers: {}, duration_ms: 0, curl: '' });
  const later = (): void => {
    for (const from = performance.now(); performance.now() - from < 1; );
  };
  later();
  ask();
  write('of its first');
  expect(written.during(recorder)).toBe('of its first');
  for (let times = 0; times < 8; times += 1) {
    later();
    ask();
  }
  write('of its last');
  expect(written.during(recorder)).toBe('of its last');
  for (let line = 0; line < 600; line += 1) write(`${line}`);
  expect(written.since(0).split('\n')).toHaveLength(500);
});
