/** Many clients of one socket that count what they read; a process of `device-delivery.ts`. */
import net from 'node:net';
import process from 'node:process';

const [path = '', count = '0'] = process.argv.slice(2);
let total = 0;
let from = 0;
let until = Number.POSITIVE_INFINITY;

const report = (value: number): void => {
  process.send?.(value);
};

const connected = Array.from({ length: Number(count) }, () => {
  const socket = net.connect(path);
  socket.write('GET /v0.2/events HTTP/1.1\r\nHost: device\r\n\r\n');
  socket.on('error', () => {});
  socket.on('data', ({ length }) => {
    total += length;
    if (total - from < until) return;
    until = Number.POSITIVE_INFINITY;
    report(total);
  });
  return new Promise((resolve) => socket.once('connect', resolve));
});

process.on('message', (message: { until?: number; settle?: boolean }) => {
  if (message.until !== undefined) {
    from = total;
    until = message.until;
  } else {
    settle(total);
  }
});

/** Reports once nothing has come for a while. */
function settle(before: number): void {
  setTimeout(() => (before === total ? report(total) : settle(total)), 200);
}

await Promise.all(connected);
report(0);
