/** `node inside.ts serve LISTENING` and `node inside.ts CASES`: the ends of a cable in a kernel with netem. */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import process from 'node:process';
import { answering, roundTrips, type Work } from './round-trips.ts';

const HERE = { host: '10.0.0.1', port: 4000 };
const [file = '', listening = ''] = process.argv.slice(2);
if (file === 'serve') {
  await answering(HERE);
  writeFileSync(listening, '');
} else {
  const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: { up: string[]; down: string[]; work: Work }[] };
  const trips: number[][] = [];
  writeFileSync(`${file}.begun`, '');
  const began = performance.now();
  for (const { up, down, work } of cases) {
    for (const [end, words] of Object.entries({ near: down, far: up }))
      execFileSync('tc', ['-n', end, 'qdisc', 'replace', 'dev', end, 'root', ...words]);
    trips.push(await roundTrips(connect, HERE, work));
  }
  writeFileSync(`${file}.done`, JSON.stringify({ trips, tookMs: performance.now() - began }));
}
