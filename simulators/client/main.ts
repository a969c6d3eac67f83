/** The reference client as a command: `muster check client --command 'node simulators/client/main.ts'`. */
import process from 'node:process';
import { CLIENT_VARIABLES } from '../../harness/contract/client.ts';
import { follow } from './follow.ts';
import { referenceBehaviour } from './reference.ts';

const USUAL_HEARTBEAT_SECONDS = 30;
const value = (name: keyof typeof CLIENT_VARIABLES): string | undefined => process.env[CLIENT_VARIABLES[name]];
const print = (line: string): void => void process.stdout.write(`${line}\n`);

const job = value('job');
if (job === 'describe') {
  print(
    JSON.stringify({ jobs: ['follow'], reaches: ['url', 'socket', 'discovery'], deduplicates: true, heartbeat: true }),
  );
} else if (job === 'follow') {
  await follow({
    url: value('deviceUrl'),
    socket: value('socket'),
    discovery: value('discovery'),
    heartbeatSeconds: Number(value('heartbeatSeconds') ?? USUAL_HEARTBEAT_SECONDS),
    behaviour: referenceBehaviour,
    signal: new AbortController().signal,
    print,
  });
} else {
  process.stderr.write(`MUSTER_JOB=${job}: known are describe and follow\n`);
  process.exitCode = 64;
}
