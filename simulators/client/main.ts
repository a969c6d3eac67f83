/** The reference client as a command: `muster check client --command 'node simulators/client/main.ts'`. */
import process from 'node:process';
import { referenceBehaviour } from './reference.ts';
import { runClient } from './run.ts';

process.exitCode = await runClient({
  variables: process.env,
  behaviour: referenceBehaviour,
  signal: new AbortController().signal,
  print: (line) => void process.stdout.write(`${line}\n`),
  complain: (text) => void process.stderr.write(`${text}\n`),
});
